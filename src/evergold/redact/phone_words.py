"""The words before a number that say whether it is a telephone number, in the languages people write most."""

import re
from typing import Any

from evergold.redact.folding import Folded, byte_pattern, holds

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


def _words(pattern: str) -> Any:
    return byte_pattern(pattern.encode("latin-1"))


NAMED = _words(rf"(?i)(?:^|[^{LETTER}])(?:{NAMES}){NUMBER}{BETWEEN}")
CALLED = _words(rf"(?i)(?:^|[^{LETTER}_])(?:{VERBS}){BETWEEN}")
NO_PHONE = _words(
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
