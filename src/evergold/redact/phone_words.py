"""The words before a number that say whether it is a telephone number, in the languages people write most."""

import re

NEAR = 40
NUMBER = r"(?:[ _-]?(?:numbers?|no|nr|num|n[ºo°]|número|numéro|numero|nummer|号码?|番号|번호))?"
NAMES = (
    r"(?:tele)?(?:phone|fax)|tel|telf|tfno|tlf|telp|mob|mobile|mobil|móvil|movil|cell|celular|cellulare|handy|whatsapp|sms|hotline"
    r"|msisdn|tel[eé]fono?|t[eé]l[eé]phone|portable|telefon[a-zåí]{0,3}|telefoon|puhelin|rufnummer|телефон[а-я]{0,2}|тел|моб"
)
UNSPACED = r"电话|手机|電話|携帯|전화|핸드폰|휴대폰|هاتف|फ़ोन|फोन|โทร"
VERBS = (
    r"(?:call|ring|dial|text|reach|contact|phone)(?:ed|ing|s)? (?:me|us|him|her|them|my|back|at|on)"
    r"|(?:my|our|his|her|their) number is"
    r"|ll[aá]m[ae]\w{0,4}|appel\w{1,5}|ruf\w{0,3} (?:mich|uns)|lig(?:ue|ar)|chiam\w{1,5}|mi número es|звон\w{0,4}"
)
BETWEEN = (
    r"[^\w\n]{0,3}(?:(?:is|es|ist|est|at|on|al|me|us|too|or|work|home|mobile|a|:|=)[^\w\n]{1,3}){0,3}[^\w\n;]{0,3}$"
)
NAMED = re.compile(rf"(?i)(?:(?<![^\W_])(?:{NAMES})|{UNSPACED}){NUMBER}{BETWEEN}")
CALLED = re.compile(rf"(?i)\b(?:{VERBS})\b{BETWEEN}")
NO_PHONE = re.compile(
    r"(?i)(?<![^\W_])(?:order|invoice|ticket|tracking|case|serial|ref|reference|isbn|issn|sku|part|account|acct|iban|version|build|"
    r"commit|release|lot|batch|policy|patent|pedido|factura|bestellung|rechnung|bestellnummer|pages?|pp|rows?|lines?|id)"
    rf"{NUMBER}(?:[ _-]?(?:id|code))?[^\w\n]{{0,4}}$"
)


def is_called_phone(text: str, start: int, *, grouped: bool) -> bool:
    """Whether words right before `start` say telephone. `grouped` digits also after `call me at` and its like."""
    before = text[max(0, start - NEAR) : start]
    return NAMED.search(before) is not None or (grouped and CALLED.search(before) is not None)


def is_called_something_else(text: str, start: int) -> bool:
    """Whether the word right before `start` names another kind of number."""
    return NO_PHONE.search(text[max(0, start - NEAR) : start]) is not None
