"""What calls of models cost, by the price list that ships with genai-prices; a price that nobody knows is None, not 0."""

import math
from collections.abc import Iterable, Mapping
from datetime import UTC, datetime
from functools import lru_cache
from typing import Any, NamedTuple

# Models that only their makers serve, and what those give away: their names say what they cost, whatever the provider is called.
MAKERS, OPEN = ("openai", "anthropic", "google"), ("gpt-oss", "gemma")
HOUR = 13  # letters of a time that name its hour: prices change on a day, and a few depend on the time of day
NUMBERS, MOST = (int, float), 2**53  # true is no number
MODEL_KINDS = ("llm", "embedding")  # spans that are calls of a model


class Cost(NamedTuple):
    """US dollars, None where they are not known; `priced` where any of it comes from the price list."""

    amount: float | None = None
    priced: bool = False


UNKNOWN_COST = Cost()


def cost(provider: str, model: str, input_tokens: float, output_tokens: float, at: str = "") -> float | None:
    """Price one call in US dollars, now or at a time as `2026-01-31T12`."""
    if provider == "local":
        return 0.0
    price = _price_of(provider, model, at[:HOUR]) if provider else None
    return None if price is None else price(input_tokens, output_tokens)


def add_costs(stated: Mapping[str, Any], calls: Iterable[tuple[str, Mapping[str, Any]]], at: str) -> Cost:
    """Say what a trace cost: what it states itself, else the sum of its calls, else the price of the tokens it states.

    `calls`: the kind of each call and what it states. A call costs what it reports, else the price of its tokens. One that took
    tokens whose price nobody knows makes the whole unknown; one that says nothing of tokens is left out, as it is from their sum.
    """
    if (own := _amount(stated.get("cost"))) is not None:
        return Cost(own)
    results = [result for kind, call in calls if (result := _call_cost(kind, call, at)) is not None]
    if len(results) < 2:
        return results[0] if results else _call_cost("llm", stated, at) or UNKNOWN_COST
    amounts = [result.amount for result in results if result.amount is not None]
    if len(amounts) < len(results):
        return UNKNOWN_COST
    return Cost(math.fsum(amounts), any(result.priced for result in results))


def _call_cost(kind: str, call: Mapping[str, Any], at: str) -> Cost | None:
    """What one call cost; None where it says nothing of cost or tokens."""
    if (reported := _amount(call.get("cost"))) is not None:
        return Cost(reported)
    sent, made = _amount(call.get("input_tokens")), _amount(call.get("output_tokens"))
    if made is None and kind == "embedding":
        sent, made = _amount(call.get("total_tokens")) if sent is None else sent, 0
    if sent is None or made is None:
        silent = sent is None and made is None and _amount(call.get("total_tokens")) is None
        return None if silent else UNKNOWN_COST
    model, provider = call.get("model"), call.get("provider")
    if not isinstance(model, str) or provider == "local":
        return UNKNOWN_COST
    price = _price_of(provider if isinstance(provider, str) else "", model, at[:HOUR])
    return UNKNOWN_COST if price is None else Cost(price(sent, made), True)


def _amount(value: Any) -> float | None:
    return value if type(value) in NUMBERS and 0 <= value < MOST else None


class _Price(NamedTuple):
    """The prices of one model by the token: with more input tokens than `over`, that row counts for all of them."""

    rows: tuple[tuple[int, float, float], ...]

    def __call__(self, sent: float, made: float) -> float:
        _, rate_in, rate_out = self.rows[0] if len(self.rows) == 1 else next(row for row in self.rows if sent > row[0])
        return sent * rate_in + made * rate_out


@lru_cache(4096)
def _price_of(provider: str, model: str, hour: str) -> _Price | None:
    """Look a model up; without a provider its name has to say whose it is."""
    from genai_prices.data_snapshot import get_snapshot
    from genai_prices.types import TieredPrices

    try:
        moment = datetime.fromisoformat(f"{hour}:00+00:00")
    except ValueError:  # no time, or one that somebody wrote by hand
        moment = datetime.now(UTC)
    listed: Any = None
    before, _, after = model.rpartition("/")  # LiteLLM writes `anthropic/claude-…`
    named = ((provider, model), (provider.replace("_", "-"), model)) if provider else ()
    for name, called in (*named, ("", model), (before, after)):
        try:
            maker, entry = get_snapshot().find_provider_model(called, None, name or None, None)
        except LookupError:
            continue
        is_makers = (not provider or maker.id in MAKERS) and not any(word in called.lower() for word in OPEN)
        if (name, called) in named or is_makers:
            listed = entry
            break
    if listed is None:
        return None
    price = listed.get_prices(moment)
    tiered = [rate for rate in vars(price).values() if isinstance(rate, TieredPrices)]
    starts = {-1, *(tier.start for rate in tiered for tier in rate.tiers)}
    return _Price(tuple((over, *_rates(price, max(1, over + 1))) for over in sorted(starts, reverse=True)))


def _rates(price: Any, sent: int) -> tuple[float, float]:
    """The price of an input and of an output token in a call that sends so many."""
    from genai_prices import Usage

    million = 1_000_000
    read, both = (price.calc_price(Usage(input_tokens=sent, output_tokens=n))["total_price"] for n in (0, million))
    return float(read / sent), float((both - read) / million)
