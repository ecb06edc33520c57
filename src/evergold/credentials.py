"""The keys and passwords that this process was given, and their removal from every text that leaves it.

This is the one place that knows them: from the settings (`Secret`), the environment, the login and the query of URLs, and the
headers of requests. An endpoint may repeat what it was sent, a driver the address it was given; nobody who writes an error has
to think of that. `hide` is applied by the nouns that are stored (`Attempt`, `Measurement`, `Answer`), by every error of ours,
by the clients of models and by the terminal, `seal` to exceptions and to those they came from. What only looks like a secret is
found by `evergold.redact`.

A secret is removed as it is, percent-encoded, escaped for JSON, HTML or Python, and in base64 or hex with its user's name.
A short one or a plain word ("test") is removed only where it stands as a value, or half of every sentence would be gone.
"""

import logging
import os
import re
import sys
import threading
import traceback
from base64 import b64decode, b64encode, urlsafe_b64encode
from collections.abc import Callable, Mapping
from contextlib import suppress
from html import escape
from json import dumps
from operator import is_
from typing import Any, TypeVar
from urllib.parse import parse_qsl, quote, quote_plus, unquote, urlsplit

HIDDEN = "[SECRET]"
SHORTEST = 4  # characters: what is shorter protects nothing, and would be found in half of all texts
LEAST = 6  # characters of a secret that is removed wherever it stands as a word
LONG = 12  # characters from which it is removed inside of words too, and may be a plain word
DEEPEST = 8  # levels of the values of an exception that are looked at
NONE = frozenset(("", "none", "null", "true", "false"))
KEYED = re.compile(  # names of variables, headers and parameters whose values are secret
    r"(?i)(?:^|[^a-z])(?:x-)?(?:\w*key|\w*tokens?|\w*secrets?|\w*passw(?:or)?d|pass|pwd|pw|sig|signature|credentials?"
    r"|authorization|auth|cookie|set-cookie|dsn|connection[_-]string)(?:$|[^a-z])"
)
PASSWORD = re.compile(r"(?i)pass|pwd|pw$|secret")  # one of digits alone is a password too, a number of tokens is none
LOGIN = re.compile(r"(?:https?://([^\s/?#]*)|[a-z][a-z0-9+.-]*://([^\s?#]*))@", re.IGNORECASE)
WEB = re.compile(r"https?://\S+", re.IGNORECASE)
ASSIGNED = re.compile(r"([\w-]+)=([^;,]+?)(?=[;,]|\s+[\w-]+=|$)")  # in a connection string, or a list of headers
# What stands before a value that is not quoted.
NAMED = ("bearer ", "basic ", "key: ", "token: ", "secret: ", "password: ", "auth: ")
VALUE = "|".join(
    [r"(?<=[:=])", r"(?<== )", r"(?<=[:=][\"'])", r"(?<=[:=] [\"'])", *(f"(?<=(?i:{word}))" for word in NAMED)]
)
LOGS = re.compile(
    r"(?:evergold|httpx2?|httpcore2?|uvicorn|asyncio|concurrent|sqlalchemy|psycopg|anthropic|google_genai|mistralai"
    r"|pydantic_ai|botocore|aiobotocore|boto3|s3fs|gcsfs|adlfs|azure|msal|google|huggingface_hub|fsspec|aiohttp|urllib3)(?:\.|$)"
)
"""Loggers that speak of calls made for us; other records are the app's own."""

T = TypeVar("T")


class Secret(str):
    """A text that is a secret, or a URL with one: known from the moment it is made, and not shown by `repr`.

    So neither the repr of the settings nor a traceback with the values of variables shows it; in a new process it is known
    again as soon as it is unpickled.
    """

    __slots__ = ()

    def __new__(cls, text: str) -> "Secret":
        learn_url(text) if "://" in text else learn(text)
        return super().__new__(cls, text)

    def __repr__(self) -> str:
        return repr(hide(str(self))) if "://" in self else repr(HIDDEN if self else "")

    def __reduce__(self) -> tuple[type["Secret"], tuple[str]]:
        return Secret, (str(self),)


class _SecretForms:
    """The secrets of this process and the forms in which a text may hold them."""

    def __init__(self) -> None:
        self.secrets: set[tuple[str, str]] = set()
        self.forms: tuple[str, ...] = ()  # the longest first: one may be a part of another
        self.words: dict[str, re.Pattern[str]] = {}  # forms of short ones, and where each of them is a secret
        self.originals: dict[str, str] = {}
        self._lock = threading.Lock()

    def add(self, secret: str, user: str) -> None:
        with self._lock:
            if (secret, user) in self.secrets:
                return
            if not self.secrets:
                _guard_dumps()
            self.secrets.add((secret, user))
            forms = _forms_of(secret)
            if len(secret) >= LONG:
                self.forms = tuple(sorted({*self.forms, *forms, *_encode(secret, user)}, key=len, reverse=True))
                return
            # Whether a short secret cannot be meant by an ordinary word of the same letters.
            before = r"(?<![A-Za-z0-9])" if (len(secret) >= LEAST and not secret.isalpha()) else f"(?:{VALUE})"
            words = {form: re.compile(rf"{before}{re.escape(form)}(?![A-Za-z0-9])") for form in forms}
            self.words = {**self.words, **words}
            self.forms = tuple(sorted({*self.forms, *_encode(secret, user)}, key=len, reverse=True))


