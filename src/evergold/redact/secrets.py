"""Secrets: those known by their own shape (tokens with a prefix, web tokens, private keys, logins in URLs, headers), and those
that the word before them gives away (`password=…`, `contraseña: …`, `密码：…`, "my password is …", cookies).

Every pattern is RE2's: no search takes longer than the text is long. A match is taken to the end of its run, so a search that
goes on behind it never reads the same characters again. What RE2 cannot state (nothing but an escape before it, digits
somewhere in it) is asked of the match afterwards. The patterns are safe on a text that is itself JSON: they match no quote and no
backslash, and a match may begin right after an escape such as `\n`, so the document stays readable.

A value behind a sign (`:`, `=`, `>`) is taken unless it is a word about the secret, a type, a variable, code that fetches it, or
an example made of such words (`testpassword`). Behind a verb ("is", "es", "lautet") and behind words that also mean something
else it must look like a password: letters with digits or signs among them, or quotes around it.
"""

import tomllib
from collections import Counter
from collections.abc import Callable, Iterator
from functools import cache
from importlib.resources import files
from math import log2
from typing import Any

from evergold.redact.spans import Folded, PrivateSpan, Spans, byte_pattern, byte_patterns, matches

WORDS = frozenset(
    b"string str number int boolean bool object none null nil true false required optional missing invalid incorrect wrong "
    b"expired undefined unknown hidden redacted forgotten forgot reset changed empty blank protected encrypted hashed value "
    b"[secret] n/a tbd".split()
)
# An example says so in words and nothing else, at least one of the first kind: `testpassword`. With a digit people use it.
EXAMPLE_WORDS = (
    r"passw(?:or)?d|passwort|passphrase|passcode|pass|pwd|secrets?|tokens?|keys?|apikey|examples?|sample|placeholder|change"
    r"|your?|tests?|testing|demo|dummy|fake|default|contrase(?:\xf1|n)a|clave|secret[oa]|ejemplo|prueba|cambia(?:r|me)?|senha"
    r"|exemplo|teste|motdepasse|exemple|kennwort|geheim|beispiel"
)
COMMON_WORDS = (
    r"me|my|the|this|it|is|an?|in|to|for|of|and|with|here|new|old|very|super|top|strong|secured?|insecure|safe|unsafe|random|long"
    r"|short|hidden|private|public|temp|temporary|some|any|please|enter|insert|replace|must|be|not|real|only|users?|username"
    r"|admin|root|clients?|customer|db|database|postgres(?:ql)?|mysql|mongo|redis|django|flask|app|api|access|auth|login|account"
    r"|services?|server|web|site|jwt|session|signing|encryption|master|shared|local|dev|development|staging|prod|production"
    r"|value|string|text|word|code|id|foo|bar|abc|x{3,}|de|la|el|mi|tu|su|muy|segur[oa]|nov[oa]|nueva|minha|sua|mon|votre"
    r"|mein|dein|ein|neues"
)
LAST_PART, PART = (rf"(?:{words})[-_.@! ]{{0,3}}" for words in (EXAMPLE_WORDS, f"{EXAMPLE_WORDS}|{COMMON_WORDS}"))
EXAMPLE = byte_pattern(rf"(?i)[-_ ]{{0,3}}(?:{PART})*{LAST_PART}(?:{PART})*[?!.]*")
PHRASES = byte_pattern(
    rb"(?i)your[\w-]*|my[_-]?\w*(?:key|token|secret|password)|(?:enter|insert|set|see|use|type|confirm)[_-]\w*|[\w-]+[_-]here"
)
SIGNS = byte_pattern(rb"[*\x82xX.#_-]+|<[^>]*>?|%\w+%|\$.*|\{\{.*|@\w+")
CODE = byte_pattern(  # a dotted, an underscored or a humped name
    rb"[A-Za-z_]\w*(?:\.[A-Za-z_]\w*)+|[A-Za-z]*_[A-Za-z_]*|(?:[A-Z][a-z]+|[a-z]+)(?:[A-Z][a-z]+)+"
)
LONGEST = 100


def is_placeholder(value: bytes) -> bool:
    """Say whether a value only stands for a secret, or is an example of one."""
    if len(value) <= LONGEST and (value.lower().rstrip(b".!?") in WORDS or EXAMPLE.fullmatch(value)):
        return True
    # How every one of `PHRASES` begins or ends: a cheap test before the pattern. `SIGNS` decides on `xxxx`.
    if value[:1].isalnum() and value[:1] not in b"xX":
        likely = value[:1] in b"yYmMeEiIsSuUtTcC" or value[-4:].lower() == b"here"
        return likely and PHRASES.fullmatch(value) is not None
    return SIGNS.fullmatch(value) is not None


