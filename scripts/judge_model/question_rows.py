"""Make training rows for the heads of correctness and relevance from public questions with known answers, and by rule.

Correctness: question, reference, answer. Relevance: question, statement. A label is 1, 0, or -1 for the teacher to give.
Sources: OpenTriviaQA (CC-BY-SA), SelQA (Apache-2.0), XQuAD and SQuAD-es (CC-BY-SA, CC-BY), WebQuestions (CC-BY),
self-instruct's tasks written by people (Apache-2.0), SummEdits (Apache-2.0).
"""

import json
import random
import re
from collections import defaultdict
from collections.abc import Iterator
from pathlib import Path
from typing import Any

from scripts.judge_model import changes
from scripts.judge_model.everyday import EVERYDAY
from scripts.judge_model.remark_rows import Fact, roughen

Row = dict[str, Any]
SENTENCE = re.compile(r"(?<=[.!?])\s+(?=[A-Z¿¡\"'(])|\n+")
WRAPS = {
    "en": """{a}|{a}|{a}.|It's {a}.|It is {a}.|The answer is {a}.|I think it's {a}.|That would be {a}.|{a}, I believe.
The correct answer is {a}.
Answer: {a}|{a} is the answer.|**{a}**|Sure! The answer is {a}.|If I remember correctly, it's {a}.
It was {a}, as far as I know.|{a}. Hope that helps!
That's {a}.|You're asking about {a}.|Most sources say {a}.|In short: {a}.|Great question! It's {a}.""",
    "es": """{a}|{a}|{a}.|Es {a}.|La respuesta es {a}.|Creo que es {a}.|Sería {a}.|{a}, creo.
La respuesta correcta es {a}.|Respuesta: {a}
{a} es la respuesta.|**{a}**|¡Claro! La respuesta es {a}.|Si no recuerdo mal, es {a}.|Se trata de {a}.
{a}. ¡Espero que ayude!|En resumen: {a}.""",
}
RIGHT_BOTH = {
    "en": """It's {a}, not {w}.|It isn't {w}; it's {a}.|Many say {w}, but it is {a}.|{a} (not {w})
I first thought of {w}, but the answer is {a}.""",
    "es": """Es {a}, no {w}.|No es {w}; es {a}.|Muchos dicen {w}, pero es {a}.|{a} (no {w})
Primero pensé en {w}, pero la respuesta es {a}.""",
}
WRONG_BOTH = {
    "en": """It's {w}, not {a}.|It isn't {a}; it's {w}.|Many say {a}, but it is {w}.|Either {a} or {w}.|{w} (not {a})
Not {a}.|Anything but {a}.|It could be {a}, {w} or {v}.""",
    "es": """Es {w}, no {a}.|No es {a}; es {w}.|Muchos dicen {a}, pero es {w}.|O {a} o {w}.|{w} (no {a})|No es {a}.
Puede ser {a}, {w} o {v}.""",
}
EMPTY = {
    "en": """I don't know.|I'm not sure.|I'm sorry, I cannot help with that.|As an AI, I don't have that information.
The text does not say.|Good question!
There is no information about that.|Could you rephrase the question?|It depends.|Let me check and get back to you.
That's an interesting topic.|I can't answer that.""",
    "es": """No lo sé.|No estoy seguro.|Lo siento, no puedo ayudar con eso.|No tengo esa información.
El texto no lo dice.|¡Buena pregunta!|Depende.
No hay información sobre eso.|¿Puedes reformular la pregunta?|Déjame comprobarlo.|Es un tema interesante.
No puedo responder a eso.""",
}
# What acts, what is acted on; active and passive wordings of the same event, in one language each.
ROLES = """{x} acquired {y}.|{y} was acquired by {x}.|{x} bought {y}.|{y} was bought by {x}.
{x} defeated {y}.|{y} was defeated by {x}.|{y} lost to {x}.|{x} beat {y}.
{x} hired {y}.|{y} was hired by {x}.|{y} got a job from {x}.
{x} sued {y}.|{y} was sued by {x}.|{x} took {y} to court.
{x} is older than {y}.|{y} is younger than {x}.|{y} was born after {x}.
{x} taught {y}.|{y} was a student of {x}.|{y} was taught by {x}.
{x} is the parent company of {y}.|{y} belongs to {x}.|{y} is a subsidiary of {x}.
{x} comes before {y}.|{y} comes after {x}.|{y} follows {x}.
{x} depends on {y}.|{y} is required by {x}.|{x} needs {y}.
{x} lent money to {y}.|{y} borrowed money from {x}.|{y} owes {x} money.
{x} is larger than {y}.|{y} is smaller than {x}.|{x} exceeds {y} in size.
{x} sends data to {y}.|{y} receives data from {x}.
{x} replaced {y}.|{y} was replaced by {x}.|{x} took over from {y}.
{x} compró {y}.|{y} fue comprada por {x}.|{x} adquirió {y}.
{x} derrotó a {y}.|{y} perdió contra {x}.|{y} fue derrotado por {x}.|{x} ganó a {y}.
{x} contrató a {y}.|{y} fue contratado por {x}.
{x} demandó a {y}.|{y} fue demandado por {x}.|{x} llevó a juicio a {y}.
{x} es mayor que {y}.|{y} es menor que {x}.|{y} nació después que {x}.
{x} va antes que {y}.|{y} va después de {x}.
{x} depende de {y}.|{y} es necesario para {x}.|{x} necesita {y}.
{x} prestó dinero a {y}.|{y} pidió dinero prestado a {x}.|{y} le debe dinero a {x}.
{x} envía datos a {y}.|{y} recibe datos de {x}.
{x} sustituyó a {y}.|{y} fue sustituido por {x}."""
STEPS = {
    "en": """open the settings|restart the router|save the file|log out|install the update|press the button
unplug the cable|enter the code|wash your hands|peel the onion
heat the oil|add the salt|boil the water|drain the pasta|export the data|delete the old key|create a backup|run the tests
merge the branch|sign the form|pay the fee
turn off the power|remove the cover|clean the filter|download the app|scan the code|call the bank|fill in your name
commit the change|stop the server|warm up the engine""",
    "es": """abre los ajustes|reinicia el router|guarda el archivo|cierra la sesión|instala la actualización
pulsa el botón|desconecta el cable|introduce el código|lávate las manos
pela la cebolla|calienta el aceite|añade la sal|hierve el agua|escurre la pasta|exporta los datos|borra la clave antigua
haz una copia|ejecuta las pruebas|firma el formulario|paga la tasa
apaga la corriente|quita la tapa|limpia el filtro|descarga la aplicación|escanea el código|llama al banco
escribe tu nombre|para el servidor""",
}
ORDERS = {
    "en": """First {x}, then {y}.|{X} and then {y}.|{X} before you {y}.|Before you {y}, {x}.|After you {x}, {y}.
{Y} after you {x}.|1. {X}. 2. {Y}.|Start: {x}. Next: {y}.
You need to {x} first; only then {y}.|Once you {x}, {y}.|Step one: {x}. Step two: {y}.|{X}, and {y} afterwards.
{Y}, but {x} first.""",
    "es": """Primero {x}, luego {y}.|{X} y después {y}.|1. {X}. 2. {Y}.|Paso uno: {x}. Paso dos: {y}.
{X}; solo entonces {y}.|{Y}, pero antes {x}.|Para empezar, {x}; a continuación, {y}.
{X} y acto seguido {y}.""",
}
NAMES = """Ana|Luis|Marta|John|Emily|Peter|Sofia|Kenji|Laura|Omar|Ingrid|Pablo|Nina|Tom|Clara|David|Rosa|Ivan|Adobe|Figma
Google|Fitbit|Nokia|Siemens|Volvo|Geely|Arsenal|Chelsea|Boca|River
Spain|Italy|Brazil|Peru|the parser|the server|Mr Lee|Dr Ruiz|Microsoft|GitHub|Oracle|Sun|Tata|Jaguar|the client|the queue
IBM|Red Hat|Salesforce|Slack|Disney|Pixar|Nadal|Federer""".replace("\n", "|").split("|")


