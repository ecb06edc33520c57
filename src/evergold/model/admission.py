"""Does a reply admit that the one before it was wrong? Then what it says is the corrected answer."""

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
OPENING = 200  # an admission stands at the beginning


def admits(reply: str | None) -> bool:
    """Whether a reply opens by admitting a mistake."""
    bare = unicodedata.normalize("NFD", (reply or "")[:OPENING].casefold().replace("’", "'"))
    return _ADMITS.search("".join(sign for sign in bare if not unicodedata.combining(sign))) is not None
