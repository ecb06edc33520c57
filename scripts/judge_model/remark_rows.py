"""Make training rows for the remark head: question, answer, message, next reply and what the message is.

Messages are made from wordings in English and Spanish, held against questions whose right and wrong answers are known;
chats of people (Schema-Guided Dialogue, Taskmaster) are the messages that are no remark. The same words are a correction
where the answer differs from what was asked for, and none where it does not: so the model has to read the context.
"""

import json
import random
import re
import unicodedata
from collections.abc import Iterator
from pathlib import Path
from typing import Any

from scripts.judge_model.remark_wordings import TASK_WORDINGS
from scripts.remark_data import LISTS, UNCLEAR, guided_chats, labels_read, remarks

KINDS = ("none", "correction", "complaint", "doubt", "repeat", "acceptance")
Row = dict[str, Any]
Fact = tuple[str, str, str, str]
"""Language, question, right answer, wrong answer."""


def _list(text: str) -> list[str]:
    return [part.strip() for part in text.replace("\n", "|").split("|") if part.strip()]


CORRECTION = {
    "en": _list("""no, it's {a}|it's {a}|{a}|{a}, not {w}|not {w}, {a}|not {w} but {a}|actually it's {a}|Actually, it is {a}.
wrong, it's {a}|That's wrong. It's {a}.|I think you mean {a}|it should be {a}|should be {a}|nope. {a}.|{a}, come on
come on, it's {a}
{w}? it's {a}!|hmm no, {a}|I looked it up and it's {a}|my book says {a}|Wikipedia says {a}|the website says {a}
um, {a}?? obviously
lol no it's {a}|the answer is {a}|Sorry, but it's {a}.|pretty sure it's {a}|It is {a}, I checked.|dude, {a}
everyone knows it's {a}
no no, {a}|I'm afraid it's {a}, not {w}.|that is {w}'s job. here it's {a}|you got it wrong: {a}|correct answer: {a}
it was {a} the last time I looked
they told me {a}|my teacher said {a}|the label says {a}|well, according to the docs it is {a}|close, but {a}
you're confusing {w} with {a}
isn't {w} something else? it's {a}|there is: {a}|no way, {a}|{a}!!|it's {a} you dummy|Nah, {a}|false, {a}
you said {w}, but it's {a}
I just called them, it's {a}|I live there, it's {a}|I was there last week and it's {a}|Not quite: it's {a}.
{a} is the right one|it's called {a}
you mean {a}, {w} is another thing|that'd be {a} actually|the real answer is {a}|has to be {a}|wait, no, {a}
it says {a} right here|{a} not {w} !!"""),
    "es": _list("""no, es {a}|es {a}|{a}|{a}, no {w}|no {w}, {a}|no es {w}, es {a}|no es {w} sino {a}|en realidad es {a}
mal, es {a}
Eso está mal. Es {a}.|querrás decir {a}|debería ser {a}|que no, que es {a}|{a}, hombre|venga ya, es {a}|¿{w}? si es {a}
mmm no, {a}
lo he buscado y es {a}|mi libro dice {a}|en Wikipedia pone {a}|en la web pone {a}|ya no we, es {a}|nel, es {a}
no manches, es {a}
la respuesta es {a}|perdona, pero es {a}|estoy segura de que es {a}|es {a}, lo acabo de mirar|tío, {a}
todo el mundo sabe que es {a}|pero si es {a}
te equivocas, es {a}|te equivocaste: {a}|la respuesta correcta es {a}|me dijeron {a}|según mi profe es {a}
casi, pero es {a}|confundes {w} con {a}
sí hay: {a}|ni hablar, {a}|¡{a}!|falso, {a}|dijiste {w}, pero es {a}|acabo de llamar y es {a}|yo vivo ahí y es {a}
no del todo: es {a}
se llama {a}|la correcta es {a}|espera, no, {a}|aquí pone {a}|boludo, es {a}|che, es {a}|eh, {a}, no {w}
eso era antes, ahora es {a}|fue {a}|era {a}"""),
}
COMPLAINT = {
    "en": _list("""that's wrong|no|nope|incorrect|that's not right|wrong answer|that's not what I asked
you didn't answer my question
this doesn't help|didn't work|it didn't work|it doesn't work|still broken|still the same error|same error
that makes no sense|are you even reading?
useless|this is ridiculous|bad answer|/undo|/undo|undo|undo that|revert|revert that|/revert|/rewind
please undo your last change|terrible
you already said that|not helpful|That is incorrect.|this is not correct|no that's not it|completely wrong|nonsense
you made that up|that doesn't exist
that link is dead|that's false|you're wrong|you misunderstood me|you didn't read my message|I didn't ask for that
not what I wanted|doesn't compile
I get a TypeError|it crashes|it throws an exception|tests still fail|now it's even worse|you broke it|this isn't working
nothing happens
that fails|that command does not exist|there is no such option|you ignored half of what I said
too long, I asked for one sentence|wrong language
you forgot the second part|that isn't even close|stop making things up|are you kidding me|what a stupid answer
this bot is useless|try again, that's bad
went there, it was closed|I did that and nothing changed|tried it, no luck|that's outdated|I can't use this
the numbers don't add up|seriously??
this has nothing to do with my question|it still says invalid|didn't help at all|that broke everything
/undo that was bad"""),
    "es": _list("""eso está mal|no|nop|incorrecto|eso no es correcto|respuesta equivocada|no es lo que pregunté
no me has contestado
esto no ayuda|no funcionó|no funciona|sigue sin funcionar|sigue igual|el mismo error|no tiene sentido|¿me estás leyendo?
inútil|esto es ridículo
mala respuesta|/undo|deshaz eso|revierte|revierte eso|no sirve|no me sirve|eso es falso|estás equivocado
no me has entendido|no pedí eso
no era eso lo que quería|no compila|me da un error|peta|se cae|los tests siguen fallando|ahora está peor|lo has roto
no pasa nada cuando lo hago
ese comando no existe|no hay tal opción|te lo has inventado|eso no existe|el enlace está roto|has ignorado la mitad
demasiado largo, pedí una frase
está en inglés...|te faltó la segunda parte|ni de cerca|deja de inventar|¿es broma?|qué respuesta más tonta
este bot no sirve para nada
fui y estaba cerrado|lo hice y nada|lo probé y nada|está desactualizado|las cuentas no salen|¿en serio??
no tiene nada que ver con lo que pregunté
sigue diciendo inválido|no me ayuda nada|qué va|eso no es verdad|mentira|la cagaste|vaya chapuza|no jala
ni madres, eso está mal|fatal"""),
}
DOUBT = {
    "en": _list("""are you sure?|really?|is that right?|hmm, I thought it was {a}|isn't it {a}?|wasn't it {a}?
{w}? really?|source?|how do you know?
can you double check?|sure about that?|wait, isn't it {a}?|I thought {a}?|hm, is it not {a}?|are you certain it is {w}?
could you check again?|that sounds odd, are you sure?
I'm not sure that's right|could it be {a}?|didn't they change it to {a}?|{w}??|where did you get that from?
is that still true?|honestly? {w}?"""),
    "es": _list("""¿estás seguro?|¿de verdad?|¿eso es correcto?|mmm, pensaba que era {a}|¿no es {a}?|¿no era {a}?
¿{w}? ¿seguro?|¿fuente?|¿cómo lo sabes?
¿puedes comprobarlo?|seguro?|espera, ¿no es {a}?|yo creía que {a}|¿estás segura de que es {w}?|¿puedes mirarlo otra vez?
qué raro, ¿seguro?
no estoy seguro de que sea así|¿no lo cambiaron a {a}?|{w}??|¿de dónde sacas eso?|¿sigue siendo así?|¿en serio {w}?"""),
}
ACCEPTANCE = {
    "en": _list("""that worked, thanks|that worked|perfect|perfect, thank you|great, that fixed it|yes exactly|exactly
correct!|you're right|works now
awesome, it works|exactly what I needed|that's what I needed, thanks|fixed, thank you so much|that did it|solved!
nice, tests pass now|yes, that's right
that's it, thanks|it works now, thank you|all good now|that is correct, thanks|spot on|brilliant, that helped
great answer, thanks|this is perfect
works like a charm|yep that was it|you nailed it|super helpful, thanks|great, got in now|done, it's working|good answer
yes! thank you, that's the one"""),
    "es": _list("""funcionó, gracias|funcionó|perfecto|perfecto, gracias|genial, arreglado|sí, exacto|exacto|¡correcto!
tienes razón|ya funciona
de lujo, funciona|justo lo que necesitaba|era eso, gracias|solucionado, mil gracias|listo, ya quedó|ya quedó, gracias
sí, eso es|eso era
ahora sí, gracias|todo bien ahora|correcto, gracias|clavado|me ayudó mucho, gracias|muy buena respuesta|va perfecto
los tests pasan|ya pude entrar, gracias
excelente, era justo eso|súper útil, gracias|¡sí! gracias, esa es|me sirvió, gracias|de diez"""),
}
NONE = {
    "en": _list("""thanks|thank you|ok|okay, thanks|great|cool|got it|I see|haha|lol|interesting|good to know|no problem
never mind|no, that's all
no thanks, that's all|that's everything, bye|ok bye|not now|no need|I'll think about it|maybe later
wow, I didn't know that|oh nice|that's a lot!
no worries|no rush|not bad|no idea, you choose|I don't know, surprise me|no way, that's amazing|no way! I was just there
no kidding|that's cheap
too expensive for me|I don't like it, show me another one|can you make it shorter?|translate it to French|now in a table
continue|go on|next
explain that again in simple words|why?|why is that?|how so?|and tomorrow?|what about the second one?|and in Europe?
can I pay by card?|how long does it take?
could you give me an example?|what does that mean?|tell me more|one more|another one please|make it more formal
add a title|thanks, can you also check the price?
I don't remember the email. My name is Karen.|I don't have the number with me|no, just one|no, I don't have an account
it's for my sister|sorry, I was away
sorry, I meant the other one|oops, wrong chat|my mistake, I typed it wrong|actually, let's change the topic
actually make it blue|hmm, let me check|I'm back
not dollars, pesos please|not this week, next week|make it 8 instead of 7|on second thought, Friday
I'd rather have the window seat|no, the other hotel|book the first one
how do I fix a wrong password?|what is wrong with my code?|is it wrong to lie?|my printer doesn't work, help
write a story about a broken robot
it doesn't rain here much|I hate Mondays|my boss says it's wrong to skip lunch|nothing works in my house today haha
I was wrong about him"""),
    "es": _list("""gracias|muchas gracias|ok|vale|vale, gracias|genial|guay|entendido|ya veo|jaja|interesante
bueno saberlo|no pasa nada|déjalo|no, eso es todo
no gracias, nada más|adiós|ahora no|no hace falta|me lo pienso|quizá luego|no lo sabía|qué bien|¡cuánto!|sin prisa
no está mal|no sé, elige tú
no puede ser, qué pasada|no me digas|qué barato|muy caro para mí|no me gusta, otro|¿puedes hacerlo más corto?
tradúcelo al francés|ahora en una tabla|continúa
sigue|siguiente|explícamelo más fácil|¿por qué?|¿y eso?|¿y mañana?|¿y el segundo?|¿y en Europa?|¿puedo pagar con tarjeta?
¿cuánto tarda?|¿me das un ejemplo?
¿qué significa?|cuéntame más|otro más|otra, por favor|hazlo más formal|ponle título|gracias, ¿y el precio?
no me acuerdo del correo. Me llamo Karen
no tengo el número aquí|no, solo uno|no, no tengo cuenta|es para mi hermana|perdona, quería decir el otro
ups, chat equivocado|me equivoqué al escribir
cambiemos de tema|mejor en azul|a ver, lo miro|ya volví|dólares no, pesos por favor|esta semana no, la próxima
ponme 8 en vez de 7|pensándolo mejor, el viernes
prefiero ventanilla|no, el otro hotel|reserva el primero|¿cómo arreglo una contraseña equivocada?
¿qué está mal en mi código?|¿está mal mentir?
mi impresora no funciona, ayuda|escribe un cuento sobre un robot roto|aquí no llueve mucho|odio los lunes
hoy nada funciona en mi casa jaja|me equivoqué con él
no manches, acabo de lavar el coche|no we, qué chido|nel, ya no hace falta"""),
}
ADMITS = {
    "en": _list("""You're right, it's {a}. I apologize for the mistake.|Sorry about that! It is {a}.
You are correct. The right answer is {a}.
My apologies, you're right.|Thanks for the correction.|I apologize for the confusion.|Good catch! It's {a}.
I'm sorry, let me fix that."""),
    "es": _list("""Tienes razón, es {a}. Perdona el error.|¡Perdón! Es {a}.|Correcto, la respuesta es {a}.
Disculpa, tienes razón.
Gracias por la corrección.|Lamento la confusión.|¡Buen ojo! Es {a}.|Lo siento, lo corrijo."""),
}
STAYS = {
    "en": _list("""I understand. Is there anything else I can help with?|As I said, it is {w}.
According to my information it is {w}.|Okay.|Noted.|Here is another try: {a}.
What would you like to know?|Sure, one moment.|Could you tell me more?|It is {a}.|Let me look at it again.
I see. What error do you get?"""),
    "es": _list("""Entiendo. ¿Puedo ayudarte en algo más?|Como dije, es {w}.|Según mis datos es {w}.|De acuerdo.|Anotado.
Otro intento: {a}.
¿Qué te gustaría saber?|Claro, un momento.|¿Me puedes decir más?|Es {a}.|Déjame mirarlo otra vez.
Ya veo. ¿Qué error te sale?"""),
}
CALM = {
    "en": _list(
        "You're welcome!|Sure, here it is.|Of course.|Glad to hear that!|Sorry to hear that. Shall I look again?|Okay, done."
        "|Here you go.|I apologize for the wait."
    ),
    "es": _list(
        "¡De nada!|Claro, aquí está.|Por supuesto.|¡Me alegro!|Lamento oír eso. ¿Busco otro?|Listo."
        "|Aquí tienes.|Disculpa la espera."
    ),
}
ASKING = {
    "en": _list("""Which {s} would you like?|What is your {s}?|Could you tell me the {s}?|Please enter your {s}.
For which {s}?|May I have your {s}, please?
Did you mean {a} or {w}?|Shall I use {w}?|Is {w} right?|I have {w}. Is that correct?|Would you like {w}?
Should I go with {w}?"""),
    "es": _list("""¿Qué {s} prefieres?|¿Cuál es tu {s}?|¿Me dices el {s}?|Introduce tu {s}, por favor.|¿Para qué {s}?
¿Me das tu {s}, por favor?
¿Quieres decir {a} o {w}?|¿Uso {w}?|¿Es correcto {w}?|Tengo {w}. ¿Es así?|¿Te va bien {w}?|¿Pongo {w}?"""),
}
WRAP = {
    "en": _list("""{w}|{w}.|It's {w}.|It is {w}.|The answer is {w}.|That would be {w}.|The correct answer is {w}.
I believe it's {w}. Anything else I can help with?
It is {w}, according to what I found.|Great question! It is {w}.|{w} is the one you are looking for."""),
    "es": _list(
        "{w}|{w}.|Es {w}.|La respuesta es {w}.|Se trata de {w}.|La respuesta correcta es {w}.|Creo que es {w}. ¿Algo más?"
        "|Según lo que encontré, es {w}.|¡Buena pregunta! Es {w}.|{w} es lo que buscas."
    ),
}
SLOTS: dict[str, dict[str, list[str]]] = {
    "en": {
        "day": _list("Monday|Tuesday|Wednesday|Thursday|Friday|Saturday|Sunday|tomorrow|next week"),
        "time": _list("at 7|at 8 pm|at 9:30|at noon|at 14:15|at 6 in the morning|after 10"),
        "number of people": _list("for 2|for 3|for 4|for 5|for six|for 8|for ten people"),
        "place": _list("in the north|in the centre|near the station|in Madrid|in Oslo|in Lima|at the airport|downtown"),
        "size": _list("in small|in medium|in large|size 38|size 40|size 42|extra large"),
        "currency": _list("in dollars|in euros|in pesos|in pounds|in yen"),
        "colour": _list("in red|in blue|in black|in green|in white"),
    },
    "es": {
        "día": _list("el lunes|el martes|el miércoles|el jueves|el viernes|el sábado|mañana|la semana que viene"),
        "hora": _list("a las 7|a las 20:00|a las 9:30|a mediodía|a las 14:15|a las 6 de la mañana|después de las 10"),
        "número de personas": _list("para 2|para 3|para 4|para 5|para seis|para 8|para diez"),
        "sitio": _list("en el norte|en el centro|cerca de la estación|en Madrid|en Quito|en Lima|en el aeropuerto"),
        "talla": _list("en pequeña|en mediana|en grande|talla 38|talla 40|talla 42"),
        "moneda": _list("en dólares|en euros|en pesos|en libras|en yenes"),
        "color": _list("en rojo|en azul|en negro|en verde|en blanco"),
    },
}
THINGS = {
    "en": _list("""a table|a taxi|a room|a haircut|a meeting|two tickets|a train|a pizza|a shirt|the price
the exchange rate|a doctor|a reminder|a flight|shoes
a rental car|the report|the invoice|a gym class|the package"""),
    "es": _list("""una mesa|un taxi|una habitación|una cita|una reunión|dos entradas|un tren|una pizza|una camisa
el precio|el tipo de cambio|un médico|un aviso
un vuelo|unos zapatos|un coche de alquiler|el informe|la factura|una clase|el paquete"""),
}
REQUEST = {
    "en": _list("I need {t} {v}|Can you get me {t} {v}?|{t} {v} please|book {t} {v}|I'd like {t} {v}|find {t} {v}"),
    "es": _list(
        "necesito {t} {v}|¿me consigues {t} {v}?|{t} {v} por favor|resérvame {t} {v}|quisiera {t} {v}|busca {t} {v}"
    ),
}
DONE = {
    "en": _list("Done: {t} {v}.|I found {t} {v}.|Your booking: {t} {v}.|OK, {t} {v}. Anything else?|Here is {t} {v}."),
    "es": _list(
        "Listo: {t} {v}.|He encontrado {t} {v}.|Tu reserva: {t} {v}.|Vale, {t} {v}. ¿Algo más?|Aquí tienes {t} {v}."
    ),
}
SAID = {
    "en": _list(
        """I said {v}|{v}, not {u}|not {u}, {v}|{v}!!|{v} I told you|no, {v}|as I said, {v}|I asked for {v}
but I need it {v}|it should be {v}|{v}|read again: {v}"""
    ),
    "es": _list(
        """dije {v}|{v}, no {u}|no {u}, {v}|¡{v}!|{v}, te lo dije|no, {v}|como dije, {v}|pedí {v}|pero lo necesito {v}
debería ser {v}|{v}|lee otra vez: {v}"""
    ),
}
CHANGES = {
    "en": _list(
        """better {v}|make it {v} instead|{v} would be better|not {u}, {v}|hmm, {v} then|can we do {v}?|actually {v}
sorry, {v}|no, {v}|and {v}?|what about {v}|{v}, not {u}"""
    ),
    "es": _list(
        """mejor {v}|cámbialo, {v}|{v} sería mejor|no {u}, {v}|mmm, entonces {v}|¿puede ser {v}?|en realidad {v}
perdona, {v}|no, {v}|¿y {v}?|qué tal {v}|{v}, no {u}"""
    ),
}