def _pick(text: str, rng: random.Random) -> str:
    return rng.choice([part for part in text.replace("\n", "|").split("|") if part])


def row(task: str, texts: list[str], label: float, lang: str = "en", source: str = "") -> Row:
    return {"task": task, "texts": texts, "label": label, "lang": lang, "source": source}


def trivia(data: Path) -> list[tuple[str, str, list[str], str]]:
    """Question, right answer, wrong answers, category."""
    found = []
    for path in sorted((data / "uberspot+OpenTriviaQA/categories").iterdir()):
        for block in path.read_text("utf-8", "replace").split("#Q ")[1:]:
            lines = [line.strip() for line in block.splitlines() if line.strip()]
            marked = next((n for n, line in enumerate(lines) if line.startswith("^ ")), 0)
            question, right = " ".join(lines[:marked]), lines[marked][2:] if marked else ""
            wrong = [line[2:] for line in lines[marked + 1 :] if re.match(r"[A-D] ", line) and line[2:] != right]
            if (
                marked
                and wrong
                and right
                and len(question) < 250
                and not right.lower().startswith(("all of", "none of"))
            ):
                found.append((question, right, wrong, path.name))
    return found


def squads(data: Path) -> Iterator[tuple[str, str, str, str, list[str]]]:
    """Language, question, answer, paragraph, its other answers; the English and Spanish texts of XQuAD, and SQuAD-es."""
    paths = (
        ("en", data / "google-deepmind+xquad/xquad.en.json"),
        ("es", data / "google-deepmind+xquad/xquad.es.json"),
        ("es", data / "ccasimiro88+TranslateAlignRetrieve/SQuAD-es-v1.1/dev-v1.1-es_small.json"),
    )
    for lang, path in paths:
        for article in json.loads(path.read_text())["data"]:
            for paragraph in article["paragraphs"]:
                asked = [(qa["question"], qa["answers"][0]["text"]) for qa in paragraph["qas"] if qa["answers"]]
                asked = [(question, answer.strip(" .,")) for question, answer in asked if answer.strip()]
                for question, answer in asked:
                    others = [one for _, one in asked if one not in answer and answer not in one]
                    yield lang, question, answer, paragraph["context"], others


