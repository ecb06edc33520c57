"""One spelling for each phrase: lower case, no accents, straight quotes, no opening marks."""

import unicodedata

_STRAIGHT = str.maketrans("’‘´`—–“”¿¡…", "''''--\"\"  .")


def folded(text: str) -> str:
    """Fold case, accents and quotes; newlines stay, because they end clauses."""
    if not text.isascii():
        text = "".join(sign for sign in unicodedata.normalize("NFD", text) if not unicodedata.combining(sign))
        text = text.translate(_STRAIGHT)
    return text.casefold()