def is_code(value: bytes) -> bool:
    """Say whether a value is a name that a program would look up."""
    return CODE.fullmatch(value) is not None


SECRET = "SECRET"
ESCAPES = b"nrtbfu"
WORD_START = rb"(?:\b|\\[nrtbf]|\\u[0-9a-fA-F]{4})"
JSON_WEB_TOKEN = byte_pattern(
    WORD_START + rb"(eyJ[A-Za-z0-9_-]{13,}\.[A-Za-z0-9_-]{8,}\.[A-Za-z0-9_-]{8,}(?:\.[A-Za-z0-9_-]{8,}){0,2})"
)
BEARER = byte_pattern(rb"(?i)bearer\s{1,8}([A-Za-z0-9._~+/-]{16,}=*)")
BASIC = byte_pattern(rb"(?i)authorization\\?[\"']?\s{0,3}[:=]\s{0,3}\\?[\"']?basic\s{1,8}([A-Za-z0-9+/]{8,}=*)")
URL_LOGIN = byte_pattern(rb"://[^\s/:@\"'\\]{0,64}:([^\s/@\"'\\]{1,128})@")
KEY_BEGIN = byte_pattern(rb"-----BEGIN (?:[A-Z0-9]+ ){0,3}PRIVATE KEY(?: BLOCK)?-----")
KEY_END = byte_pattern(rb"-----END (?:[A-Z0-9]+ ){0,3}PRIVATE KEY(?: BLOCK)?-----")
KEY_BODY = byte_pattern(rb"(?:[A-Za-z0-9+/=\s\\:,.]|-)*")
CUT_OFF_KEY = byte_pattern(rb"(?:(?:\\{1,4}[nr]|\s)*[A-Za-z0-9+/=]{24,})+(?:(?:\\{1,4}n|\n)[A-Za-z0-9+/=]+)?")
DASHES = b"-----"
DIGITS = b"0123456789"


@cache
def token_rules() -> dict[str, dict[str, Any]]:
    """Read the rules of tokens with a prefix, by name."""
    rules = tomllib.loads(files("evergold.redact").joinpath("secret_rules.toml").read_text(encoding="utf-8"))
    return {**rules["own"], **rules["gitleaks"]}


def _tokens() -> tuple[Any, list[int]]:
    """Join the rules into one pattern with a group for the token and one for each rule that asks for digits."""
    # Rules with groups come first, so that group numbers match `FEWEST_DIGITS`; the others have no group of their own.
    rules = sorted(token_rules().values(), key=lambda rule: rule.get("digits", 0), reverse=True)
    parts = [f"({rule['pattern']})" if rule.get("digits") else rule["pattern"] for rule in rules]
    fewest = [rule["digits"] for rule in rules if rule.get("digits")]
    return byte_pattern(WORD_START + b"(" + "|".join(parts).encode("ascii") + b")"), fewest


TOKENS, FEWEST_DIGITS = _tokens()


def tokens_in(folded: Folded) -> Iterator[PrivateSpan]:
    """Find tokens that a prefix gives away, and JSON web tokens."""
    data = folded.data
    for _, (start, end), *asking in matches(TOKENS, data):
        asked = [digits for (at, _), digits in zip(asking, FEWEST_DIGITS, strict=True) if at >= 0]
        if (not asked or _digits(data[start:end]) >= max(asked)) and not is_in_escape(data, start):
            yield PrivateSpan(SECRET, start, end)
    # Every JSON web token begins with `{"` in base64. The search for bytes is far cheaper than the pattern.
    if b"eyJ" in data:
        for _, (start, end) in matches(JSON_WEB_TOKEN, data):
            yield PrivateSpan(SECRET, start, end)


def headers_in(folded: Folded) -> Iterator[PrivateSpan]:
    """Find what stands behind `Bearer` and `Authorization: Basic`."""
    for _, (start, end) in matches(BEARER, folded.data):
        # "bearer of responsibilities" is prose; tokens hold a digit.
        if _digits(folded.data[start:end]) and not is_placeholder(folded.data[start:end]):
            yield PrivateSpan(SECRET, start, end)
    for _, (start, end) in matches(BASIC, folded.data):
        yield PrivateSpan(SECRET, start, end)