def facts(data: Path, seed: int) -> list[Fact]:
    rng = random.Random(seed)
    made: list[Fact] = [("en", question, right, rng.choice(wrong)) for question, right, wrong, _ in trivia(data)]
    made += [(lang, q, a, rng.choice(others)) for lang, q, a, _, others in squads(data) if others and len(a) < 60]
    return made


def of_answers(lang: str, question: str, right: str, wrong: list[str], rng: random.Random) -> Iterator[Row]:
    """Answers to one question, right and wrong, bare and in sentences, against the bare reference or a sentence with it."""
    w, v = rng.choice(wrong), rng.choice(wrong)
    fill = {"a": right, "w": w, "v": v}
    reference = right if rng.random() < 0.6 else _pick(WRAPS[lang], rng).format(a=right)
    asked = question if rng.random() < 0.85 else ""
    give = [
        (_pick(WRAPS[lang], rng).format(a=_respell(right, rng)), 1.0),
        (_pick(WRAPS[lang], rng).format(a=w), 0.0),
    ]
    draw = rng.random()
    if draw < 0.25:
        give.append((_pick(RIGHT_BOTH[lang], rng).format(**fill), 1.0))
    elif draw < 0.55:
        give.append((_pick(WRONG_BOTH[lang], rng).format(**fill), 0.0))
    elif draw < 0.65:
        give.append((_pick(EMPTY[lang], rng), 0.0))
    elif draw < 0.72:
        give.append((question, 0.0))
    elif draw < 0.8 and (changed := changes.number(right, rng)):
        give.append((_pick(WRAPS[lang], rng).format(a=changed), 0.0))
    elif draw < 0.9 and re.fullmatch(r"[A-Z]\w+(?: [A-Z]\w+)+", right):
        give.append((_pick(WRAPS[lang], rng).format(a=right.split()[-1]), 0.9))
    for answer, label in give:
        if label and answer.strip(" .*") == reference.strip(" .*"):
            continue
        yield row("correct", [asked, reference, answer], label, lang, "answers")


def _respell(text: str, rng: random.Random) -> str:
    if rng.random() < 0.25:
        text = re.sub(r"^(?:the|a|an|el|la|los|las|un|una) ", "", text, flags=re.I)
    return roughen(text, rng).rstrip("!.: (") if rng.random() < 0.3 else text


def of_roles(count: int, seed: int) -> Iterator[Row]:
    """Who did it to whom: other wordings of one event are right, the same wording with both exchanged is wrong."""
    rng = random.Random(seed)
    groups = [line.split("|") for line in ROLES.splitlines()]
    spanish = next(number for number, group in enumerate(groups) if "compró" in group[0])
    for _ in range(count):
        number = rng.randrange(len(groups))
        wordings, lang = groups[number], "es" if number >= spanish else "en"
        x, y = rng.sample(NAMES, 2)
        one, other = rng.choice(wordings), rng.choice(wordings)
        reference = one.format(x=x, y=y)
        label = float(rng.random() < 0.5)
        answer = other.format(x=x, y=y) if label else other.format(x=y, y=x)
        if label and rng.random() < 0.1:
            answer, label = other.format(x=x, y=rng.choice([name for name in NAMES if name not in (x, y)])), 0.0
        reference, answer = (text[0].upper() + text[1:] for text in (reference, answer))
        question = {"en": f"What happened between {y} and {x}?", "es": f"¿Qué pasó entre {y} y {x}?"}[lang]
        if answer != reference:
            yield row("correct", [question if rng.random() < 0.4 else "", reference, answer], label, lang, "roles")
            yield row("support", [reference, answer], 0 if label else 2, lang, "roles")