def roughen(text: str, rng: random.Random) -> str:
    """Write a message the way people type: no capitals, accents or full stops, a slip, a shout."""
    if rng.random() < 0.45:
        text = text[:1].lower() + text[1:] if rng.random() < 0.4 else text.lower()
    if rng.random() < 0.3:
        text = text.rstrip(".!")
    if rng.random() < 0.2:
        text = "".join(c for c in unicodedata.normalize("NFD", text) if unicodedata.category(c) != "Mn")
    if rng.random() < 0.1:
        text = text.replace("¿", "").replace("¡", "")
    if rng.random() < 0.06 and len(text) > 8:
        at = rng.randrange(1, len(text) - 2)
        text = text[:at] + text[at + 1] + text[at] + text[at + 2 :]
    if rng.random() < 0.05:
        text = text.upper()
    if rng.random() < 0.07:
        text += rng.choice(("!!", "...", " :(", " lol", " jaja", " pls", " tbh", "!"))
    return text


def _row(lang: str, question: str, answer: str, message: str, reply: str, kind: str) -> Row:
    texts = [question, answer, message, reply]
    return {"task": "remark", "texts": texts, "label": KINDS.index(kind), "lang": lang, "source": "made"}


def of_facts(facts: list[Fact], count: int, seed: int) -> Iterator[Row]:
    """Messages after a question of knowledge that was answered wrongly, or rightly."""
    rng = random.Random(seed)
    for _ in range(count):
        lang, question, right, wrong = rng.choice(facts)
        other = rng.choice(facts)
        kind = rng.choices(KINDS, (34, 26, 12, 8, 6, 8))[0]
        given = wrong if kind in ("correction", "complaint", "repeat") or rng.random() < 0.4 else right
        meant = right if given == wrong else wrong
        answer = _answer(lang, given, rng)
        fill = {"a": meant, "w": given, "s": ""}
        reply = _reply(lang, kind, fill, rng)
        if kind == "repeat":
            message = rng.choice(("{q}", "{q}", "{q}!!", "again: {q}", "I asked: {q}", "otra vez: {q}")).format(
                q=question
            )
        elif kind == "none":
            message, answer = _no_remark(lang, question, other, answer, fill, rng)
        else:
            lists = {"correction": CORRECTION, "complaint": COMPLAINT, "doubt": DOUBT, "acceptance": ACCEPTANCE}[kind]
            message = rng.choice(lists[lang]).format(**fill)
            if kind == "acceptance":
                answer = _answer(lang, right, rng)
            if kind == "correction" and rng.random() < 0.15:
                message += " " + rng.choice(COMPLAINT[lang][:12])
        if rng.random() < 0.15:
            question = roughen(question, rng)
        yield _row(lang, question, answer, roughen(message, rng), reply, kind)


