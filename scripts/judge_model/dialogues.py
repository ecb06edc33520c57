"""Pairs made from templates of talk: chats, calls and meetings as evidence, what a summary says of them as the claim.

Each exchange has lines that say a fact in the first person and claims that say it in the third. A claim with another
speaker, another value or a negation is refuted.
"""

import random
from collections.abc import Iterator

from scripts.judge_model.templates import MONTHS, PLACES, REFUTED, SUPPORTED, UNKNOWN

SPEAKERS = """Anna|Ben|Carla|Dev|Elena|Frank|Grace|Hugo|Iris|Jonas|Kim|Leo|Maya|Nico|Olga|Priya|Rob|Sara|Tim|Vera|Agent|
Client|Customer|Project Manager|Designer|Marketing|Engineer|Analyst|Moderator|Operator|CEO|CFO""".replace(
    "\n", ""
).split("|")
TOPICS = """the budget|the invoice|the release|the trip|the party|the presentation|the new office|the contract|the concert|
the exam|the car|the flat|the dinner|the report|the website|the delivery""".replace("\n", "").split("|")
MEASURES = """revenue|net income|operating income|gross margin|free cash flow|adjusted EBITDA|
operating expenses|earnings per share|total sales|organic growth|capital expenditure|backlog""".replace("\n", "").split(
    "|"
)
FILLERS = """Okay.|Right, thanks.|Yeah, I see.|Sounds good!|Hmm, let me think.|Could you repeat that?|Great, thank you.|haha|
Sure thing|I'm not sure.|Let's move on.|Thank you, operator.
|That makes sense.|No problem :)""".replace("\n", "").split("|")
Exchange = tuple[tuple[str, ...], tuple[str, ...], tuple[str, ...]]
EXCHANGES: tuple[Exchange, ...] = (
    (
        ("{a}: I'll be there at {time}.", "{b}: When will you come?\n{a}: at {time}"),
        ("{a} will arrive at {time}.", "{a} tells {b} to expect them at {time}.", "{a} is coming at {time}."),
        ("{a} will arrive at {time2}.", "{b} will arrive at {time}.", "{a} will not arrive at {time}."),
    ),
    (
        ("{a}: I can't make it on {day}.\n{b}: {day2} then?\n{a}: {day2} works.",),
        ("{a} and {b} agree on {day2}.", "{a} is not free on {day}.", "{a} can meet on {day2}."),
        ("{a} and {b} agree on {day}.", "{b} is not free on {day}.", "{a} is free on {day} but not on {day2}."),
    ),
    (
        ("{a}: did you finish {topic}?\n{b}: not yet, I need until {day}",),
        ("{b} has not finished {topic} yet.", "{b} needs until {day} for {topic}."),
        ("{b} has finished {topic}.", "{a} needs until {day} for {topic}.", "{b} needs until {day2} for {topic}."),
    ),
    (
        ("{a}: I think {topic} is too expensive.\n{b}: I don't agree, it's worth it.",),
        ("{a} finds {topic} too expensive, but {b} disagrees.", "{b} thinks {topic} is worth its price."),
        ("{b} finds {topic} too expensive, but {a} disagrees.", "{a} and {b} agree that {topic} is too expensive."),
    ),
    (
        ("{a}: Can you bring {n} chairs?\n{b}: Sure, I'll bring them.",),
        ("{b} will bring {n} chairs.", "{a} asks {b} to bring {n} chairs.", "{b} agrees to bring chairs for {a}."),
        ("{a} will bring {n} chairs.", "{b} will bring {n2} chairs.", "{b} refuses to bring chairs."),
    ),
    (
        ("{a}: I moved to {place} in {month}.", "{b}: where do you live now?\n{a}: {place}, since {month}"),
        ("{a} has lived in {place} since {month}.", "{a} told {b} about living in {place}."),
        ("{a} has lived in {place2} since {month}.", "{b} has lived in {place} since {month}."),
    ),
    (
        ("{a}: We decided to postpone {topic} until {month}.", "{a}: {topic} is moved to {month}, it is not ready."),
        ("{a} says that {topic} is postponed until {month}.", "The date of {topic} was moved to {month}."),
        ("{a} says that {topic} is postponed until {month2}.", "{a} says that {topic} will not be postponed."),
    ),
    (
        (
            "{a}: Our plan costs ${n} a month, with {p}% off for new customers.\n{b}: And existing ones?\n{a}: No discount.",
        ),
        (
            "{a} offers {b} a plan for ${n} a month.",
            "New customers get a {p}% discount.",
            "Existing customers get no discount.",
        ),
        (
            "{a} offers {b} a plan for ${n2} a month.",
            "New customers get a {p2}% discount.",
            "Existing customers get a {p}% discount.",
        ),
    ),
    (
        (
            "{a}: {Measure} was ${n} million, up {p}% from last year.",
            "{a}: We delivered {measure} of ${n} million, an increase of {p}% year over year.",
        ),
        (
            "{Measure} rose {p}% to ${n} million.",
            "{Measure} came in at ${n} million.",
            "{Measure} grew by {p}% from a year ago.",
        ),
        (
            "{Measure} fell {p}% to ${n} million.",
            "{Measure} came in at ${n2} million.",
            "{Measure2} grew by {p}% from a year ago.",
        ),
    ),
    (
        (
            "{a}: For the full year we now expect {measure} between ${n} and ${n3} million, down from our earlier guidance.",
        ),
        (
            "The company lowered its full-year outlook for {measure}.",
            "The company expects {measure} of ${n} to ${n3} million.",
        ),
        (
            "The company raised its full-year outlook for {measure}.",
            "The company expects {measure2} of ${n} to ${n3} million.",
        ),
    ),
    (
        ("{a}: {Measure} declined {p}% due to lower volumes, partly offset by price increases.",),
        ("{Measure} fell {p}% because volumes were lower.", "Price increases offset part of the decline in {measure}."),
        (
            "{Measure} rose {p}% because volumes were lower.",
            "{Measure} fell {p}% because prices were lower.",
            "Lower volumes drove {measure} up.",
        ),
    ),
    (
        ("{a}: ¿Puedes venir el {dia}?\n{b}: No, mejor el {dia2}.",),
        ("{b} prefiere el {dia2}.", "{b} no puede venir el {dia}."),
        ("{b} prefiere el {dia}.", "{b} puede venir el {dia}.", "{a} no puede venir el {dia}."),
    ),
)
DAYS = ("Monday", "Tuesday", "Wednesday", "Thursday", "Friday", "Saturday", "Sunday")
DIAS = ("lunes", "martes", "miércoles", "jueves", "viernes", "sábado", "domingo")


