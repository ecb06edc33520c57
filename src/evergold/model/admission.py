"""Does a reply admit that the one before it was wrong, or agree with a user who said so? Then it is the corrected answer."""

import re
import unicodedata

_ADMITS = re.compile(
    r"\b(?:you(?:'re| are) (?:absolutely |completely |quite )?(?:right|correct)|my (?:mistake|bad|apologies|error)|"
    r"i stand corrected|"
    r"i (?:was wrong|made a mistake|misread|misunderstood|got (?:it|that) wrong)|(?:i )?apologi[sz]e|"
    r"sorry (?:about|for) (?:that|the)|"
    r"thanks? (?:you )?for (?:the correction|correcting|pointing)|good catch|"
    r"tienes (?:toda la )?razon|tiene (?:usted )?razon|mi error|me equivoque|me confundi|mis disculpas|disculpa|perdon|"
    r"gracias por (?:la correccion|corregir\w*|avisar\w*))\b"
)
# What grants a user's statement; after a question it may only confirm ("is it at 5?" "Correct, at 5").
_AGREES = re.compile(
    r"(?:(?:oh|ah|hm+|yes|si|ay|ups|oops|vaya),? )?(?:(?:good|fair|great) (?:point|catch|spot)|"
    r"that(?:'s| is) (?:true|right|correct)|"
    r"true|correct|right|fair enough|cierto|correcto|(?:es|muy) (?:cierto|verdad)|verdad|bien visto|buen punto|en efecto|"
    r"efectivamente|thank(?:s| you) for (?:checking|letting (?:me|us) know|the (?:update|heads[- ]up|clarification)|"
    r"telling (?:me|us)|flagging|spotting|noticing|clarifying)|gracias por (?:la (?:aclaracion|informacion)|aclarar\w*|"
    r"decir\w*|el aviso))\b"
)
# An apology that leads up to a refusal ("I apologize, but I cannot …") admits no mistake.
_EXCUSES = re.compile(
    r"\b(?:apologi[sz]e|(?:my|our) apologies|sorry|mis disculpas|disculpa\w*|perdon\w*)\b(?: (?:for|por)[^.!?]{0,40}?)?[,;]? "
    r"(?:but|however|pero|sin embargo|aunque|as an?|como (?:un |una )?(?:modelo|ia|inteligencia))\b"
)
# An apology for what may have been: polite after a complaint, and after many other messages.
_REGRETS = re.compile(
    r"\b(?:apologi[sz]e|apologies|sorry) (?:if|for any|that (?:you|my))\b|\b(?:disculpas|perdon) si\b"
)
OPENING = 200  # an admission stands at the beginning


def admits(reply: str | None) -> bool:
    """Whether a reply opens by admitting a mistake."""
    opening = _opening(reply)
    certain = _REGRETS.sub(" ", _EXCUSES.sub(" ", opening))
    return _ADMITS.search(certain) is not None


def regrets(reply: str | None) -> bool:
    """Whether a reply opens by apologising for what may have been wrong ("I apologize if …", "for any confusion")."""
    return _REGRETS.search(_EXCUSES.sub(" ", _opening(reply))) is not None


def agrees(reply: str | None) -> bool:
    """Whether a reply opens by granting what the user stated."""
    return _AGREES.match(_opening(reply)) is not None


def grants(reply: str | None) -> bool:
    """Whether a reply opens by admitting a mistake, regretting one or agreeing: then it may be the corrected answer."""
    return admits(reply) or regrets(reply) or agrees(reply)


def _opening(reply: str | None) -> str:
    # Accents are removed ("razón" → "razon"), so the patterns above are written without them.
    bare = unicodedata.normalize("NFD", (reply or "")[:OPENING].casefold().replace("’", "'"))
    return "".join(sign for sign in bare if not unicodedata.combining(sign)).lstrip(' ¡!"')