def _answer(lang: str, given: str, rng: random.Random) -> str:
    return rng.choice(WRAP[lang]).format(w=given)


def _reply(lang: str, kind: str, fill: dict[str, str], rng: random.Random) -> str:
    if rng.random() < 0.4:
        return ""
    if kind in ("correction", "complaint"):
        return rng.choice((ADMITS if rng.random() < 0.4 else STAYS)[lang]).format(**fill)
    if kind in ("doubt", "repeat"):
        return rng.choice((ADMITS if rng.random() < 0.12 else STAYS)[lang]).format(**fill)
    return rng.choice(CALM[lang])


def _no_remark(
    lang: str, question: str, other: Fact, answer: str, fill: dict[str, str], rng: random.Random
) -> tuple[str, str]:
    """A message that judges nothing: small talk, the next question, a reply to what the answer asked."""
    draw = rng.random()
    if draw < 0.35:
        return rng.choice(NONE[lang]), answer
    if draw < 0.55 and other[0] == lang:
        return other[1], answer
    if draw < 0.8:
        asked = rng.choice(ASKING[lang]).format(**fill | {"s": rng.choice(list(SLOTS[lang]))})
        said = rng.choice(
            ("{a}", "no, {a}", "no", "{a} please", "{a}", "it's {a}", "es {a}", "{w}", "no {w}, {a}", "mejor {a}")
        )
        return said.format(**fill), asked
    ways = (
        "and {a}?",
        "what about {a}?",
        "how is that different from {a}?",
        "tell me about {a}",
        "I prefer {a}",
        "I like {a}",
    )
    formas = (
        "¿y {a}?",
        "¿qué tal {a}?",
        "¿en qué se diferencia de {a}?",
        "háblame de {a}",
        "prefiero {a}",
        "me gusta {a}",
    )
    return rng.choice(formas if lang == "es" else ways).format(**fill), answer


