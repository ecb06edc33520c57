"""/curation/rules: what decides whether a trace becomes a case, and a look at what other rules would change."""

from evergold.api.opened import Opened
from evergold.api.routing import Router
from evergold.api.who import Who
from evergold.model.rules import CurationRules, NewRules, RulesPreview, RulesView

router = Router(prefix="/api/v1", tags=["curation"])


@router.get("/curation/rules")
def show_rules(workspace: Opened) -> RulesView:
    """The rules in force, what the settings hold of them, the built-in checks, and every change so far."""
    return workspace.rules.view()


@router.post("/curation/rules/preview")
def preview_rules(workspace: Opened, rules: CurationRules) -> RulesPreview:
    """What these rules would make of the newest traces; nothing is changed."""
    return workspace.rules.preview(rules)


@router.put("/curation/rules")
def save_rules(workspace: Opened, chosen: NewRules, who: Who) -> RulesView:
    """Put rules in force and judge every trace again; earlier rules sent again take the change back."""
    return workspace.rules.save(chosen, who)
