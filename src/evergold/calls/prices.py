"""Compute the cost of a call. A price that nobody knows is null, which is not the same as free."""

from functools import cache
from typing import Any


def cost(provider: str, model: str, input_tokens: int, output_tokens: int) -> float | None:
    """Money in US dollars, from the price list that ships with genai-prices."""
    if provider == "local":
        return 0.0
    if not provider or not _known(provider, model):
        return None
    from genai_prices import Usage, calc_price

    usage = Usage(input_tokens=input_tokens, output_tokens=output_tokens)
    return float(calc_price(usage, model_ref=model, provider_id=provider).total_price)


@cache
def _known(provider: str, model: str) -> bool:
    from genai_prices import Usage, calc_price

    usage: Any = Usage(input_tokens=1, output_tokens=1)
    # genai-prices raises LookupError for a model it does not list.
    try:
        calc_price(usage, model_ref=model, provider_id=provider)
    except LookupError:
        return False
    return True