def of_requests(count: int, seed: int) -> Iterator[Row]:
    """Messages after a request that was carried out with another value than asked for, with the same, or with none asked."""
    rng = random.Random(seed)
    for _ in range(count):
        lang = rng.choice(("en", "es"))
        slot = rng.choice(list(SLOTS[lang]))
        value, used, third = rng.sample(SLOTS[lang][slot], 3)
        thing = rng.choice(THINGS[lang])
        draw = rng.random()
        request = rng.choice(REQUEST[lang])
        if draw < 0.4:
            asked, done, kind = value, used, "correction"
            message = rng.choice(SAID[lang]).format(v=value, u=used)
        elif draw < 0.65:
            asked, done, kind = "", used, "none"
            message = rng.choice(CHANGES[lang]).format(v=value, u=used)
        elif draw < 0.85:
            asked, done, kind = used, used, "none"
            message = rng.choice(CHANGES[lang]).format(v=third, u=used)
        else:
            asked, done = value, value
            kind = rng.choice(("acceptance", "none", "doubt"))
            lists = {"acceptance": ACCEPTANCE, "none": NONE, "doubt": DOUBT}[kind]
            message = rng.choice([m for m in lists[lang] if "{" not in m])
        question = request.format(t=thing, v=asked).replace(" ?", "?").strip()
        answer = rng.choice(DONE[lang]).format(t=thing, v=done)
        reply = _reply(lang, kind, {"a": value, "w": used}, rng)
        yield _row(lang, roughen(question, rng), answer, roughen(message, rng), reply, kind)


