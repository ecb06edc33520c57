"""A judge's name → the judge. `offline` needs no key; any chat model's name makes that model the judge."""

from evergold import plugins
from evergold.errors import BadInput, unknown
from evergold.seams import Judge
from evergold.settings import Settings

DEFAULT_JUDGE = "offline"


def judge_named(name: str | None, settings: Settings) -> str:
    """The judge that was asked for, else the one of the settings, else the offline one."""
    return name or settings.judge_default.strip() or DEFAULT_JUDGE


def check_judge(name: str) -> None:
    """Raise `BadInput` listing the valid ones when nobody answers to that name."""
    known = plugins.names("judges")
    # `panel:openai/a,offline` and `openai/a` begin with the name of the plug-in, whatever sign follows.
    word = name.replace(":", "/").partition("/")[0]
    if word not in known:
        raise BadInput(unknown("judge", word, known))


def make_judge(name: str, settings: Settings) -> Judge:
    word, _, address = name.replace(":", "/", 1).partition("/")
    judge: Judge = plugins.factory("judges", word)(address, settings)
    return judge