def _forms_of(secret: str) -> set[str]:
    """A secret as it is and as a URL, JSON, HTML or Python writes it."""
    quoted = {quote(secret, safe=""), quote(secret), quote_plus(secret)}
    quoted |= {re.sub("%[0-9A-F]{2}", lambda code: code[0].lower(), one) for one in quoted}
    escaped = {dumps(secret)[1:-1], dumps(secret, ensure_ascii=False)[1:-1], repr(secret)[1:-1]}
    escaped |= {one.replace("/", "\\/") for one in escaped} | {dumps(one)[1:-1] for one in escaped}
    escaped |= {re.sub("[&<>'+]", lambda sign: f"\\u{ord(sign[0]):04x}", one) for one in escaped}  # JSON for web pages
    return {secret, *quoted, *escaped, escape(secret), escape(secret, quote=False)}


def _encode(secret: str, user: str) -> set[str]:
    """A secret in base64 and in hexadecimal digits: alone, and as the login of a header."""
    plain = [
        text.encode() for text in (secret if len(secret) >= LEAST else "", f"{user}:{secret}", f"{secret}:") if text
    ]
    coded = {code(text).rstrip(b"=").decode() for text in plain for code in (b64encode, urlsafe_b64encode)}
    return coded | {text.hex() for text in plain}


_known = _SecretForms()


def learn(secret: str, user: str = "") -> None:
    """Remember a secret, and the user whose password it is."""
    secret = secret.strip()
    is_none = len(secret) < SHORTEST or secret.lower() in NONE or HIDDEN in secret
    if not is_none and (secret, user) not in _known.secrets:
        _known.add(secret, user)


def learn_url(url: str, *, whole: bool = False) -> None:
    """Remember the password, or the key in place of a user, and the secret parameters of a URL.

    `whole`: of an address that is a secret itself, as that of a webhook, also the long parts of its path.
    """
    is_web = url[:5].lower() in ("http:", "https")
    if login := LOGIN.match(url):
        user, sign, password = (login[1] or login[2] or "").partition(":")
        # A password with a slash or an at-sign that nobody encoded: what reads the URL reports a part of it.
        pieces = [piece for piece in re.split("[/@:]", password) if len(piece) >= 4] if sign else []
        if "@" in password:
            pieces.append(password.partition("@")[2] + "@" + re.split("[:/?#]", url[login.end() :])[0])
        for secret in (password, *pieces) if sign else (user,) if is_web and len(user) >= 2 * LEAST else ():
            learn(unquote(secret), unquote(user) if sign else "")
            learn(secret)
    try:
        parts = urlsplit(url)
    except ValueError:
        return
    for name, value in parse_qsl(parts.query):
        if KEYED.search(name) or name == "code":
            learn(value)
    if whole and is_web:
        for part in (parts.path.strip("/"), *parts.path.split("/")):
            if len(part) >= LONG:
                learn(unquote(part))


def learn_headers(headers: Mapping[str, str]) -> None:
    """Remember the keys in the headers of a request."""
    for name, value in headers.items():
        if KEYED.search(name) and "idempotency" not in name.lower():
            scheme, _, key = value.rpartition(" ")
            learn(key)
            if scheme.lower() == "basic":
                with suppress(ValueError):
                    user, _, password = b64decode(key + "==").decode("utf-8", "replace").partition(":")
                    learn(password or user, user if password else "")


def learn_environment(environ: Mapping[str, str] | None = None) -> None:
    """Remember what the environment holds: keys and passwords by the names of their variables, and logins in URLs."""
    for name, value in (os.environ if environ is None else environ).items():
        if "://" in value:
            learn_url(value)
        elif KEYED.search(name.replace("_", "-")) and not _is_other(name, value):
            learn(value)
        if "=" in value:
            for key, part in ASSIGNED.findall(value):
                if KEYED.search(re.sub("(?<=[a-z])(?=[A-Z])", "-", key)) and not _is_other(key, part):
                    learn(unquote(part))
                    learn_headers({"authorization": unquote(part)})


def _is_other(name: str, value: str) -> bool:
    """Whether a variable whose name is that of a key holds something else: a reference, a count, or the place of a file."""
    if value.startswith("env:") or (value.isdecimal() and not PASSWORD.search(name)):
        return True
    return value.startswith(("/", "~", ".")) and os.path.exists(os.path.expanduser(value))


