"""What holds for curation at a moment: the policies, the checks and the detector, by the settings and by the rules that
people changed in the browser. A change makes another `InForce`; nothing in one ever changes."""

from collections.abc import Sequence
from functools import cached_property

from evergold.curate.live import Curation
from evergold.curate.policy import DEFAULT, policies
from evergold.model.policy import CurationRules, Policy
from evergold.seams import Detector
from evergold.settings import Settings
from evergold.store import Store
from evergold.store.verdict.curation import changes_of_rules
from evergold.workspace.checks import Checks
from evergold.workspace.detecting import detector_named


class InForce:
    """Policies, checks and detector under one state of the rules; without rules, as the settings say."""

    def __init__(self, store: Store, settings: Settings, number: int = 0, rules: CurationRules | None = None) -> None:
        self._store = store
        self._settings = settings
        self.number = number
        self.rules = rules

    @cached_property
    def policies(self) -> tuple[Policy, ...]:
        """The policy `default`, of a file if one is so called, and those of the other files."""
        return policies(self._settings.curation_policies, self.rules.policy if self.rules is not None else DEFAULT)

    @cached_property
    def checks(self) -> Checks:
        return Checks(self._store, self._settings, self.rules)

    @cached_property
    def curation(self) -> Curation:
        return self.under(self.policies)

    @cached_property
    def _detector(self) -> Detector | None:
        return detector_named(self._store, self._settings)

    def under(self, chosen: Sequence[Policy]) -> Curation:
        """These policies instead of those in force, for which what waits goes on waiting."""
        # A trial of other policies must not take traces out of the queue of those in force.
        rules = self.number if set(self.policies) <= set(chosen) else None
        return Curation(self._store, chosen, self._detector, rules=rules, checks=self.checks.stage)


def read_in_force(store: Store, settings: Settings) -> InForce:
    """Read the newest change of the rules."""
    with store.db.read() as connection:
        changes = changes_of_rules(connection, most=1)
    if not changes:
        return InForce(store, settings)
    return InForce(store, settings, changes[0].number, changes[0].rules)