def of_tasks(pairs: list[tuple[str, str]], count: int, seed: int) -> Iterator[Row]:
    """Messages after a long answer of an assistant to a task: whether it worked, or what comes next."""
    rng = random.Random(seed)
    for _ in range(count):
        question, answer = rng.choice(pairs)
        kind = rng.choices(("none", "complaint", "acceptance", "repeat", "doubt"), (48, 26, 14, 6, 6))[0]
        lang = "es" if rng.random() < 0.3 else "en"
        if kind == "repeat":
            message = question
        elif kind == "none" and rng.random() < 0.5:
            message = rng.choice(pairs)[0]
        else:
            lists = {"none": NONE, "complaint": COMPLAINT, "acceptance": ACCEPTANCE, "doubt": DOUBT}[kind]
            message = rng.choice([m for m in lists[lang] if "{" not in m])
        reply = _reply(lang, kind, {"a": "", "w": ""}, rng) if rng.random() < 0.6 else ""
        yield _row(lang, question, answer[-400:], roughen(message, rng), reply, kind)


def of_lists(seed: int, times: int) -> Iterator[Row]:
    """Our own labelled lists that shape the head, each message several times in other spellings and with other replies."""
    rng = random.Random(seed)
    for name in ("shaping.txt", "situations.txt"):
        for each in remarks(LISTS / name):
            lang = (
                "es"
                if re.search(r"[¿¡ñáéíóú]|\b(?:el|la|los|que|es|una?|mi|de)\b", f"{each.question} {each.answer}")
                else "en"
            )
            for number in range(times):
                message = each.message if number % 2 else roughen(each.message, rng)
                reply = _reply(lang, each.kind, {"a": "", "w": ""}, rng) if number % 3 else ""
                yield _row(lang, each.question, each.answer, message, reply, each.kind)


