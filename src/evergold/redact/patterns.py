"""What is redacted by default, as patterns over plain text.

The patterns are also safe on a text that is itself JSON: they match no quote and no backslash (an escape in an e-mail
address apart, which is matched whole), and a match may begin right after an escape such as `\\n`, so redacting leaves the
document readable.
"""

import re
from collections.abc import Callable
from dataclasses import dataclass

START = r"(?:(?<![A-Za-z0-9_\\])|(?<=\\[nrtbf\\])|(?<=\\u[0-9a-f]{4})|(?<=\\)(?![nrtbfu]))"


@dataclass(frozen=True)
class Pattern:
    """A kind of private text. `group` is the part replaced; 0 is all of it. `told` has the last word on a match.

    One of `signs` is in every text that holds a match, so that most texts need not be searched.
    """

    kind: str
    regex: re.Pattern[str]
    group: int = 0
    told: Callable[[re.Match[str]], bool] = bool
    signs: tuple[str, ...] = ("",)


TOKEN_HEADS = (  # one of these is in every match of the tokens
    *(
        "sk-",
        "sk_",
        "rk_",
        "pk_",
        "whsec_",
        "ghp_",
        "gho_",
        "ghu_",
        "ghs_",
        "ghr_",
        "_pat_",
        "glpat-",
        "xai-",
        "shp",
        "dop_v1_",
    ),
    *(
        "hf_",
        "npm_",
        "pypi-",
        "xox",
        "xapp-",
        "slack.com/services/",
        "AKIA",
        "ASIA",
        "AIza",
        "ya29.",
        "eyJ",
        "dapi",
        "GOCSPX-",
    ),
    *("SG.", "SK", "hvs.", "AGE-SECRET-KEY-1"),
)
TOKENS = Pattern(
    "SECRET",
    re.compile(
        START + r"(?:"
        r"sk-(?=(?:[A-Za-z_-]*[0-9]){2})[A-Za-z0-9_-]{16,}"  # OpenAI, Anthropic and many after them; no class of a style sheet
        r"|(?:sk|rk|pk|whsec)_(?:live_|test_)?[A-Za-z0-9]{16,}"
        r"|gsk_[A-Za-z0-9]{20,}"
        r"|xai-[A-Za-z0-9]{20,}"
        r"|gh[pousr]_[A-Za-z0-9]{20,}"
        r"|github_pat_[A-Za-z0-9_]{20,}"
        r"|glpat-[A-Za-z0-9_-]{16,}"
        r"|hf_[A-Za-z0-9]{20,}"
        r"|npm_[A-Za-z0-9]{20,}"
        r"|pypi-[A-Za-z0-9_-]{20,}"
        r"|dckr_pat_[A-Za-z0-9_-]{20,}"
        r"|shp(?:at|ca|pa|ss)_[a-f0-9]{32}"
        r"|dop_v1_[a-f0-9]{64}"
        r"|dapi[a-f0-9]{32}"
        r"|xox[abeoprs]-[A-Za-z0-9-]{12,}"
        r"|xapp-[A-Za-z0-9-]{20,}"
        r"|hooks\.slack\.com/services/[A-Za-z0-9/]{20,}"
        r"|(?:AKIA|ASIA)[A-Z0-9]{16}"
        r"|AIza[A-Za-z0-9_-]{30,}"
        r"|ya29\.[A-Za-z0-9_-]{20,}"
        r"|GOCSPX-[A-Za-z0-9_-]{20,}"
        r"|SG\.[A-Za-z0-9_-]{16,}\.[A-Za-z0-9_-]{16,}"
        r"|SK[a-f0-9]{32}"
        r"|hvs\.[A-Za-z0-9_-]{20,}"
        r"|AGE-SECRET-KEY-1[A-Z0-9]{40,}"
        r"|eyJ[A-Za-z0-9_-]{13,}\.[A-Za-z0-9_-]{8,}\.[A-Za-z0-9_-]{8,}(?:\.[A-Za-z0-9_-]{8,}){0,2}"
        r")"
    ),
    signs=TOKEN_HEADS,
)
PRIVATE_KEY = Pattern(
    "SECRET",
    re.compile(
        r"-----BEGIN (?:[A-Z0-9]+ ){0,3}PRIVATE KEY(?: BLOCK)?-----"
        r"(?:(?:[A-Za-z0-9+/=\s\\:,.]|-(?!----))*-----END (?:[A-Z0-9]+ ){0,3}PRIVATE KEY(?: BLOCK)?-----"
        r"|(?:(?:\\{1,4}[nr]|\s)*[A-Za-z0-9+/=]{24,})+(?:(?:\\{1,4}n|\n)[A-Za-z0-9+/=]+)?)"  # a key whose end was cut off
    ),
    signs=("PRIVATE KEY",),
)
BEARER = Pattern("SECRET", re.compile(r"(?i)bearer\s+((?=\S*[0-9])[A-Za-z0-9._~+/-]{16,}=*)"), 1)
BASIC = Pattern(
    "SECRET", re.compile(r"(?i)authorization\\?[\"']?\s{0,3}[:=]\s{0,3}\\?[\"']?basic\s+([A-Za-z0-9+/]{8,}=*)"), 1
)