def talks(count: int, seed: int) -> Iterator[tuple[str, str, int]]:
    """Pairs of talk and claim with their labels."""
    rng = random.Random(seed)
    for _ in range(count):
        values = _values(rng)
        lines, right, wrong = rng.choice(EXCHANGES)
        others = [_other_line(values, rng) for _ in range(rng.randrange(0, 6))]
        others.insert(rng.randrange(len(others) + 1), rng.choice(lines).format(**values))
        premise = rng.choice(("\n", " ")).join(others)
        draw = rng.random()
        if draw < 0.42:
            yield premise, rng.choice(right).format(**values), SUPPORTED
        elif draw < 0.86:
            yield premise, rng.choice(wrong).format(**values), REFUTED
        else:
            stranger = _values(rng)
            other = [exchange for exchange in EXCHANGES if exchange[1] is not right]
            yield premise, rng.choice(rng.choice(other)[1]).format(**stranger), UNKNOWN


def reported(premise: str, claim: str, label: int, rng: random.Random) -> tuple[str, str, int]:
    """A passage as something a speaker says, and the claim as a report of it."""
    one, other = rng.sample(SPEAKERS, 2)
    around = [_other_line({"a": one, "b": other}, rng) for _ in range(rng.randrange(0, 4))]
    around.insert(rng.randrange(len(around) + 1), f"{one}: {premise}")
    said = claim[0].lower() + claim[1:] if claim[1:2].islower() and not claim.startswith("I ") else claim
    lead = rng.choice((f"{one} said that ", f"{one} mentions that ", f"According to {one}, ", "", ""))
    return rng.choice(("\n", " ")).join(around), (lead + said if lead else claim), label


def _other_line(values: dict[str, str], rng: random.Random) -> str:
    return f"{rng.choice((values['a'], values['b']))}: {rng.choice(FILLERS)}"


def _values(rng: random.Random) -> dict[str, str]:
    found: dict[str, str] = {}
    ready: dict[str, tuple[str, ...] | list[str]] = {
        "day": DAYS,
        "dia": DIAS,
        "place": PLACES,
        "month": MONTHS,
        "topic": TOPICS,
        "measure": MEASURES,
    }
    for name, choices in ready.items():
        found[name], found[f"{name}2"] = rng.sample(list(choices), 2)
    found["a"], found["b"] = rng.sample(SPEAKERS, 2)
    found["Measure"], found["Measure2"] = found["measure"].capitalize(), found["measure2"].capitalize()
    hours = rng.sample(range(1, 12), 2)
    found["time"], found["time2"] = (f"{hour}{rng.choice((' pm', ':30', ' am', ' o’clock'))}" for hour in hours)
    found["n"], found["n2"] = map(str, rng.sample(range(2, 900), 2))
    found["n3"] = str(int(found["n"]) + rng.randrange(1, 60))
    found["p"], found["p2"] = map(str, rng.sample(range(2, 60), 2))
    return found