def of_chats(data: Path, seed: int, most: int) -> Iterator[Row]:
    """Chats of people: what nobody labelled is no remark; a few with words that nearly always judge are left out."""
    rng = random.Random(seed)
    judging = re.compile(
        r"\b(?:wrong|incorrect|not what i|mistake|i said|i meant|that's not|isn't right|doesn't work)\b", re.I
    )
    read = labels_read()
    folder = data / "google-research-datasets+dstc8-schema-guided-dialogue"
    chats = [each for part in ("dev", "test") for each in guided_chats(folder / part)]
    chats = [each for each in chats if each.kind != "skip" and (each.id in read or not judging.search(each.message))]
    for each in rng.sample(chats, min(most, len(chats))) + [each for each in chats if each.kind != "none"] * 12:
        lang_row = _row("en", each.question, each.answer[-300:], each.message, (each.reply or "")[:200], each.kind)
        yield lang_row | {"source": "chat"}
    for path in sorted((data / "google-research-datasets+Taskmaster/TM-4-2024/data").glob("*.json")):
        for chat in rng.sample(json.loads(path.read_text()), 150):
            said = [(turn["speaker"], turn["text"]) for turn in chat["utterances"]]
            for at in range(2, len(said)):
                speakers = [speaker == "user" for speaker, _ in said[at - 2 : at + 1]]
                if speakers != [True, False, True] or judging.search(said[at][1]):
                    continue
                reply = said[at + 1][1] if at + 1 < len(said) and rng.random() < 0.6 else ""
                texts = (said[at - 2][1], said[at - 1][1], said[at][1], reply)
                yield _row("en", *texts, "none") | {"source": "chat"}


