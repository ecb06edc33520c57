"""What is redacted by default, as patterns over plain text.

The patterns are also safe on a text that is itself JSON: they match no quote and no backslash, and a match may begin
right after an escape such as `\\n`, so redacting leaves the document readable.
"""

import re
from dataclasses import dataclass

START = r"(?:(?<![A-Za-z0-9_\\])|(?<=\\[nrtbf\\])|(?<=\\u[0-9a-f]{4})|(?<=\\)(?![nrtbfu]))"


@dataclass(frozen=True)
class Pattern:
    """A kind of private text. `group` is the part replaced; 0 is all of it."""

    kind: str
    regex: re.Pattern[str]
    group: int = 0


TOKENS = Pattern(
    "SECRET",
    re.compile(
        START + r"(?:"
        r"sk-[A-Za-z0-9_-]{16,}"
        r"|(?:sk|rk|pk|whsec)_(?:live_|test_)?[A-Za-z0-9]{16,}"
        r"|gh[pousr]_[A-Za-z0-9]{20,}"
        r"|github_pat_[A-Za-z0-9_]{20,}"
        r"|glpat-[A-Za-z0-9_-]{16,}"
        r"|hf_[A-Za-z0-9]{20,}"
        r"|npm_[A-Za-z0-9]{20,}"
        r"|pypi-[A-Za-z0-9_-]{20,}"
        r"|xox[abeoprs]-[A-Za-z0-9-]{12,}"
        r"|(?:AKIA|ASIA)[A-Z0-9]{16}"
        r"|AIza[A-Za-z0-9_-]{30,}"
        r"|ya29\.[A-Za-z0-9_-]{20,}"
        r"|eyJ[A-Za-z0-9_-]{13,}\.[A-Za-z0-9_-]{8,}\.[A-Za-z0-9_-]{8,}"
        r")"
    ),
)
TOKEN_HEADS = (  # one of these is in every match of the above
    *("sk-", "sk_", "rk_", "pk_", "whsec_", "ghp_", "gho_", "ghu_", "ghs_", "ghr_", "github_pat_", "glpat-"),
    *("hf_", "npm_", "pypi-", "xox", "AKIA", "ASIA", "AIza", "ya29.", "eyJ"),
)
PRIVATE_KEY = Pattern(
    "SECRET",
    re.compile(
        r"-----BEGIN (?:[A-Z0-9]+ ){0,3}PRIVATE KEY-----"
        r"(?:[A-Za-z0-9+/=\s\\:,]|-(?!----))*"
        r"-----END (?:[A-Z0-9]+ ){0,3}PRIVATE KEY-----"
    ),
)
BEARER = Pattern("SECRET", re.compile(r"(?i)bearer\s+([A-Za-z0-9._~+/-]{16,}=*)"), 1)
ASSIGNED = Pattern(
    "SECRET",
    re.compile(
        r"(?i)(?:passw(?:or)?d|secret(?:[_-]?(?:access[_-]?)?key)?|api[_-]?key|(?:(?<=access)|(?<=access[_-])|(?<=auth)|(?<=auth[_-]))token)"
        r"\\?[\"']?\s{0,3}[:=]\s{0,3}\\?[\"']?([^\s\"'\\,;{}\[\]()]{6,})"
    ),
    1,
)
URL_LOGIN = Pattern("SECRET", re.compile(r"://[^\s/:@\"'\\]{1,64}:([^\s/@\"'\\]{1,128})@"), 1)
EMAIL = Pattern(
    "EMAIL",
    re.compile(
        START + r"[A-Za-z0-9](?:[A-Za-z0-9._%+-]{0,62}[A-Za-z0-9_%+-])?@"
        r"(?:[A-Za-z0-9](?:[A-Za-z0-9-]{0,61}[A-Za-z0-9])?\.){1,8}[A-Za-z]{2,24}\b"
    ),
)
PATTERNS = (TOKENS, PRIVATE_KEY, BEARER, ASSIGNED, URL_LOGIN, EMAIL)