def of_steps(count: int, seed: int) -> Iterator[Row]:
    """Two or three steps in order: other wordings of the same order are right, the reverse is wrong."""
    rng = random.Random(seed)
    for _ in range(count):
        lang = rng.choice(("en", "en", "es"))
        x, y, z = rng.sample([part for part in STEPS[lang].replace("\n", "|").split("|") if part], 3)
        reference, label = _order(lang, x, y, rng), float(rng.random() < 0.5)
        draw = rng.random()
        if label:
            answer = _order(lang, x, y, rng)
        elif draw < 0.6:
            answer = _order(lang, y, x, rng)
        else:
            answer = _order(lang, *((x, z) if draw < 0.8 else (z, y)), rng)
        if answer != reference:
            question = {"en": f"How do I {y}?", "es": "¿Qué hago y en qué orden?"}[lang] if rng.random() < 0.4 else ""
            yield row("correct", [question, reference, answer], label, lang, "steps")


def _order(lang: str, x: str, y: str, rng: random.Random) -> str:
    return _pick(ORDERS[lang], rng).format(x=x, y=y, X=x[0].upper() + x[1:], Y=y[0].upper() + y[1:])


def of_sentences(sentences: list[str], table: changes.Table, count: int, seed: int) -> Iterator[Row]:
    """A sentence as reference; changed in one way as the answer. Where the change may keep the meaning, the teacher decides."""
    rng = random.Random(seed)
    sure = {**changes.TURNING, "swap": changes.swap_names}
    for _ in range(count):
        text = rng.choice(sentences)
        draw = rng.random()
        if draw < 0.4:
            changed, label = sure[rng.choice(list(sure))](text, rng), 0.0
        elif draw < 0.5:
            lead = rng.choice(("Yes, ", "Sure! ", "In short, ", "As far as I know, ", "", "The answer: "))
            changed, label = lead + text, 1.0
        elif draw < 0.75:
            changed, label = text, -1.0
            for _ in range(rng.choice((1, 2, 2, 3, 4))):
                changed = (
                    changes.substitute(changed, table, rng.choice(("same", "same", "same", "other")), rng) or changed
                )
        elif draw < 0.85:
            changed, label = changes.clause(text, rng) or changes.drop_words(text, rng), -1.0
        else:
            changed, label = rng.choice(sentences), 0.0
        if changed and changed != text:
            pair = (text, changed) if label == 0 or rng.random() < 0.6 else (changed, text)
            yield row("correct", ["", *pair], label, "en", "sentences")


def of_edits(rows: list[dict[str, Any]]) -> Iterator[Row]:
    """Edited sentences of SummEdits against the originals: right where the edit kept the meaning."""
    for each in rows:
        if each["source"].startswith("edits") and each["label"] in (0, 3) and len(each["premise"]) < 900:
            yield row("correct", ["", each["premise"], each["claim"]], float(each["label"] == 0), "en", "edits")


def of_selection(data: Path, rng: random.Random) -> Iterator[Row]:
    """SelQA: the sentence of a section that answers, and its neighbours, which are on the topic and do not."""
    for split in ("dev", "test"):
        for item in json.loads((data / f"emorynlp+selqa/ass/selqa-ass-{split}.json").read_text()):
            right = set(item["answers"])
            for number, text in enumerate(item["candidates"][:10]):
                yield row("relevant", [item["question"], text], float(number in right), "en", "selqa")
            wrong = [text for number, text in enumerate(item["candidates"]) if number not in right]
            for number in sorted(right)[:1]:
                if wrong and number < len(item["candidates"]):
                    pair = [item["question"], item["candidates"][number]]
                    yield row("correct", [*pair, rng.choice(wrong)], 0.0, "en", "selqa")


def of_paragraphs(data: Path, rng: random.Random) -> Iterator[Row]:
    """The sentence of a paragraph that has the answer is relevant, its neighbours are not; bare answers of its kind are."""
    for lang, question, answer, context, others in squads(data):
        parts = [part for part in SENTENCE.split(context) if len(part.split()) > 3]
        for part in rng.sample(parts, min(3, len(parts))):
            yield row("relevant", [question, part], float(answer in part), lang, "squad")
        having = [part for part in parts if answer in part]
        if having:
            yield row("relevant", [question, rng.choice(having)], 1.0, lang, "squad")
            yield row("correct", [question, answer, rng.choice(having)], 1.0, lang, "squad")
            lacking = [part for part in parts if answer not in part]
            if lacking:
                yield row("correct", [question, answer, rng.choice(lacking)], 0.0, lang, "squad")
        yield row("relevant", [question, _pick(WRAPS[lang], rng).format(a=answer)], 1.0, lang, "squad")
        if rng.random() < 0.3:
            yield row("relevant", [question, _pick(EMPTY[lang], rng)], 0.0, lang, "squad")
        if others:
            yield from of_answers(lang, question, answer, others, rng)


