"""Pairs made from templates, in English and Spanish: paraphrase, negation, numbers, units, dates, code, short answers.

Each fact has several wordings; two wordings of one fact support each other, a fact with another value refutes, another
fact says nothing. So the model meets Spanish, code and bare answers, which no public set here has.
"""

import random
from collections.abc import Iterator

SUPPORTED, UNKNOWN, REFUTED = 0, 1, 2

NAMES = """Ana García|Luis Ortega|Marta Ruiz|John Carter|Emily Stone|Peter Novak|Sofia Rossi|Kenji Mori|Laura Díaz|
Omar Haddad|Ingrid Olsen|Pablo Vega|Nina Patel|Tom Becker|Clara Moreau|David Lee|Rosa Campos|Ivan Petrov""".replace(
    "\n", ""
).split("|")
PLACES = """Madrid|Lisbon|Berlin|Toronto|Valencia|Osaka|Bogotá|Lima|Sevilla|Chicago|Nairobi|Oslo|Quito|Paris|Bilbao|
Vienna|Prague|Monterrey|Dublin|Zaragoza""".replace("\n", "").split("|")
THINGS = """cache|queue|server|database|index|parser|worker|gateway|scheduler|logger|client|backup|plugin|token|session|
report|migration|bucket|router|lock""".replace("\n", "").split("|")
COSAS = """caché|cola|servidor|base de datos|índice|analizador|informe|cliente|copia de seguridad|sesión|contrato|pedido|
factura|cuenta|aplicación|pago|suscripción|envío|reunión|tienda""".replace("\n", "").split("|")
_MESES = "enero febrero marzo abril mayo junio julio agosto septiembre octubre noviembre diciembre"
MESES = _MESES.split()
_MONTHS = "January February March April May June July August September October November December"
MONTHS = _MONTHS.split()
COLOURS = ("red", "blue", "green", "black", "white", "yellow")
COLORES = ("rojo", "azul", "verde", "negro", "blanco", "amarillo")

# wordings of one fact; {a} is whom it is about, {v} the value that may be exchanged for another
FACTS: tuple[tuple[str, str, tuple[str, ...]], ...] = (
    (
        "name",
        "place",
        ("{a} was born in {v}.", "{v} is where {a} was born.", "{a} is a native of {v}.", "{a}'s birthplace is {v}."),
    ),
    ("name", "place", ("{a} nació en {v}.", "{v} es la ciudad natal de {a}.", "El lugar de nacimiento de {a} es {v}.")),
    ("name", "place", ("{a} vive en {v}.", "{a} reside en {v}.", "La residencia de {a} está en {v}.")),
    ("name", "place", ("{a} lives in {v}.", "{a} resides in {v}.", "{v} is home to {a}.")),
    ("name", "year", ("{a} joined in {v}.", "{a} became a member in {v}.", "In {v}, {a} joined.")),
    ("name", "year", ("{a} se incorporó en {v}.", "{a} entró en {v}.", "En {v} se incorporó {a}.")),
    (
        "thing",
        "count",
        ("The {a} has {v} entries.", "There are {v} entries in the {a}.", "The {a} contains {v} entries."),
    ),
    (
        "thing",
        "count",
        ("The {a} retries {v} times.", "The {a} makes {v} retries.", "Up to {v} retries are made by the {a}."),
    ),
    (
        "thing",
        "seconds",
        ("The {a} times out after {v}.", "The timeout of the {a} is {v}.", "After {v} the {a} gives up."),
    ),
    ("thing", "flag", ("The {a} is {v}.", "The {a} is {v} by default.", "By default, the {a} is {v}.")),
    (
        "thing",
        "month",
        ("The {a} was released in {v}.", "{v} saw the release of the {a}.", "The release of the {a} was in {v}."),
    ),
    ("thing", "colour", ("The {a} is shown in {v}.", "{v} is the colour of the {a}.", "The colour of the {a} is {v}.")),
    ("cosa", "count", ("La {a} tiene {v} entradas.", "Hay {v} entradas en la {a}.", "La {a} contiene {v} entradas.")),
    (
        "cosa",
        "days",
        ("El plazo de la {a} es de {v}.", "La {a} tiene un plazo de {v}.", "Hay {v} de plazo para la {a}."),
    ),
    ("cosa", "euros", ("La {a} cuesta {v}.", "El precio de la {a} es de {v}.", "Se pagan {v} por la {a}.")),
    ("cosa", "mes", ("La {a} se publicó en {v}.", "La publicación de la {a} fue en {v}.", "En {v} se publicó la {a}.")),
    ("cosa", "color", ("La {a} es de color {v}.", "El color de la {a} es {v}.")),
    ("cosa", "estado", ("La {a} está {v}.", "Ahora la {a} está {v}.", "El estado de la {a} es: {v}.")),
    ("cosa", "modo", ("La {a} es {v}.", "La {a} resulta {v}.", "Sin duda la {a} es {v}.")),
    ("thing", "mode", ("The {a} is {v}.", "It is {v}: the {a}.", "The {a} can be called {v}.")),
    ("thing", "call", ("Use `{a}.{v}` for this.", "Call `{a}.{v}`.", "The right call is `{a}.{v}`.", "`{a}.{v}`")),
    ("thing", "code", ("return {a}{v}", "    return {a}{v}", "The code is `return {a}{v}`.", "`return {a}{v}`")),
)
NEGATING = (
    (" is ", " is not "),
    (" has ", " does not have "),
    (" was ", " was not "),
    (" lives ", " does not live "),
    (" joined", " never joined"),
    (" es ", " no es "),
    (" está ", " no está "),
    (" tiene ", " no tiene "),
    (" nació ", " no nació "),
    (" vive ", " no vive "),
    (" cuesta ", " no cuesta "),
    (" contiene ", " no contiene "),
    (" contains ", " does not contain "),
    (" se publicó", " no se publicó"),
)
QUESTIONS = {
    "place": "Where?",
    "year": "When?",
    "count": "How many?",
    "month": "In which month?",
    "mes": "¿En qué mes?",
    "euros": "¿Cuánto?",
    "days": "¿Cuánto tiempo?",
    "color": "¿De qué color?",
    "estado": "¿Cómo está?",
}
CODE = (
    "[::-1]",
    "[::1]",
    "[0]",
    "[-1]",
    "[1:]",
    "[:-1]",
    ".sort()",
    ".sorted()",
    " + 1",
    " - 1",
    " % 2 == 0",
    " % 2 == 1",
    " is None",
    " is not None",
    " == 0",
    " != 0",
    " < limit",
    " <= limit",
    " > limit",
    ".append(x)",
    ".pop()",
    ".pop(0)",
)
CALLS = (
    "open()",
    "close()",
    "read()",
    "write()",
    "append(x)",
    "extend(xs)",
    "get(key)",
    "pop(key)",
    "start()",
    "stop()",
    "min()",
    "max()",
    "keys()",
    "values()",
    "encode()",
    "decode()",
    "lower()",
    "upper()",
    "lock()",
    "unlock()",
)
FLAGS = ("enabled", "disabled", "required", "optional", "encrypted", "unencrypted", "public", "private")
MODES = (
    "thread safe",
    "unsafe",
    "immutable",
    "mutable",
    "free",
    "paid",
    "synchronous",
    "asynchronous",
    "sorted",
    "unordered",
)
ESTADOS = ("abierta", "cerrada", "activa", "inactiva", "pagada", "pendiente", "cancelada", "vacía", "llena")
MODOS = (
    "gratuita",
    "de pago",
    "obligatoria",
    "opcional",
    "segura",
    "insegura",
    "pública",
    "privada",
    "rápida",
    "lenta",
)