NAMES_OF_SECRETS = (
    r"passw(?:or)?d|secret(?:[_-]?(?:access[_-]?)?key)?|(?:api|private|account|signing|encryption)[_-]?key"
    r"|(?:(?<=access)|(?<=auth)|(?<=refresh)|(?<=session)|(?<=bot)|(?<=access[_-])|(?<=auth[_-])|(?<=refresh[_-])|(?<=session[_-])|(?<=bot[_-]))token"
)
NO_SECRET = re.compile(  # a type, a word about the secret, a place for it
    r"(?i)(?:string|number|boolean|object|required|optional|missing|invalid|incorrect|expired|undefined|unknown|default|hidden"
    r"|redacted|forgotten|password|passwd|secret|api_?key)\.?|[*•x.-]+|<[^>]*>?|%\w+%|\$[A-Za-z_]\w*"
)
CODE = re.compile(  # what fetches it: a dotted, an underscored or a humped name
    r"[A-Za-z_]\w*(?:\.[A-Za-z_]\w*)+|[A-Za-z]*_[A-Za-z_]*|(?:[A-Z][a-z]+|[a-z]+)(?:[A-Z][a-z]+)+"
)
SAID_ON = re.compile(r"[ \t]+[A-Za-z]")


def _is_value(match: re.Match[str]) -> bool:
    """Whether what is assigned is a secret itself: not code that fetches it, nor the next word of a sentence."""
    value, text, end = match[1], match.string, match.end()
    if NO_SECRET.fullmatch(value):
        return False
    if text[match.start(1) - 1] in "\"'":
        return True
    called = text[end : end + 1] in ("(", "[")
    return not (called or CODE.fullmatch(value) or (value.isalpha() and SAID_ON.match(text, end)))


def _is_no_place(match: re.Match[str]) -> bool:
    return not NO_SECRET.fullmatch(match[1])


URL_LOGIN = Pattern(
    "SECRET", re.compile(r"://[^\s/:@\"'\\]{0,64}:([^\s/@\"'\\]{1,128})@"), 1, _is_no_place, signs=("@",)
)
ASSIGNED = Pattern(
    "SECRET",
    re.compile(rf"(?i)(?:{NAMES_OF_SECRETS})\\?[\"']?\s{{0,3}}[:=]\s{{0,3}}\\?[\"']?([^\s\"'\\,;{{}}\[\]()&]{{6,}})"),
    1,
    _is_value,
)
PATTERNS = (TOKENS, PRIVATE_KEY, BEARER, BASIC, ASSIGNED, URL_LOGIN)