def logins_in(folded: Folded) -> Iterator[PrivateSpan]:
    """Find passwords in URLs such as `postgres://app:pa55@db`."""
    if b"://" in folded.data:
        for _, (start, end) in matches(URL_LOGIN, folded.data):
            if not is_placeholder(folded.data[start:end]):
                yield PrivateSpan(SECRET, start, end)


def private_keys_in(folded: Folded) -> Iterator[PrivateSpan]:
    """Find private keys in PEM armour, also one whose end was cut off."""
    data, done = folded.data, 0
    if b"PRIVATE KEY" not in data:
        return
    for ((start, body),) in matches(KEY_BEGIN, data):
        # A second BEGIN inside a key that was taken already belongs to it.
        if start < done:
            continue
        dashes = data.find(DASHES, body)
        end = KEY_END.match(data, dashes) if dashes >= 0 else None
        if end and KEY_BODY.fullmatch(data, body, dashes):
            done = end.end()
        elif cut := CUT_OFF_KEY.match(data, body, dashes if dashes >= 0 else len(data)):
            done = cut.end()
        else:
            continue
        yield PrivateSpan(SECRET, start, done)


def is_in_escape(data: bytes, start: int) -> bool:
    """Say whether the character at `start` may be the letter of an escape, as the n of `\\npm_`."""
    return data[start - 1 : start] == b"\\" and data[start] in ESCAPES and data[start - 2 : start - 1] != b"\\"


def _digits(data: bytes) -> int:
    return len(data) - len(data.translate(None, DIGITS))


