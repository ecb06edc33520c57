"""Recognise values that stand where a secret could and are none: a word about it, a type, a variable, code that fetches it."""

from evergold.redact.folding import byte_pattern

WORDS = frozenset(
    b"string str number int boolean bool object none null nil true false required optional missing invalid incorrect wrong "
    b"expired undefined unknown default hidden redacted forgotten forgot reset changed empty blank protected encrypted hashed "
    b"password passwd passwort secret token value example changeme placeholder apikey api_key [secret] n/a tbd".split()
)
PHRASES = byte_pattern(
    rb"(?i)your[\w-]*|my[_-]?\w*(?:key|token|secret|password)|(?:enter|insert|set|see|use|type|confirm)[_-]\w*|[\w-]+[_-]here"
)
SIGNS = byte_pattern(rb"[*\x82xX.#_-]+|<[^>]*>?|%\w+%|\$.*|\{\{.*|@\w+")
CODE = byte_pattern(  # a dotted, an underscored or a humped name
    rb"[A-Za-z_]\w*(?:\.[A-Za-z_]\w*)+|[A-Za-z]*_[A-Za-z_]*|(?:[A-Z][a-z]+|[a-z]+)(?:[A-Z][a-z]+)+"
)
LONGEST = 100


def is_placeholder(value: bytes) -> bool:
    """Say whether a value only stands for a secret."""
    if len(value) <= LONGEST and value.lower().rstrip(b".!?") in WORDS:
        return True
    # How every one of `PHRASES` begins or ends: a cheap test before the pattern. `SIGNS` decides on `xxxx`.
    if value[:1].isalnum() and value[:1] not in b"xX":
        likely = value[:1] in b"yYmMeEiIsSuUtTcC" or value[-4:].lower() == b"here"
        return likely and PHRASES.fullmatch(value) is not None
    return SIGNS.fullmatch(value) is not None


def is_code(value: bytes) -> bool:
    """Say whether a value is a name that a program would look up."""
    return CODE.fullmatch(value) is not None
