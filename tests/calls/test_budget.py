"""The budget: what is spent never passes it, whatever the order in which calls end."""

import asyncio

import pytest
from hypothesis import given
from hypothesis import strategies as st

from evergold.calls.budget import Budget, BudgetReached
from evergold.model.run import Usage


@given(st.integers(1, 500), st.integers(1, 40), st.integers(1, 8))
def test_calls_of_one_price_never_pass_the_budget(limit: int, price: int, workers: int) -> None:
    budget = Budget(tokens=limit)

    async def work() -> None:
        while True:
            await budget.reserve()
            await asyncio.sleep(0)
            budget.settle(Usage(input_tokens=price))

    async def all_of_them() -> None:
        await asyncio.gather(*(work() for _ in range(workers)), return_exceptions=True)

    asyncio.run(all_of_them())
    assert budget.spent_tokens <= max(limit, price)
    assert budget.spent_tokens + price > limit, "it stops only when no further call fits"


def test_money_counts_like_tokens_and_the_sentence_says_both() -> None:
    async def spend() -> None:
        budget = Budget(tokens=1_000, money=0.05)
        for _ in range(10):
            await budget.reserve()
            budget.settle(Usage(input_tokens=10, cost=0.02))

    with pytest.raises(BudgetReached, match=r"20 of 1,000 tokens and \$0.0400 of \$0.0500 spent"):
        asyncio.run(spend())


def test_without_a_limit_nothing_waits() -> None:
    async def spend() -> int:
        budget = Budget()
        for _ in range(100):
            await budget.reserve()
        return 100

    assert asyncio.run(spend()) == 100