# A value inside a JSON text is quoted as \" (and \\\" one level deeper), hence up to three backslashes before a quote.
SIGN = r"\\{0,3}[\"'\x60]?\s{0,3}(?::=|=>|[:=])\s{0,3}"
# \xe9 and \xe4 are é and ä in folded (Latin-1) bytes.
VERB = (
    r"\s{1,3}(?:is|was|are|es|era|son|ist|war|lautet|est|\xe9|e|foi|er|on|on:|\xe4r|jest|je|to)"
    r"(?:\s{0,2}:)?\s{1,3}"
)
QUOTED = r"\\{0,3}\"([^\"\\\r\n]{4,128})\\{0,3}\"|\\{0,3}'([^'\\\r\n]{4,128})\\{0,3}'|\x60([^\x60\r\n]{4,128})\x60"
BARE = r"([^\s\"'\x60\\,;{}\[\]()&<>]{4,})"
ENGLISH = r"passw(?:or)?ds?|passphrase|passcode|(?:\b|_)(?:pwd|pw|pass)"
OTHERS = (
    r"passwort|kennwort|contrase(?:\xf1|n)a|mot de passe|mdp|senha|palavra-passe|wachtwoord|l\xf6senord|adgangskode|passord"
    # has\x80o is hasło: letters of spaced scripts beyond Latin-1 fold to \x80.
    r"|salasana|has\x80o|heslo|\bparola|\bclave|jelsz\xf3"
)
PASSWORD = byte_pattern(rf"(?i)(?:({ENGLISH})|({OTHERS}))(?:({SIGN})|{VERB})(?:{QUOTED}|{BARE})")
ELEMENT = byte_pattern(rb"(?i)<(?:password|passwd|pwd|secret|token|api-?key)>\s{0,2}([^\s<>]{4,})\s{0,2}</")
FLAG = byte_pattern(
    r"--?(?:[a-z]{1,12}-)?(?:password|passwd|pass|passphrase|pwd|secret|token|api-?key|secret-key)"
    rf"[ \t]{{1,2}}(?:{QUOTED}|{BARE})"
)
# `curl -u name:password` and `sshpass -p password`: one letter says little, so the program before it is asked too.
LOGIN_FLAG = byte_pattern(
    rb"\s(?:-[uUa]|--(?:proxy-)?(?:user|auth))[ =]?[\"']?[^\s:=%\"'\\/$]{1,64}[:%]([^\s\"'\\]{4,128})"
)
LETTER_FLAG = byte_pattern(rb"\s-([pPaw])( ?)(?:[\"']([^\"'\\\r\n]{4,128})[\"']|([^\s\"'\\:/=-][^\s\"'\\:/]{3,128}))")
PROGRAMS = byte_pattern(
    rb"\b(?:(sshpass|mongo(?:sh|dump|restore|import|export)?|(?:docker|podman) login|az login)|(mysql\w*|mariadb(?:-\w+)?|7za?)"
    rb"|(redis-cli)|(ldap\w+)|(unzip|zip|sqlcmd|bcp)|(curl|wget|https?|xh|smbclient|rpcclient))[ \t]"
)
LETTERS = (b"p", b"p", b"a", b"w", b"P", b"")  # of each group of programs; the last takes a login
OPTIONS = tuple(
    (b"-" + letter,) if letter else (b"-u", b"-U", b"-a", b"--user", b"--proxy-user", b"--auth", b"--proxy-auth")
    for letter in LETTERS
)
GLUED = 1  # takes its value without a blank
LONGEST_COMMAND = 300
OF_CARD = rb"(?: (?:of|on|for|de|der|meiner|della) (?:(?:my|the|this|la|mi|ma) )?(?:card|tarjeta|karte|carte|carta))?"
CARD_CODE_NAME = (
    rb"(?:cvv2?|cvc2?)(?:[ -]?(?:code|number|n\xfamero|c\xf3digo))?|card code|(?:card )?(?:security|verification) (?:code|value)"
    rb"|c(?:\xf3|o)d(?:igo|\.)?(?: de)? (?:seguridad|verificaci(?:\xf3|o)n|seguran(?:\xe7|c)a)|cryptogramme(?: visuel)?"
    rb"|code de s(?:\xe9|e)curit(?:\xe9|e)|codice di sicurezza|kartenpr(?:\xfc|ue)f(?:nummer|ziffer)"
    rb"|pr(?:\xfc|ue)fziffer der karte"
)
CARD_CODE = byte_pattern(
    rb"(?i)\b(?:" + CARD_CODE_NAME + rb")" + OF_CARD + rb"(?:[ \t]{0,2}[\"']?[ \t]{0,2}[:=#][ \t]{0,2}[\"']?"
    rb"|\s(?:is|es|was|era|est|ist|lautet|\xe9|\xe8)\s(?:the |el )?)([0-9]{3,4})\b"
)
BARE_CARD_CODE = byte_pattern(
    rb"(?i)\b(?:cv[vc]2?|card code|security code) ([0-9]{3,4})"
    rb"(?:\s{0,2}(?:[;!?)]|[.,](?:\s|$)|$)|\s(?:and|or|y|o)\b|\s(?:on|at|en) (?:the|el|its) (?:back|reverse|reverso)\b)"
)
CARD_CODES = (CARD_CODE, BARE_CARD_CODE)
PIN = byte_pattern(
    rb"\b(?:PIN|pin|Pin)(?:[ -]?(?:code|number|no))?(?:\s{0,2}[:=]\s{0,2}|\s(?:is|es|ist|est|was)\s)([0-9]{4,8})\b"
)
# Said without a sign or a verb ("with PIN 1596"): four digits, and in lower case nothing that it could count ("pin 1200 tweets").
BARE_PIN = byte_pattern(
    rb"\bPIN(?:[ -]?(?:code|number|no))?\s([0-9]{4})(?:[^\w.,:]|[.,:](?:[^0-9]|$)|$)|"
    rb"\b[Pp]in(?:[ -]?(?:code|number|no))?\s([0-9]{4})(?:\s{0,2}(?:[;!?)]|[.,](?:\s|$)|$)|\s(?:and|or|but|y|und|et|please)\b)"
)
# The names themselves are compared in the unfolded text, because folding makes all their letters \x80 or \x81.
NON_LATIN = byte_pattern(rb"([\x80\x81 ]{2,24})[\"']?\s{0,2}(?:[:=]|\x81{1,2})?\s{0,2}[\"']?([!-~]{4,64})")
NON_LATIN_HINT = byte_pattern(rb"[\x80\x81]{2} {0,2}[\"']?\s{0,2}(?:[:=]|\x81)\s{0,2}[\"']?[!-~]{4}")
NON_LATIN_NAMES = (
    *("пароль", "парола", "密码", "密碼", "口令", "パスワード", "暗証番号", "비밀번호", "암호"),
    *("كلمة المرور", "كلمة السر"),
    *("סיסמה", "पासवर्ड", "รหัสผ่าน", "κωδικός", "гасло"),
)
NON_LATIN_ENDS = tuple(name + verb for name in NON_LATIN_NAMES for verb in ("", "是", "为", "為", "は", "는", "은"))
NAMES = (
    r"secret(?:[_-]?(?:access[_-]?)?key)?|(?:api|private|account|signing|encryption|access|shared|master)[_-]?key"
    r"|(?:access|auth|refresh|session|bot|api|id|bearer|csrf|xsrf)[_-]?token|client[_-]?secret"
)
NAMED = byte_pattern(rf"(?i)({NAMES})({SIGN})(?:{QUOTED}|([^\s\"'\x60\\,;{{}}\[\]()&<>]{{6,}}))")
ANY_KEY = byte_pattern(
    rf"(?i)(?:key|token|secret|credentials?|creds){SIGN}\\{{0,3}}[\"'\x60]?([A-Za-z0-9_.+/~=-]{{20,}})"
)
# Keys of databases, caches and pages: random values that open nothing.
NO_KEYS = byte_pattern(
    rb"(?i)(?:primary|foreign|cache|sort|partition|public|idempotency|row|shard|group|object|storage|file|s3|next|page|continuation"
    rb"|cursor|dedup\w*|hash|index|lookup|join|unique)[_. -]?$"
)
BEFORE = 24  # characters in which a word such as `primary` must stand right before `key`
COOKIE = byte_pattern(r"(?i)\b(set-)?cookie" + SIGN + r"\\{0,3}[\"']?([!#-&(-+\--:<-\[\]-~=; ]{3,})")
PAIR = byte_pattern(rb"(?:^|;) {0,2}([A-Za-z0-9_.!#$%&*+^|~-]{1,100})=([^;]*)")
ATTRIBUTES = frozenset((b"path", b"domain", b"expires", b"max-age", b"samesite", b"priority", b"version", b"comment"))


