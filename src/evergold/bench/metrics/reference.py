"""The reference that text metrics compare an answer with: one rule, `Case.reference`, for all of them."""

from evergold.model.case import Case

NO_REFERENCE = "the case has no reference answer"


def reference_text(case: Case) -> str | None:
    """The text of the reference; None where the case has none, or one of calls alone."""
    reference = case.reference()
    return None if reference is None else reference.text
