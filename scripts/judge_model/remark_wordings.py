"""Wordings of messages after long answers, by kind: `{x}` is a phrase of the answer, `{y}` one of the question, `{z}` of another.

The negatives are the ones that sound like remarks: the next task, a change of mind, the user's own slip, a question about a word
of the answer, negations about the world.
"""


def _list(text: str) -> list[str]:
    return [part.strip() for part in text.replace("\n", "|").split("|") if part.strip()]


TASK_WORDINGS = {
    "en": {
        "correction": _list("""I asked for {y}, not {x}|I said {y}|no I meant {y}|I was asking about {y}|I meant {y} not {x}
you should use {y} instead of {x}, that is what I asked|it should be {z}, not {x}|{x} should be {z}|not {x}, {z}
actually {x} is {z}|no, {x} is {z}|I think {x} is {z}|{x} isn't {z}, it is something else|but {x} is not {y}|that is {z} not {x}
no. the right one is {z}|the correct answer is {z}|shouldn't it say {z}. {x} is wrong|you wrote {x} instead of {z}
you mixed up {x} and {z}|you are confusing {x} with {z}|I only wanted {y}|only {y}!|I specifically asked for {y}
I told you to use {y}|as I said, {y}|like I said, {y}|you were supposed to {y}|the question was about {y}|my question was {y}
it returns {x} but it should return {z}|for this input it should give {z}|{x} is out of date, it is {z} now
{x} has been {z} since last year
there is no {x} in it, only {z}|you said {x} but the docs say {z}|my teacher says it is {z}|Wrong, it's {z}|it's {z}, I checked
that's {z}. answer again with that in mind
no, in one sentence
I asked for five, you gave me four|I wanted it in a table|I asked you to answer in Spanish
that's the office address, I need the other one
those are libraries, I asked for services|I don't mean in general, I mean {y}|read my question again, it says {y}
you need to do it the way it is defined, not generically|-123 should give 4|8 is also one, so this is wrong
the list should start with {z}
this needs to return {z}|i mean {y}, dude
the equation has one solution, correct yourself"""),
        "complaint": _list("""that's wrong|wrong|that is incorrect|no|nope|no that's not it|that's not right
that doesn't work|it doesn't work
doesn't work|still doesn't work|still not working|still the same|still the same error|same error|still wrong|wrong again
you did it wrong again|that's not what I asked|not what I asked for|that's not what I wanted|this is not what i want
you didn't answer my question|you did not answer the question|answer the question|this doesn't answer my question
please actually answer the question|did not help|that didn't help|this does not help at all|it did not help|not helpful
thanks for nothing|thanks for not being helpful|you are useless|useless|this is useless|you suck|dude you really suck
that makes no sense|it doesn't make sense|this makes no sense at all|what are you talking about|what?? that's nonsense
you are making this up|you just made that up|that's not true|not true|that can't be true
that cannot be right|that sounds wrong|sounds wrong|I don't think that is correct|i dont think thats right|you're wrong
you are lying
I get an error|I am getting an error: {x} is not defined|now I get a different error|I get TypeError when I run it
Traceback (most recent call last): File "main.py", line 3, NameError: name is not defined|it throws an exception
error: no method named {x} found|it says invalid syntax|it says {x} is not a function|the test fails|tests still fail
AssertionError|Code is incorrect. Error: assert failed|it crashes when I click|the code does not compile|it is timing out
nothing shows up|nothing happens when I do that|the link is dead
that link gives me a 404|this only works for positive numbers|it fails for negative numbers
your code returns {x}|your answer is too long|too long|too complicated|that's too generic|way too vague
this is just a list of platitudes
you repeated yourself|you already said that|you said the opposite before|you contradict yourself|you just repeated my question
you cut off|looks like you got cut off|you forgot {y}|you forgot the last part|you left out {y}|you missed {y}|{y} is missing
you ignored {y}|what about {y}? you left it out|you didn't mention {y}|where is {y}? I asked for it|you didn't give me {y}
that is not a {y}|that's not {y}|{x} is wrong|{x} doesn't exist|there is no {x}|{x} is not a real thing|{x} makes no sense
{x} is not relevant
none of these work|none of them is right|they are all wrong|not even close|this is not good quality at all|this is bad|terrible
try again|try again please|please try again, that's wrong|do it again, properly|again, and this time read the question
I'm not convinced by that|that's a lame answer|so you have no idea|you have no clue
stop apologizing and fix it|stop refusing|why did you change {x}?|why do you ignore {y}?|why would you say that
don't change {x}!
you broke it|it was better before|now it is even worse|the formatting is broken|I can't read this|it's unreadable
this is in English, I can't read it|are you even reading what I write?|you misunderstood|you misunderstood me
you didn't understand
this is not an appropriate answer|that's rude|that's not funny|I didn't ask you to do that
did not ask for this|i did not ask for an explanation|this is the third time I ask|come on|seriously?|are you kidding|/undo
that's more than 14 words|that's not four lines|you didn't follow the format|the numbers don't add up|the total is wrong
went there and it was closed|I called and they said no such thing|I tried that and it did nothing|tried, no luck
that broke my build"""),
        "doubt": _list("""are you sure?|you sure?|sure?|really?|is that right?|is that correct?|is this correct?
check again please|can you double check that?|source?|what's your source?|do you have a source for {x}?|how do you know?
where did you get {x} from?|isn't {x} {z}?|wouldn't {x} be {z}?|isn't that {z}?|hmm, I thought it was {z}
I thought {x} was {z}|are {x} not {z}?|doesn't {x} need {z}?|would that not be too much?|hm, that sounds odd
hmm not sure about {x}
is {x} really {z}?|does that account for negative numbers?|why not C?|but don't many people say {z}?
that seems off, is it legit?
does {x} even exist?|are those all correct?|but isn't it more complicated?|you said {x}, is that still the case?
can you verify {x}?|so {x} is true?|are you certain about {x}?"""),
        "acceptance": _list("""that worked|that worked, thanks|it works|it works now|works perfectly|works great, thank you
perfect|perfect, thanks
perfect! now add tests|that's perfect|exactly what I needed|exactly|yes exactly|great, that fixed it|fixed it, thanks
that solved it
that did it|you are right, it was {x}|you're right|yes, that's right|that is correct|correct|spot on|brilliant|awesome, thanks
amazing, it runs|nice, that helped|this is really good|great answer|great explanation, thank you
super helpful|very helpful, thanks|ok that makes sense now, thanks
ah, that makes sense|got it working|it runs now|tests pass now|the {x} part fixed it|yes! {x} was the problem|good one
good job|well done|I love it|love it|this is what I was looking for|that's the one|looks good|looks great, thanks
great work"""),
        "none": _list("""continue|go on|keep going|next|more|and?|ok|okay|thanks|thank you|ty|thanks!|ok thanks|cool
interesting|wow|haha
what about {y}?|and {z}?|how about {z}?|what is {x}?|what does {x} mean?|who is {x}?|explain {x}|tell me more about {x}
can you elaborate on {x}?|elaborate|explain it to me like I'm five|give me an example|can you give an example?|why?|why {x}?
how does {x} work?|how do I use {x}?|is {x} better than {z}?|which one is the best?|and in {z}?
now do the same for {z}|do the same with {z}|now write it in {z}|rewrite it as a poem|make it shorter|make it longer
shorter please|more formal please|in bullet points|summarize it|translate it into Spanish|can you put that in a table?
add {z}|also add {z}|remove {x}|remove the part about {x}|replace {x} with {z}|change {x} to {z}|rename {x} to {z}
without {x}|no {x} please|don't use {x}|do not use any libraries|use {z} instead|I'd prefer {z}|I prefer {z}|let's go with {z}
actually, let's talk about {z}|actually, make it {z}|on second thought, {z}|sorry, I meant {z}|sorry, {z}|oops, I meant {z}
I should have said {z}|my mistake, it was {z}|I typed it wrong, {z}|let me rephrase: {y}|never mind|forget it, {z}
I didn't know that|I don't know|not sure yet|no idea|no, thanks|no, that's all|nothing else|not now|no need|no worries
no problem
I have {z}|my {y} is {z}|I am {z}|I live in {z}|I don't have {z}|I don't like {z}|I'm not good at {y}|I can't afford {z}
I want {z}
what is wrong with my code?|why is this not working: def f(x): return x + 1|how do I fix the error {z}?|what is the error here?
my code doesn't work: {y}|fix this: {z}|debug this function|find the mistake in this sentence: {z}
is this sentence correct: {z}?
is it wrong to lie?|my boss said I was wrong|he is wrong about everything|they don't work on Sundays|it doesn't rain here
nothing is impossible, right?|people make mistakes|I hate my job|my phone is broken|my printer doesn't work
the economy is not working
write a story about a mistake|write a story where {z} is wrong|give me a sentence with the word wrong|list common errors in {y}
generate a counterexample|what are the disadvantages of {x}?|why would anyone not want {x}?|what is not {x}?|what else?
anything else?
yes|yes please|sure|please do|no|nope|1|2|the second one|option b|both|{z}|{z} {y}
import {z}|def f(x): return x|SELECT * FROM t WHERE x = 1|<div class="a">{z}</div>|for i in range(10): print(i)
hello|hi|good morning|who are you?|what can you do?|do you speak Spanish?|can you help me?|write a haiku about water
write a python function for {z}|what is the capital of {z}?|tell me a joke|another one|one more|again but about {z}
give me ten more
I think {z} is great|I agree|I see|got it|makes sense|fair enough|that's sad|that's scary|that is a lot|good to know
no way, really cool
I think she is lying|she was wrong to do that|my friend says {z}|I heard that {z}|I read that {z} is healthy
what would you do?|what do you think?|do you like {z}?|can you be wrong?|do you make mistakes?|are you conscious?
are you a robot?
how sure are you, in percent?|how long does that take?|how much is {x}?|is there a cheaper one?
I will try that|I'll try it tomorrow|let me check|wait a second|hold on|one moment|I'm back|bye|see you|good night"""),
    },
    "es": {
        "correction": _list("""te pedí {y}, no {x}|dije {y}|no, me refería a {y}|preguntaba por {y}|quería {y}, no {x}
debería ser {z}, no {x}
{x} debería ser {z}|no {x}, {z}|en realidad {x} es {z}|no, {x} es {z}|creo que {x} es {z}|pero {x} no es {y}|eso es {z}, no {x}
la correcta es {z}|la respuesta correcta es {z}|pusiste {x} en vez de {z}|confundes {x} con {z}|solo quería {y}|¡solo {y}!
te dije que usaras {y}|como dije, {y}|la pregunta era sobre {y}|devuelve {x} pero debería devolver {z}
{x} ya cambió, ahora es {z}|no hay {x}, solo {z}|dijiste {x} pero en la web pone {z}|mal, es {z}|es {z}, lo comprobé
lo quería en una tabla|te pedí cinco y diste cuatro|lee otra vez mi pregunta: {y}
ese ya murió, ahora es {z}"""),
        "complaint": _list("""eso está mal|está mal|mal|incorrecto|no|no es eso|no es correcto|no funciona
sigue sin funcionar|sigue igual
el mismo error|otra vez mal|no es lo que pedí|no es lo que quería|no contestaste mi pregunta|no respondiste|contesta la pregunta
no me ayudó|no ayuda|esto no sirve|no me sirve|gracias por nada|eres un inútil|inútil|eso no tiene sentido|no tiene sentido
de qué hablas|te lo estás inventando|te lo inventaste|eso no es cierto|no es cierto|eso es falso|eso no puede ser|suena mal
creo que eso no es correcto|estás equivocado|mientes|me da error|ahora me da otro error|me sale TypeError|no compila|se cae
el test falla|no aparece nada|no pasa nada|el enlace no funciona|falla con números negativos
demasiado largo|muy complicado|muy genérico|te repites|ya dijiste eso|te contradices|te cortaste|te faltó {y}|se te olvidó {y}
falta {y}|ignoraste {y}|no mencionaste {y}|eso no es {y}|{x} está mal|{x} no existe|no existe ningún {x}|{x} no tiene sentido
ninguna funciona|todas están mal|ni de cerca|muy mala respuesta|inténtalo otra vez|prueba otra vez
no tienes ni idea|deja de disculparte|por qué cambiaste {x}?|por qué ignoras {y}?|lo rompiste|antes estaba mejor|no se entiende
está en inglés y te hablé en español|no me entendiste|no entendiste|no te pedí eso|es la tercera vez que pregunto
en serio?|es broma?|las cuentas no salen|fui y estaba cerrado|lo probé y nada|/undo"""),
        "doubt": _list("""¿estás seguro?|seguro?|de verdad?|eso es correcto?|es correcto esto?|puedes comprobarlo?|fuente?
de dónde sacas {x}?|cómo lo sabes?|dónde dice {x}?|¿{x} no es {z}?|no sería {z}?|mmm pensaba que era {z}|creía que {x} era {z}
no estoy seguro de {x}|de verdad {x} es {z}?|eso vale para negativos?|por qué no la C?|suena raro, es así?
{x} existe de verdad?"""),
        "acceptance": _list("""funcionó|funcionó, gracias|ya funciona|funciona perfecto|perfecto|perfecto, gracias
perfecto, ahora agrega {z}|exacto
justo lo que necesitaba|eso era|genial, arreglado|se arregló, gracias|tienes razón|tenías razón, era {x}|correcto|es correcto
muy bien|muy buena respuesta|excelente explicación, gracias|me sirvió mucho|me ayudó, gracias|ahora tiene sentido, gracias
me encanta|es lo que buscaba|buen trabajo|quedó bien|ya pasan los tests|sí, {x} era el problema"""),
        "none": _list("""continúa|sigue|siguiente|más|y?|ok|vale|gracias|muchas gracias|genial|interesante|vaya|jaja|y {y}?
y {z}?|qué es {x}?
qué significa {x}?|quién es {x}?|explica {x}|cuéntame más de {x}|dame un ejemplo|por qué?|por qué {x}?|cómo funciona {x}?
cuál es mejor, {x} o {z}?|ahora lo mismo con {z}|haz lo mismo para {z}|ahora en {z}|más corto|más largo|más formal|en una tabla
resúmelo|tradúcelo al inglés|añade {z}|quita {x}|cambia {x} por {z}|sin {x}|no uses {x}|mejor {z}
prefiero {z}|en realidad, hablemos de {z}|perdón, quería decir {z}|me equivoqué, era {z}|olvídalo
no lo sabía|no sé|ni idea|no, gracias|nada más|ahora no|no hace falta|no pasa nada|tengo {z}|soy {z}|vivo en {z}|no tengo {z}
no me gusta {z}|no puedo pagar {z}|quiero {z}|qué está mal en mi código?
mi código no funciona: {y}|corrige esta frase: {z}|está mal mentir?|mi jefe dice que está mal|aquí no llueve|odio mi trabajo
mi móvil está roto|escribe un cuento sobre un error|qué desventajas tiene {x}?|qué más?|sí|sí por favor|claro|no|el segundo
las dos|5 % 3|{z}|hola|buenos días|quién eres?|qué puedes hacer?|escribe una función para {z}|cuál es la capital de {z}?
otro|otra más|dame diez más|estoy de acuerdo|entiendo|ya veo|tiene sentido|qué triste|bueno saberlo|ella se equivocó
mi amigo dice que {z}|he leído que {z}|qué opinas?|te puedes equivocar?|eres un robot?|cuánto cuesta {x}?|lo probaré
lo pruebo mañana|espera|ya volví|adiós"""),
    },
}