def assigned_in(folded: Folded) -> Iterator[PrivateSpan]:
    """Find values that a name before them makes secret."""
    data = folded.data
    # One pass says which of the patterns match anywhere.
    for number in WHICH_ASSIGNED.Match(data) or ():
        pattern, value_of = ASSIGNED[number]
        for spans in matches(pattern, data):
            if value := value_of(data, spans):
                yield PrivateSpan(SECRET, *value)
    if not folded.text.isascii():
        yield from _non_latin(folded)


def _find_password(data: bytes, spans: Spans) -> tuple[int, int] | None:
    (english, _), (sign, _), (bare, _) = spans[1], spans[3], spans[7]
    start, end = _value(spans, 4)
    value = data[start:end]
    if is_placeholder(value):
        return None
    if bare < 0:  # in quotes
        given = sign >= 0 or b" " not in value or english >= 0
    elif sign >= 0 and english >= 0:
        # `password: hello` is prose; with a digit in it four characters are enough for a password.
        given = len(value) >= 6 - 2 * bool(_digits(value)) and not _is_no_value(data, start, end)
    else:
        given = _is_mixed(value)
    return (start, end) if given else None


def _find_named(data: bytes, spans: Spans) -> tuple[int, int] | None:
    start, end = _value(spans, 3)
    # A quoted value with blanks behind `secret:` is a sentence about the secret, never a key.
    return None if _is_no_value(data, start, end) or b" " in data[start:end] else (start, end)


def _find_key(data: bytes, spans: Spans) -> tuple[int, int] | None:
    (first, _), (start, end) = spans
    random = _is_random(data[start:end]) and not is_placeholder(data[start:end])
    return (start, end) if random and not NO_KEYS.search(data[max(0, first - BEFORE) : first]) else None


def _find_flag(data: bytes, spans: Spans) -> tuple[int, int] | None:
    start, end = _value(spans, 1)
    # `--token --verbose`: the next option or a path follows, no value.
    return None if _is_no_value(data, start, end) or data[start : start + 1] in (b"-", b"/") else (start, end)


def _find_element(data: bytes, spans: Spans) -> tuple[int, int] | None:
    return None if is_placeholder(data[slice(*spans[1])]) else spans[1]


def _find_pin(_: bytes, spans: Spans) -> tuple[int, int]:
    return spans[1] if spans[1][0] >= 0 else spans[2]


ASSIGNED: tuple[tuple[Any, Callable[[bytes, Spans], tuple[int, int] | None]], ...] = (
    (PASSWORD, _find_password),
    (NAMED, _find_named),
    (ANY_KEY, _find_key),
    (FLAG, _find_flag),
    (ELEMENT, _find_element),
    (PIN, _find_pin),
    (BARE_PIN, _find_pin),
)
NAMES_AND_SIGNS = (*(pattern for pattern, _ in ASSIGNED), NON_LATIN_HINT)
WHICH_ASSIGNED = byte_patterns(pattern.pattern for pattern, _ in ASSIGNED)


def card_codes_in(folded: Folded) -> Iterator[PrivateSpan]:
    """Find the codes of cards behind their names."""
    for pattern in CARD_CODES:
        for _, (start, end) in matches(pattern, folded.data):
            yield PrivateSpan(SECRET, start, end)


