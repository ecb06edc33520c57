"""Telephone numbers: what tells them from the many other digits of a text.

A number is one when its writing says so: a plus and a country's code, a trunk 0 and groups, an area code in brackets, the
groups of a country whose numbers are always written alike. Other digits (`612 345 678`, `0612345678`) are one only when the
words before them say so, in the languages people write most: without such words they are as often an amount, a list or an
order number.
"""

import re
from itertools import pairwise

from evergold.redact.spans import Folded, byte_pattern, holds

NEAR, GAP = 40, 8
NUMBER = r"(?:[ _-]?(?:numbers?|no|nr|num|n[ºo°]|número|numéro|numero|nummer))?"
NAMES = (
    r"(?:tele)?(?:phone|fax)|tel|telf|tfno|tlf|telp|mob|mobile|mobil|móvil|movil|cell|celular|cellulare|handy|whatsapp|sms|hotline"
    r"|msisdn|tel[eé]fono?|t[eé]l[eé]phone|portable|telefon[a-zåí]{0,3}|telefoon|puhelin|rufnummer"
)
VERBS = (
    r"(?:call|ring|dial|text|reach|contact|phone)(?:ed|ing|s)? (?:me|us|him|her|them|my|back|at|on)"
    r"|(?:my|our|his|her|their) number is"
    r"|ll[aá]m[ae][a-zé]{0,4}|appel[a-zéà]{1,5}|ruf[a-z]{0,3} (?:mich|uns)|lig(?:ue|ar)|chiam[a-z]{1,5}|mi número es"
)
OTHER_SCRIPTS = re.compile(
    r"(?i)(?:(?<![^\W_])(?:телефон[а-я]{0,2}|тел|моб|звон\w{0,4})|电话|手机|電話|携帯|전화|핸드폰|휴대폰|هاتف|फ़ोन|फोन|โทร)"
    r"(?:[ _-]?(?:号码?|番号|번호))?[^\w\n]{0,4}(?:(?:は|是|:|=)[^\w\n]{0,3})?$"
)
LETTER = r"A-Za-z0-9\xaa\xb5\xba\xc0-\xff\x80"
BLANK = rf"[^{LETTER}_\x81\n]"
BETWEEN = (
    rf"{BLANK}{{0,3}}(?:(?:is|es|ist|est|at|on|al|me|us|too|or|work|home|mobile|a|:|=){BLANK}{{1,3}}){{0,3}}"
    rf"[^{LETTER}_\x81\n;]{{0,3}}\z"
)


NAMED = byte_pattern(rf"(?i)(?:^|[^{LETTER}])(?:{NAMES}){NUMBER}{BETWEEN}")
CALLED = byte_pattern(rf"(?i)(?:^|[^{LETTER}_])(?:{VERBS}){BETWEEN}")
NO_PHONE = byte_pattern(
    rf"(?i)(?:^|[^{LETTER}])(?:order|invoice|ticket|tracking|case|serial|ref|reference|isbn|issn|sku|part|account|acct|iban|version"
    rf"|build|commit|release|lot|batch|policy|patent|pedido|factura|bestellung|rechnung|bestellnummer|pages?|pp|rows?|lines?|id)"
    rf"{NUMBER}(?:[ _-]?(?:id|code))?{BLANK}{{0,4}}\z"
)


def is_called_phone(folded: Folded, start: int, before: bytes, *, grouped: bool) -> bool:
    """Say whether the words `before` a number name a telephone. `grouped` digits also after `call me at` and its like."""
    if not before:
        return False
    if holds(NAMED, before) or (grouped and holds(CALLED, before)):
        return True
    return max(before) >= 0x80 and OTHER_SCRIPTS.search(folded.text[max(0, start - NEAR) : start]) is not None


def is_called_something_else(before: bytes) -> bool:
    """Say whether the words `before` a number name another kind of number."""
    return bool(before) and holds(NO_PHONE, before)


def words_before(folded: Folded, start: int) -> bytes:
    """The folded text near before `start`, or nothing where no word stands right before it: most numbers follow a sign."""
    flat, last, first = folded.flat, start, max(0, start - GAP)
    while last > first and not (flat[last - 1].isalnum() or flat[last - 1] in "\x80\x81"):
        last -= 1
    if last == 0 or start - last == GAP or flat[last - 1].isdecimal():
        return b""
    return folded.data[max(0, start - NEAR) : start]


Stretch = tuple[int, int]

