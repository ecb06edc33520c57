"""Whether a workspace runs the built-in checks. Every command that opens one asks, so nothing else is loaded here."""

from evergold.errors import BadInput
from evergold.model.policy import CurationRules
from evergold.settings import Settings
from evergold.store import Store
from evergold.store.facts import fact, put_fact
from evergold.store.trace.scores import CHECKS_ON
from evergold.store.verdict.curation import changes_of_rules

BEGAN_WITH = "checks.builtin"
WORDS = {"true": True, "on": True, "1": True, "yes": True, "false": False, "off": False, "0": False, "no": False}


def left_open(settings: Settings) -> bool:
    """Whether the settings leave it to the workspace if built-in checks run."""
    return settings.checks_builtin.strip().lower() in ("auto", "")


def builtin_on(settings: Settings, began_with: str | None, rules: CurationRules | None = None) -> bool:
    """Whether the built-in checks are on: as the settings say, else as the rules do, else as the workspace began."""
    word = settings.checks_builtin.strip().lower()
    if left_open(settings):
        # An old workspace keeps the behaviour it began with; checks must not appear there by an upgrade.
        return rules.checks_on if rules is not None else began_with == "on"
    if word not in WORDS:
        raise BadInput(f"checks.builtin = {settings.checks_builtin!r} is none of true, false, auto")
    return WORDS[word]


def keep_switch(store: Store, settings: Settings) -> None:
    """Write down whether checks are on, so that every process that takes traces in queues them for checking."""
    with store.db.read() as connection:
        held, began_with = fact(connection, CHECKS_ON), fact(connection, BEGAN_WITH)
        changes = changes_of_rules(connection, most=1)
    rules = changes[0].rules if changes else None
    now = "on" if builtin_on(settings, began_with, rules) or settings.checks_files else "off"
    # Written only on change: opening a workspace must not cost a write.
    if held != now:
        store.write(put_fact, CHECKS_ON, now)