def hide(text: str) -> str:
    """Put `[SECRET]` in the place of every known secret."""
    for form in _known.forms:
        if form in text:
            text = text.replace(form, HIDDEN)
    for form, pattern in _known.words.items():
        if form in text:
            text = pattern.sub(HIDDEN, text)
    return text


def hide_bytes(data: bytes) -> bytes:
    """Put `[SECRET]` in the place of every known secret in what was received or is to be written."""
    if not _known.secrets:
        return data
    return hide(data.decode("utf-8", "surrogateescape")).encode("utf-8", "surrogateescape")


def hide_value(value: T, levels: int = DEEPEST) -> T:
    """The same value without secrets in its texts; the very object where it holds none."""
    if not _known.secrets:
        return value
    given: Any = value
    hidden: Any
    if isinstance(given, str | bytes):
        hidden = hide(given) if isinstance(given, str) else hide_bytes(given)
        return value if hidden == given else hidden
    if type(given) in (list, tuple) and levels:
        hidden = [hide_value(part, levels - 1) for part in given]
        return value if all(map(is_, hidden, given)) else type(given)(hidden)
    if type(given) is dict and levels:
        hidden = {hide_value(key, 0): hide_value(part, levels - 1) for key, part in given.items()}
        return value if all(map(is_, (*hidden, *hidden.values()), (*given, *given.values()))) else hidden
    return value


def hide_address(name: str) -> str:
    """Hide secrets in the name of a model, which is stored; `whole_address` gives it back where it is called."""
    for url in WEB.findall(name):
        learn_url(url)
    hidden = hide(name)
    if hidden != name:
        _known.originals[hidden] = name
    return hidden


def whole_address(name: str) -> str:
    """The name that `hide_address` was given: in this process, or where a variable of the environment holds the URL."""
    if HIDDEN not in name or name in _known.originals:
        return _known.originals.get(name, name)
    learn_environment()
    hidden = {hide(url): url for url in os.environ.values() if "://" in url}
    return next((name.replace(one, url) for one, url in hidden.items() if HIDDEN in one and one in name), name)


def seal(problem: BaseException | None) -> None:
    """Hide secrets in an exception, in those it came from, and in the variables of frames that are done with."""
    seen: dict[int, BaseException] = {}
    waiting = [problem] if _known.secrets else []
    while waiting:
        one = waiting.pop()
        if one is None or id(one) in seen:
            continue
        seen[id(one)] = one
        traceback.clear_frames(one.__traceback__)
        held: dict[str, Any] = {"args": one.args, **getattr(one, "__dict__", {})}
        if isinstance(one, OSError):
            held["filename"] = one.filename
        for name, value in held.items():
            if (hidden := hide_value(value)) is not value:
                with suppress(Exception):  # some exceptions do not let themselves be changed
                    setattr(one, name, hidden)
        waiting += [value for value in held.values() if isinstance(value, BaseException)]
        waiting += [one.__cause__, one.__context__, *getattr(one, "exceptions", ())]
    for one in seen.values():
        for link in ("__cause__", "__context__"):
            # What could not be changed is replaced by its text.
            if (origin := getattr(one, link)) is not None and hide(text := _text_of(origin)) != text:
                setattr(one, link, RuntimeError(f"{type(origin).__name__}: {hide(text)}"))


def _text_of(problem: BaseException) -> str:
    try:
        return str(problem)
    except Exception:
        return ""


def _guard_dumps() -> None:
    """Have log records and the tracebacks of errors that nobody catches sealed before they are written."""
    make_record = logging.getLogRecordFactory()

    def seal_record(*args: Any, **options: Any) -> logging.LogRecord:
        record = make_record(*args, **options)
        if LOGS.match(record.name):
            with suppress(Exception):  # what cannot be formatted is reported by whoever writes it
                message = record.getMessage()
                if (hidden := hide(message)) != message:
                    record.msg, record.args = hidden, ()
            if record.exc_info:
                seal(record.exc_info[1])
        return record

    logging.setLogRecordFactory(seal_record)
    sys.excepthook = _seal_before(sys.excepthook, lambda _, problem, __: problem)
    threading.excepthook = _seal_before(threading.excepthook, lambda args: args.exc_value)
    sys.unraisablehook = _seal_before(sys.unraisablehook, lambda args: args.exc_value)


def _seal_before(show: Callable[..., Any], problem_of: Callable[..., BaseException | None]) -> Callable[..., None]:
    """Make a hook that seals an error in which our code took part, before it is shown."""

    def seal_and_show(*args: Any) -> None:
        problem = problem_of(*args)
        walked = traceback.walk_tb(None if problem is None else problem.__traceback__)
        if any(frame.f_globals.get("__name__", "").startswith("evergold") for frame, _ in walked):
            seal(problem)
        show(*args)

    return seal_and_show
