"""Secrets that the word before them gives away: `password=…`, `contraseña: …`, `密码：…`, "my password is …", cookies.

A value behind a sign (`:`, `=`, `>`) is taken unless it is a word about the secret or code that fetches it. Behind a verb
("is", "es", "lautet") and behind words that also mean something else it must look like a password: letters with digits or
signs among them, or quotes around it.
"""

from collections import Counter
from collections.abc import Iterator
from math import log2

from evergold.redact.folding import Folded, Spans, byte_pattern, matches
from evergold.redact.placeholders import is_code, is_placeholder
from evergold.redact.secrets import BASIC, BEARER, DIGITS
from evergold.redact.spans import PrivateSpan

SECRET = "SECRET"
# A value inside a JSON text is quoted as \" (and \\\" one level deeper), hence up to three backslashes before a quote.
SIGN = rb"\\{0,3}[\"'\x60]?\s{0,3}(?::=|=>|[:=])\s{0,3}"
# \xe9 and \xe4 are é and ä in folded (Latin-1) bytes.
VERB = (
    rb"\s{1,3}(?:is|was|are|es|era|son|ist|war|lautet|est|\xe9|e|foi|er|on|on:|\xe4r|jest|je|to)"
    rb"(?:\s{0,2}:)?\s{1,3}"
)
QUOTED = rb"\\{0,3}\"([^\"\\\r\n]{4,128})\\{0,3}\"|\\{0,3}'([^'\\\r\n]{4,128})\\{0,3}'|\x60([^\x60\r\n]{4,128})\x60"
BARE = rb"([^\s\"'\x60\\,;{}\[\]()&<>]{4,})"
ENGLISH = rb"passw(?:or)?ds?|passphrase|passcode|(?:\b|_)(?:pwd|pw|pass)"
OTHERS = (
    rb"passwort|kennwort|contrase(?:\xf1|n)a|mot de passe|mdp|senha|palavra-passe|wachtwoord|l\xf6senord|adgangskode|passord"
    # has\x80o is hasło: letters of spaced scripts beyond Latin-1 fold to \x80.
    rb"|salasana|has\x80o|heslo|\bparola|\bclave|jelsz\xf3"
)
PASSWORD = byte_pattern(
    rb"(?i)(?:("
    + ENGLISH
    + rb")|("
    + OTHERS
    + rb"))(?:("
    + SIGN
    + rb")|"
    + VERB
    + rb")(?:"
    + QUOTED
    + rb"|"
    + BARE
    + rb")"
)
ELEMENT = byte_pattern(rb"(?i)<(?:password|passwd|pwd|secret|token|api-?key)>\s{0,2}([^\s<>]{4,})\s{0,2}</")
FLAG = byte_pattern(
    rb"--(?:password|passwd|pass|secret|token|api-key|client-secret)[ \t]{1,2}(?:" + QUOTED + rb"|" + BARE + rb")"
)
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
    *(
        "пароль",
        "парола",
        "密码",
        "密碼",
        "口令",
        "パスワード",
        "暗証番号",
        "비밀번호",
        "암호",
        "كلمة المرور",
        "كلمة السر",
    ),
    *("סיסמה", "पासवर्ड", "รหัสผ่าน", "κωδικός", "гасло"),
)
NON_LATIN_ENDS = tuple(name + verb for name in NON_LATIN_NAMES for verb in ("", "是", "为", "為", "は", "는", "은"))
NAMES = (
    rb"secret(?:[_-]?(?:access[_-]?)?key)?|(?:api|private|account|signing|encryption|access|shared|master)[_-]?key"
    rb"|(?:access|auth|refresh|session|bot|api|id|bearer|csrf|xsrf)[_-]?token|client[_-]?secret"
)
NAMED = byte_pattern(rb"(?i)(" + NAMES + rb")(" + SIGN + rb")(?:" + QUOTED + rb"|([^\s\"'\x60\\,;{}\[\]()&<>]{6,}))")
ANY_KEY = byte_pattern(
    rb"(?i)(?:key|token|secret|credentials?|creds)" + SIGN + rb"\\{0,3}[\"'\x60]?([A-Za-z0-9_.+/~=-]{20,})"
)
# Keys of databases, caches and pages: random values that open nothing.
NO_KEYS = byte_pattern(
    rb"(?i)(?:primary|foreign|cache|sort|partition|public|idempotency|row|shard|group|object|storage|file|s3|next|page|continuation"
    rb"|cursor|dedup\w*|hash|index|lookup|join|unique)[_. -]?$"
)
BEFORE = 24  # characters in which a word such as `primary` must stand right before `key`
COOKIE = byte_pattern(rb"(?i)\b(set-)?cookie" + SIGN + rb"\\{0,3}[\"']?([!#-&(-+\--:<-\[\]-~=; ]{3,})")
PAIR = byte_pattern(rb"(?:^|;) {0,2}([A-Za-z0-9_.!#$%&*+^|~-]{1,100})=([^;]*)")
ATTRIBUTES = frozenset((b"path", b"domain", b"expires", b"max-age", b"samesite", b"priority", b"version", b"comment"))
NAMES_AND_SIGNS = (BEARER, BASIC, PASSWORD, FLAG, ELEMENT, PIN, BARE_PIN, NON_LATIN_HINT, NAMED, ANY_KEY, COOKIE)