FEWEST, MOST = 8, 15  # digits; E.164 allows 15
MOST_GROUPS = 7
COUNTRY = re.compile(
    r"1|7|2(?:0|1[1-368]|2[0-9]|3[0-9]|4[0-9]|5[0-8]|6[0-9]|7|9[0-179])|3(?:[0-469]|5[0-9]|7[0-8]|8[0-35-79])"
    r"|4(?:[013-9]|2[013])|5(?:[1-8]|0[0-9]|9[0-9])|6(?:[0-6]|7[02-9]|8[0-35-9]|9[0-2])"
    r"|8(?:[1246]|0[08]|5[0-356]|7[08]|8[0-368])|9(?:[0-58]|6[0-8]|7[0-79]|9[2-68])"
)
# Country codes 1 and 7 always have eleven digits, which tells where such a number ends.
OF_ELEVEN = {"1": re.compile(r"1[2-9][0-9]{2}[2-9][0-9]{6}"), "7": re.compile(r"7[0-9]{10}")}
# Sums of money (`+49000000`).
ROUND = re.compile(r"[0-9]+0{6}")
GROUP = re.compile(r"[0-9]+")
DECIMAL = re.compile(r"(?<![0-9.])[0-9]+\.[0-9]+(?![0-9.])")
DATE = re.compile(
    r"(?:19|20)[0-9]{2}[ ./-][0-9]{1,2}[ ./-][0-9]{1,2}(?![0-9])"
    r"|[0-9]{1,2}[ ./-][0-9]{1,2}[ ./-](?:19|20)[0-9]{2}(?![0-9])"
)
ADDRESS = re.compile(r"[0-9]{1,3}(?:\.[0-9]{1,3}){3}(?!\.?[0-9])")

SPACE = r"[ \u00a0\u00ad-]"  # in folded text: \u00a0 is any typographic blank, \u00ad any dash
WORD = r"A-Za-z0-9_\x80\u00aa\u00b5\u00ba\u00c0-\u00ff"  # a number may follow right behind a word of a script without spaces
ESCAPED = r"(?<=\\[nrtbf])|(?<=\\u[0-9a-fA-F]{4})"
APART = rf"(?:(?<![{WORD}.+#$\u00a4£/-])(?<![{WORD}]\()|{ESCAPED})"  # not glued to what is before it, but for an escape
PLUS_APART = re.compile(rf"(?<![{WORD})\]}}*/+-])|{ESCAPED}")
END = rf"(?![{WORD}]|[-./][{WORD}]|[%\u00a4£$])"
DISTINCT = re.compile(
    APART + r"(?:"
    r"(?:1[ .-])?[2-9][0-9]{2}(?P<gap>[.\u00ad-])[2-9][0-9]{2}(?P=gap)[0-9]{4}"  # North America
    r"|(?:1[ .-])?\([2-9][0-9]{2}\) ?[2-9][0-9]{2}[ .-][0-9]{4}"
    r"|1[3-9][0-9](?P<space>[ -])[0-9]{4}(?P=space)[0-9]{4}"  # China
    r"|8[ -]?\(?9[0-9]{2}\)?[ -]?[0-9]{3}[ -][0-9]{2}[ -]?[0-9]{2}"  # Russia
    r"|(?:\([1-9][0-9]\) ?9?[0-9]{4}|[1-9][0-9] 9[0-9]{4})-[0-9]{4}"  # Brazil
    r"|\([1-9][0-9]{1,2}\) ?[0-9]{3,4}[ -][0-9]{4}"
    r"|\(0[1-9]?[0-9]{0,3}\) ?[/-]? ?[0-9]{2,8}(?:[ -][0-9]{2,5}){0,3}"
    r")" + END
)
TRUNK = re.compile(rf"{APART}0[1-9][0-9]{{0,4}}(?: ?/ ?|{SPACE})(?:[0-9]{{2,8}}{SPACE}){{0,4}}[0-9]{{2,8}}{END}")
TRUNK_DIGITS = range(9, 13)
PAIRS = re.compile(rf"{APART}0[1-9](?P<gap>[ .\u00a0\u00ad-])[0-9]{{2}}(?:(?P=gap)[0-9]{{2}}){{3}}{END}")  # France
SPACED = re.compile(rf"{APART}(?:1 )?[2-9][0-9]{{2}} [2-9][0-9]{{2}} [0-9]{{4}}{END}")  # North America
ANY = re.compile(
    rf"(?:(?<![{WORD}+#$\u00a4£])|{ESCAPED})\(?[0-9]+\)?(?:[ (/)\u00a0\u00ad-]{{1,2}}[0-9]+){{0,6}}{END}"
    rf"|(?<![{WORD}+#$\u00a4£])[0-9]{{2,}}(?:\.[0-9]{{2,}}){{0,5}}{END}"
)
POSTCODE = re.compile(r"[0-9]{5}-[0-9]{4}")  # of the United States