def of_everyday(rng: random.Random) -> Iterator[Row]:
    """Everyday questions; statements of other questions of the same beginning are not about them."""
    for _ in range(12):
        for asked, *answers in EVERYDAY:
            lang = "es" if "¿" in asked else "en"
            yield row("relevant", [roughen(asked, rng), rng.choice(answers)], 1.0, lang, "everyday")
            other = rng.choice([one for one in EVERYDAY if one[0] != asked and ("¿" in one[0]) == ("¿" in asked)])
            yield row("relevant", [roughen(asked, rng), rng.choice(other[1:])], 0.0, lang, "everyday")


def of_assistants(data: Path, rng: random.Random) -> Iterator[Row]:
    """Sentences of assistants' answers: relevant to their own question; those of the nearest other question are not."""
    pairs = assistants(data)
    rare: dict[str, list[int]] = defaultdict(list)
    for number, (question, _) in enumerate(pairs):
        for word in set(re.findall(r"[a-z]{5,}", question.lower())):
            rare[word].append(number)
    for number, (question, answer) in enumerate(pairs):
        own = [part for part in SENTENCE.split(answer) if 3 < len(part.split()) < 40]
        near = [n for word in set(re.findall(r"[a-z]{5,}", question.lower())) for n in rare[word] if n != number]
        for part in rng.sample(own, min(2, len(own))):
            yield row("relevant", [question[:400], part], 1.0 if part is own[0] else -1.0, "en", "assistant")
        for _ in range(2):
            other = pairs[rng.choice(near)] if near and rng.random() < 0.6 else rng.choice(pairs)
            parts = [part for part in SENTENCE.split(other[1]) if 3 < len(part.split()) < 40]
            if parts and other[0] != question:
                yield row("relevant", [question[:400], rng.choice(parts)], 0.0, "en", "assistant")


def assistants(data: Path) -> list[tuple[str, str]]:
    """Tasks that people wrote for assistants, with their answers."""
    pairs = []
    for name in ("data/seed_tasks.jsonl", "human_eval/user_oriented_instructions.jsonl"):
        for item in map(json.loads, (data / "yizhongw+self-instruct" / name).read_text("utf-8").splitlines()):
            given = item["instances"][0]
            pairs.append((f"{item['instruction']} {given['input']}".strip(), given["output"]))
    return pairs


def of_trivia(data: Path, rng: random.Random) -> Iterator[Row]:
    items = trivia(data)
    by_kind: dict[str, list[int]] = defaultdict(list)
    for number, item in enumerate(items):
        by_kind[item[3]].append(number)
    for question, right, wrong, kind in items:
        yield from of_answers("en", question, right, wrong, rng)
        draw = rng.random()
        if draw < 0.25:
            yield row(
                "relevant",
                [question, _pick(WRAPS["en"], rng).format(a=rng.choice([right, *wrong]))],
                1.0,
                "en",
                "trivia",
            )
        elif draw < 0.6:
            other = items[rng.choice(by_kind[kind])]
            yield row("relevant", [question, _pick(WRAPS["en"], rng).format(a=other[1])], -1.0, "en", "trivia")
            yield row("relevant", [question, other[0]], 0.0, "en", "trivia")
        elif draw < 0.65:
            yield row("relevant", [question, _pick(EMPTY["en"], rng)], 0.0, "en", "trivia")


def web_questions(data: Path, rng: random.Random) -> Iterator[Row]:
    items = []
    for name in ("trainmodel", "val", "devtest", "test"):
        path = data / f"brmson+dataset-factoid-webquestions/main/{name}.json"
        if path.exists():
            items += [(item["qText"], item["answers"]) for item in json.loads(path.read_text())]
    items = [(question, [a for a in answers if "http" not in a]) for question, answers in items]
    items = [(question, answers) for question, answers in items if answers and answers[0]]
    for question, answers in items:
        begins = question.split()[0]
        others = [one for other, (one, *_) in rng.sample(items, 60) if other.startswith(begins) and one not in answers]
        if others:
            yield from of_answers("en", question, rng.choice(answers), others, rng)
