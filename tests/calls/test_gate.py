"""The gate: grows while calls succeed, halves once per burst of refusals, stays shut while told to wait."""

import asyncio

from evergold.calls.caller import Gate
from tests.patience import PATIENCE


def test_it_grows_by_one_per_success_until_the_first_refusal() -> None:
    gate = Gate(20)
    for _ in range(5):
        gate.on_success()
    assert gate.limit == 13
    for _ in range(50):
        gate.on_success()
    assert gate.limit == 20


def test_a_burst_of_refusals_halves_once_and_growth_is_slow_after_it() -> None:
    async def burst() -> Gate:
        gate = Gate(8)
        for _ in range(8):
            await gate.__aenter__()
        for _ in range(8):
            gate.on_refusal(0)
        return gate

    gate = asyncio.run(burst())
    assert gate.limit == 4.0
    for _ in range(4):
        gate.on_success()
    assert 4.8 < gate.limit < 5.1


def test_it_never_goes_below_one() -> None:
    async def refused() -> float:
        gate = Gate(4)
        for _ in range(10):
            async with gate:
                gate.on_refusal(0)
        return gate.limit

    assert asyncio.run(refused()) == 1.0


def test_nothing_passes_while_it_waits_and_everything_after() -> None:
    async def waiting() -> tuple[list[str], float]:
        gate = Gate(4)
        loop = asyncio.get_running_loop()
        began = loop.time()
        order: list[str] = []
        gate.on_refusal(0.05)
        order.append("shut")

        async def enter(name: str) -> None:
            async with gate:
                order.append(name)

        await asyncio.gather(*(enter(str(i)) for i in range(6)))
        return order, loop.time() - began

    order, seconds = asyncio.run(waiting())
    assert order[0] == "shut" and sorted(order[1:]) == list("012345")
    assert seconds >= 0.05


def test_a_cancelled_waiter_does_not_lose_its_turn_for_others() -> None:
    async def cancelled() -> bool:
        gate = Gate(1)
        await gate.__aenter__()
        first = asyncio.ensure_future(gate.__aenter__())
        second = asyncio.ensure_future(gate.__aenter__())
        await asyncio.sleep(0)
        await gate.__aexit__(None, None, None)
        first.cancel()
        await asyncio.wait([first])
        await asyncio.wait_for(second, PATIENCE)
        return first.cancelled()

    assert asyncio.run(cancelled())