def phone_in(folded: Folded, start: int, end: int) -> Stretch | None:
    """Where a telephone number stands in a run of digit groups, with its plus and brackets; None when there is none."""
    text, sign = folded.flat, start
    while text[sign - 1 : sign] in ("+", "("):
        sign -= 1
    if "+" in text[sign:start]:
        return _international(text, sign, start, end)
    if sign == start and text[start:end].isdecimal() and not text.startswith("00", start):
        return _find_bare(folded, start, end)
    if DATE.match(text, start, end) or ADDRESS.match(text, start, end) or POSTCODE.fullmatch(text, start, end):
        return None
    if is_called_something_else(words_before(folded, sign)):
        return None
    if text.startswith("00", start):
        return _international(text, start, start + 2, end)
    distinct = DISTINCT.search(text, sign, end)
    if distinct and FEWEST <= _count(distinct[0]) <= max(TRUNK_DIGITS):
        return distinct.span()
    return _find_whole(folded, sign, end)


def _international(text: str, sign: int, start: int, end: int) -> Stretch | None:
    """A country's code first, and as many digits as it may have; a number that stands behind it is left."""
    if not PLUS_APART.match(text, sign) or DECIMAL.search(text, start, end):
        return None
    digits, last = "", start
    for group in list(GROUP.finditer(text, start, end))[:MOST_GROUPS]:
        eleven = OF_ELEVEN.get(digits[:1])
        if len(digits) + len(group[0]) > MOST or (eleven and eleven.fullmatch(digits)):
            break
        digits, last = digits + group[0], group.end()
    country = COUNTRY.match(digits)
    # Eight digits in all are enough behind a country code of three, nine behind a shorter one.
    if country is None or ROUND.fullmatch(digits) or len(digits) < FEWEST + (len(country[0]) < 3):
        return None
    if digits[0] in OF_ELEVEN and not OF_ELEVEN[digits[0]].fullmatch(digits):
        return None
    return sign, last


def _find_bare(folded: Folded, start: int, end: int) -> Stretch | None:
    """Digits without a sign or a gap: only the word before them can make them a telephone number."""
    if not FEWEST <= end - start <= MOST:
        return None
    before = words_before(folded, start)
    called = is_called_phone(folded, start, before, grouped=False) and not is_called_something_else(before)
    return (start, end) if called and ANY.fullmatch(folded.flat, start, end) else None


def _find_whole(folded: Folded, start: int, end: int) -> Stretch | None:
    """Writings that are a telephone number only when nothing else belongs to the run."""
    text = folded.flat
    run = text[start:end]
    count, groups = _count(run), GROUP.findall(run)
    # A digit and a blank before it: the run goes on to the left, so it is not whole.
    if text[max(0, start - 2) : start - 1].isdecimal() and text[start - 1] == " ":
        return None
    pairs = PAIRS.fullmatch(text, start, end)
    if pairs and not all(int(later) - int(earlier) == 1 for earlier, later in pairwise(groups)):
        return start, end
    if count in TRUNK_DIGITS and TRUNK.fullmatch(text, start, end) and not _is_list(groups):
        return start, end
    if SPACED.fullmatch(text, start, end) and not _is_list(groups):
        return start, end
    before = words_before(folded, start) if FEWEST <= count <= MOST else b""
    called_phone = is_called_phone(folded, start, before, grouped=len(groups) > 1)
    if called_phone and ANY.fullmatch(text, start, end) and not DECIMAL.fullmatch(run):
        return start, end
    return None


def _count(run: str) -> int:
    return sum(map(str.isdecimal, run))


def _is_list(groups: list[str]) -> bool:
    """Sizes, round amounts, zero-padded counts and pairs: groups of one make."""
    values = [int(group) for group in groups]
    round_ = any(all(value % step == 0 for value in values) for step in (10, 16))
    return round_ or all(group[0] == "0" for group in groups) or all(len(group) == 2 for group in groups)