def assigned_in(folded: Folded) -> Iterator[PrivateSpan]:
    """Find values that a name before them makes secret."""
    data = folded.data
    for spans in matches(PASSWORD, data):
        start, end = _value(spans, 4)
        if _is_password(data, spans, start, end):
            yield PrivateSpan(SECRET, start, end)
    for spans in matches(NAMED, data):
        start, end = _value(spans, 3)
        # A quoted value with blanks behind `secret:` is a sentence about the secret, never a key.
        if not _is_no_value(data, start, end) and b" " not in data[start:end]:
            yield PrivateSpan(SECRET, start, end)
    for (first, _), (start, end) in matches(ANY_KEY, data):
        if _is_random(data[start:end]) and not NO_KEYS.search(data[max(0, first - BEFORE) : first]):
            yield PrivateSpan(SECRET, start, end)
    for spans in matches(FLAG, data):
        start, end = _value(spans, 1)
        # `--token --verbose`: the next option or a path follows, no value.
        if not _is_no_value(data, start, end) and data[start : start + 1] not in (b"-", b"/"):
            yield PrivateSpan(SECRET, start, end)
    for _, (start, end) in matches(ELEMENT, data):
        if not is_placeholder(data[start:end]):
            yield PrivateSpan(SECRET, start, end)
    for _, (start, end) in matches(PIN, data):
        yield PrivateSpan(SECRET, start, end)
    for _, upper, lower in matches(BARE_PIN, data):
        yield PrivateSpan(SECRET, *(upper if upper[0] >= 0 else lower))
    if not folded.text.isascii():
        yield from _non_latin(folded)


def cookies_in(folded: Folded) -> Iterator[PrivateSpan]:
    """Find the values of `Cookie` and `Set-Cookie` headers; attributes such as `Path` are kept."""
    for _, is_set, (start, end) in matches(COOKIE, folded.data):
        header = folded.data[start:end]
        for _, name, value in matches(PAIR, header):
            if header[slice(*name)].lower() not in ATTRIBUTES and header[slice(*value)].strip():
                yield PrivateSpan(SECRET, start + value[0], start + value[1])
            # `Set-Cookie` holds one cookie; every later pair is an attribute, known or not. `Cookie` holds many.
            if is_set[0] >= 0:
                break


def _value(spans: Spans, first: int) -> tuple[int, int]:
    """Where the value stands: in one of the groups from `first` on, most often the last."""
    last = first + 3
    return spans[last] if spans[last][0] >= 0 else next(span for span in spans[first:last] if span[0] >= 0)


def _is_password(data: bytes, spans: Spans, start: int, end: int) -> bool:
    (english, _), (sign, _), (bare, _) = spans[1], spans[3], spans[7]
    value, quoted = data[start:end], bare < 0
    if is_placeholder(value):
        return False
    if quoted:
        return sign >= 0 or b" " not in value or english >= 0
    if sign >= 0 and english >= 0:
        # `password: hello` is prose; with a digit in it four characters are enough for a password.
        return len(value) >= 6 - any(48 <= byte < 58 for byte in value) * 2 and not _is_no_value(data, start, end)
    return _is_mixed(value)


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
    digit = len(value.translate(None, DIGITS)) < len(value)
    letter = any(65 <= byte < 91 or 97 <= byte < 123 or byte >= 0xC0 for byte in value)
    return digit and letter and len(value.rstrip(b".!?")) >= 5


def _is_random(value: bytes) -> bool:
    """Whether characters are as mixed as in a generated key."""
    if len(value) - len(value.translate(None, DIGITS)) < 3 or is_code(value):
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
        if words.endswith(NON_LATIN_ENDS) and any(48 <= byte < 58 for byte in value):
            yield PrivateSpan(SECRET, start, start + len(value.rstrip(b"\"',.;)")))
