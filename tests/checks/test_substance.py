"""Courtesies have nothing to evaluate; short requests do. The messages here are others than those the rule was written from."""

from pathlib import Path

from evergold.checks.signals import Substance
from evergold.model.check import CheckResult, ToolStep, Turn
from evergold.settings import Settings
from evergold.workspace import Workspace
from tests.builders import a_trace
from tests.rows import each_row

WELCOME = "You're welcome! Let me know if there is anything else."


def result(message: str, answer: str, *tools: str) -> CheckResult | None:
    return Substance().check(Turn("t", message, answer, tools=tuple(ToolStep(name, failed=False) for name in tools)))


@each_row(
    ("message", "answer"),
    [
        ("Thank you so much!", WELCOME),
        ("thx :)", "Anytime 😊"),
        ("Okay, got it.", "Great! Let me know if you have more questions."),
        ("hey there", "Hello! How can I help you today?"),
        ("👏🏽👏🏽", "Glad you like it!"),
        ("❤️", "😊"),
        ("Muchísimas gracias por tu ayuda", "¡De nada! Que tengas un buen día."),
        ("Merci beaucoup !", "Avec plaisir !"),
        ("Vielen Dank", "Gern geschehen!"),
        ("Grazie mille", "Prego!"),
        ("Muito obrigada!", "Por nada! Precisando, é só chamar. Fico contente em ajudar."),
        ("Спасибо большое", "Пожалуйста! Обращайтесь."),
        ("谢谢", "不客气！"),
        ("ありがとうございます", "どういたしまして。"),
        ("감사합니다", "천만에요!"),
        ("شكرا", "عفوا"),
        ("Tack så mycket", "Varsågod!"),
    ],
)
def test_a_courtesy_that_got_a_courtesy_has_no_substance(message: str, answer: str) -> None:
    found = result(message, answer)
    assert found is not None and found.value == 0.5 and found.reason.startswith("no substance")


@each_row(
    ("message", "answer"),
    [
        ("Weather Paris?", "Happy to help: sunny."),
        ("Weather Oslo", "Cloudy, have a nice day."),
        ("6*7", "Great question, it is forty-two."),
        ("translate: hello", "Hola"),
        ("hello world in Rust", 'fn main() { println!("hello"); }'),
        ("yes, cancel it", "Done. Anything else I can help with?"),
        ("thanks, and the other one", "You're welcome, that one is blue."),
        ("help", "What do you need help with?"),
        ("ok", "Done! Your order is cancelled. Anything else I can help with?"),
        ("yes", "Great, the refund of your ticket is on its way."),
        ("ok", "I need the number of your ticket for that."),
        ("thanks", "You're welcome. Your code is 4471."),
        ("hello", "positive"),
        ("good", "adjective; of high quality"),
        ("danke", "- thanks\n- thank you"),
        ("🎬🦁👑", "Great riddle: The Lion King!"),
        ("???", "How can I help you?"),
        ("...", "How can I help you?"),
        ("", "How can I help you?"),
        ("gracias?", "De nada"),
    ],
)
def test_a_short_request_or_an_answer_with_content_is_kept(message: str, answer: str) -> None:
    assert result(message, answer) is None


def test_a_courtesy_that_led_to_a_call_is_kept() -> None:
    assert result("ok, thanks", WELCOME, "cancel_order") is None


def test_courtesies_become_no_cases_and_the_report_names_why(tmp_path: Path) -> None:
    with Workspace.open(Settings(home=tmp_path, checks_builtin="true")) as ws:
        ws.intake.accept(
            [
                a_trace("thanks", input="Thank you!", output=WELCOME),
                a_trace("asked", input="Capital Peru", output="Lima."),
            ]
        )
        ws.live.curate()
        assert [ws.live.explain(one)[0].tier.value for one in ("thanks", "asked")] == ["none", "candidate"]
        between = [reason for reason in ws.live.kept_out("").reasons if reason.code == "system_between"]
        assert [reason.scores for reason in between] == [{"substance": 1}]