def of_wordings(pairs: list[tuple[str, str, str]], count: int, seed: int) -> Iterator[Row]:
    """Messages after long answers, from wordings with phrases of the question, of the answer and of another answer.

    `pairs` are a language, a question and its answer.
    """
    rng = random.Random(seed)
    for _ in range(count):
        lang, question, answer = rng.choice(pairs)
        other = rng.choice(pairs)
        kind = rng.choices(("none", "complaint", "correction", "doubt", "acceptance", "repeat"), (50, 22, 14, 6, 6, 2))[
            0
        ]
        spoken = lang if rng.random() < 0.9 else ("es" if lang == "en" else "en")
        fill = {"x": _phrase(answer, rng), "y": _phrase(question, rng), "z": _phrase(other[2], rng)}
        if kind == "repeat":
            message = rng.choice((question, f"{question}!!", f"again: {question}", f"{question}?"))[-300:]
        elif kind == "none" and rng.random() < 0.3:
            message = other[1] if rng.random() < 0.6 else other[1].split("\n")[0][:200]
        else:
            message = rng.choice(TASK_WORDINGS[spoken][kind]).format(**fill)
            if rng.random() < 0.15:
                message += rng.choice((". ", ", ", "\n")) + rng.choice(TASK_WORDINGS[spoken][kind]).format(**fill)
            elif kind in ("complaint", "correction") and rng.random() < 0.12:
                # Politeness before a remark is no acceptance.
                message = rng.choice(("thanks but ", "ok, but ", "sorry but ", "hmm, ", "gracias pero ")) + message
        if rng.random() < 0.3 and kind != "repeat":
            # A remark is often followed by what is wanted, and a next task by more of it.
            tail = " ".join(rng.choice((other[1], other[2], question)).split()[: rng.randrange(4, 45)])
            first = kind == "none" and rng.random() < 0.5
            message = f"{tail}. {message}" if first else message + rng.choice((". ", ", ", "\n", "! ", ": ")) + tail
        reply = _reply(lang, kind, {"a": "", "w": ""}, rng) if rng.random() < 0.5 else ""
        yield _row(spoken, question, answer, roughen(message[:420], rng), reply, kind)


def _phrase(text: str, rng: random.Random) -> str:
    words = re.findall(r"[^\W_][\w'.-]*", text[:600])
    if not words:
        return "that"
    at = rng.randrange(len(words))
    return " ".join(words[at : at + rng.choice((1, 1, 2, 3))]).strip(".'-")


def of_read_chats(chats: list[dict[str, str]], labels: dict[str, str], times: int, seed: int) -> Iterator[Row]:
    """Chats of people whose messages were read: `q`, `a`, `m`, `r` and `id`; what has no label was judged none by a detector."""
    rng = random.Random(seed)
    for each in chats:
        kind = labels.get(each["id"], "none")
        if kind == UNCLEAR:
            continue
        for number in range(times if each["id"] in labels else 2):
            # Most replies of such chats admit everything: the head has to do without them.
            reply = each["r"][:200] if number % 4 == 3 else ""
            message = each["m"] if number < 2 else roughen(each["m"], rng)
            yield _row("en", each["q"], each["a"], message, reply, kind) | {"source": "chat"}
