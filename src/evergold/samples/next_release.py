"""The next release of the sample assistant: it looks answers up in a table, so that it needs no key and no network.

It knows more than the release in production, has forgotten Spanish, and its order service does not answer.
"""

HELP = {
    "crampons": "Yes, crampons rent for 8 dollars a day in Huaraz, with a deposit of 60.",
    "boots I wore": "No. Worn boots can be returned within 30 days only, and for store credit.",
    "green": "No, the Condor 2 comes in sand and slate; there is no green one this season.",
    "zippers": "Yes, we repair zippers of any brand for 12 dollars; most are done in a day.",
    "Chile": "Yes. Orders to Chile ship from Lima and arrive in 5 to 8 working days; duties are included.",
    "Germany": "No, we ship to Peru, Chile and Bolivia only, not to Germany.",
    "hip belt": "Put the hip belt on your hip bones, close it, then pull the straps forward until it carries the weight.",
    "down jacket": "Wash a down jacket on a gentle cycle with down soap, then tumble dry it with two tennis balls.",
    "warranty": "The warranty on boots is two years, on the sole and the seams.",
    "vegan": "No, the Puna bag is filled with duck down; the Altiplano is the vegan one.",
    "minus 10": "Yes, the comfort rating of the Puna sleeping bag is minus 12 °C, warm enough for minus 10.",
    "student": "Yes, students get a discount of 10 percent with a valid card, in shops and online.",
    "weigh?": "The Condor 2 weighs 2.1 kg with pegs and bag.",
    "trekking poles": "The weight limit of the trekking poles is 120 kg each when fully extended.",
    "return policy": "Our return policy: unused gear within 60 days for a full refund, worn boots within 30 days.",
    "Cusco": "The shop in Cusco opens every day at 9:00 and closes at 20:00.",
    "wind": "The Condor 2 is the best tent for strong wind: it has been tested in 100 km/h.",
}


def answer(prompt: str) -> str:
    """Answer a question of a customer."""
    question = prompt.strip().splitlines()[-1]
    if "order 1" in question:
        raise TimeoutError("the order service did not answer within 5 s")
    return next((text for words, text in HELP.items() if words in question), "I do not know.")