def on_command_lines(folded: Folded) -> Iterator[PrivateSpan]:
    """Find passwords behind the short options of programs that take them there."""
    data = folded.data
    programs = list(matches(PROGRAMS, data))
    for number, ((_, at), *groups) in enumerate(programs):
        # The options of a program stand on its line, before the next program.
        until = programs[number + 1][0][0] if number + 1 < len(programs) else len(data)
        end_of_line = data.find(b"\n", at)
        line = data[at - 1 : min(until, at + LONGEST_COMMAND, end_of_line if end_of_line >= 0 else until)]
        kind = next(group for group, span in enumerate(groups) if span[0] >= 0)
        if not any(map(line.__contains__, OPTIONS[kind])):  # most name a program in a sentence
            continue
        for start, end in _passwords_in(line, kind):
            if not _is_no_value(data, at - 1 + start, at - 1 + end):
                yield PrivateSpan(SECRET, at - 1 + start, at - 1 + end)


def _passwords_in(line: bytes, kind: int) -> Iterator[tuple[int, int]]:
    """Where the options of a program of this kind hold its password."""
    if not LETTERS[kind]:
        yield from (span for _, span in matches(LOGIN_FLAG, line))
        return
    for _, letter, (blank, upto), quoted, bare in matches(LETTER_FLAG, line):
        if line[slice(*letter)] == LETTERS[kind] and not (kind == GLUED and blank < upto):
            yield quoted if quoted[0] >= 0 else bare


def cookies_in(folded: Folded) -> Iterator[PrivateSpan]:
    """Find the values of `Cookie` and `Set-Cookie` headers; attributes such as `Path` are kept."""
    for _, is_set, (start, end) in matches(COOKIE, folded.data):
        header = folded.data[start:end]
        for _, name, value in matches(PAIR, header):
            text = header[slice(*value)].strip()
            if text and header[slice(*name)].lower() not in ATTRIBUTES and not is_placeholder(text):
                yield PrivateSpan(SECRET, start + value[0], start + value[1])
            # `Set-Cookie` holds one cookie; every later pair is an attribute, known or not. `Cookie` holds many.
            if is_set[0] >= 0:
                break


def _value(spans: Spans, first: int) -> tuple[int, int]:
    """Where the value stands: in one of the groups from `first` on, most often the last."""
    last = first + 3
    return spans[last] if spans[last][0] >= 0 else next(span for span in spans[first:last] if span[0] >= 0)


def _is_no_value(data: bytes, start: int, end: int) -> bool:
    """Whether a bare value is a word about the secret, code that fetches it, a path, or the next word of a sentence."""
    value = data[start:end]
    if is_placeholder(value) or value[:1] in (b"/", b"~", b"$", b"."):
        return True
    # A quoted value has an end of its own: what follows cannot make it code or a word of a sentence.
    if data[start - 1] in b"\"'`":
        return False
    after = data[end : end + 2]
    in_sentence = value.isalpha() and after[:1] in (b" ", b"\t") and after[1:].isalpha()
    return after[:1] in (b"(", b"[") or is_code(value) or in_sentence


def _is_mixed(value: bytes) -> bool:
    """Letters and digits together, or digits and signs: no word of a language, no plain number."""
    letter = any(65 <= byte < 91 or 97 <= byte < 123 or byte >= 0xC0 for byte in value)
    return letter and _digits(value) > 0 and len(value.rstrip(b".!?")) >= 5


def _is_random(value: bytes) -> bool:
    """Whether characters are as mixed as in a generated key."""
    if _digits(value) < 3 or is_code(value):
        return False
    # Entropy in bits a character: 3.3 is the floor for a generated key, and 128 characters are enough to measure it.
    counts = Counter(value[:128])
    size = min(len(value), 128)
    return -sum(count / size * log2(count / size) for count in counts.values()) >= 3.3


def _non_latin(folded: Folded) -> Iterator[PrivateSpan]:
    if not any(map(folded.text.__contains__, NON_LATIN_NAMES)):
        return
    for (first, _), _, (start, end) in matches(NON_LATIN, folded.data):
        words, value = folded.text[first:start].rstrip(" :：=\"'"), folded.data[start:end]
        if words.endswith(NON_LATIN_ENDS) and _digits(value) and not is_placeholder(value):
            yield PrivateSpan(SECRET, start, start + len(value.rstrip(b"\"',.;)")))