def pairs(count: int, seed: int) -> Iterator[tuple[str, str, int]]:
    rng = random.Random(seed)
    while count:
        subject, kind, wordings = rng.choice(FACTS)
        about, value, other = _subject(subject, rng), _value(kind, rng), _value(kind, rng)
        if value == other:
            continue
        premise = rng.choice(wordings).format(a=about, v=value)
        claim, label = _claim(premise, wordings, kind, (about, value, other, _subject(subject, rng)), rng)
        if rng.random() < 0.5:
            premise = _among_others(premise, rng)
        count -= 1
        yield premise, claim, label


def _claim(
    premise: str, wordings: tuple[str, ...], kind: str, parts: tuple[str, str, str, str], rng: random.Random
) -> tuple[str, int]:
    about, value, other, someone = parts
    wording = rng.choice(wordings)
    draw = rng.random()
    if draw < 0.36:
        return wording.format(a=about, v=value), SUPPORTED
    if draw < 0.62:
        return wording.format(a=about, v=other), REFUTED
    if draw < 0.74:
        plain = wording.format(a=about, v=value)
        negated = _negated(plain)
        return (negated, REFUTED) if negated != plain else (plain, SUPPORTED)
    if draw < 0.82:
        plain = wording.format(a=about, v=other)
        negated = _negated(plain)
        return (negated, SUPPORTED) if negated != plain else (plain, REFUTED)
    if draw < 0.9 or someone == about:
        short = f"{QUESTIONS[kind]} " if kind in QUESTIONS and rng.random() < 0.5 else ""
        right = rng.random() < 0.5
        return f"{short}{value if right else other}.", SUPPORTED if right else REFUTED
    return wording.format(a=someone, v=rng.choice((value, other))), UNKNOWN


def _negated(text: str) -> str:
    for plain, negated in NEGATING:
        if plain in text:
            return text.replace(plain, negated, 1)
    return text


def _among_others(premise: str, rng: random.Random) -> str:
    others = []
    for _ in range(rng.randrange(1, 4)):
        subject, kind, wordings = rng.choice(FACTS[:20])
        others.append(rng.choice(wordings).format(a=_subject(subject, rng), v=_value(kind, rng)))
    others.insert(rng.randrange(len(others) + 1), premise)
    return " ".join(others)


def _subject(kind: str, rng: random.Random) -> str:
    return rng.choice({"name": NAMES, "thing": THINGS, "cosa": COSAS}[kind])


def _value(kind: str, rng: random.Random) -> str:
    ready: dict[str, tuple[str, ...] | list[str]] = {
        "place": PLACES,
        "colour": COLOURS,
        "color": COLORES,
        "month": MONTHS,
        "mes": MESES,
        "flag": FLAGS,
        "mode": MODES,
        "estado": ESTADOS,
        "modo": MODOS,
        "call": CALLS,
        "code": CODE,
    }
    if kind in ready:
        return rng.choice(ready[kind])
    if kind == "year":
        return str(rng.randrange(1950, 2026))
    amount = str(rng.choice((rng.randrange(2, 20), rng.randrange(20, 500), rng.randrange(1, 90) * 100)))
    return amount + {
        "seconds": " " + rng.choice(("seconds", "minutes", "ms")),
        "days": " " + rng.choice(("días", "horas", "meses")),
        "euros": " " + rng.choice(("euros", "dólares")),
    }.get(kind, "")
