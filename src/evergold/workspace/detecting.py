"""The detector that the settings name: a plug-in, or a judge behind the same seam."""

from evergold import plugins
from evergold.curate.detectors import AskingLimit, JudgeDetector, asked_counter
from evergold.errors import BadInput
from evergold.seams import Detector
from evergold.settings import Settings
from evergold.store import Store
from evergold.store.facts import read_counters

JUDGE = "judge:"


def detector_named(store: Store, settings: Settings) -> Detector | None:
    """Make the detector of `curation.detector`; None where that is empty."""
    name = settings.curation_detector.strip()
    if not name.startswith(JUDGE):
        detector: Detector | None = plugins.load("detectors", name) if name else None
        return detector
    from evergold.judge.names import DEFAULT_JUDGE, check_judge, make_judge

    judge = name.removeprefix(JUDGE)
    if judge == DEFAULT_JUDGE:
        raise BadInput(
            f"curation.detector = {name!r}: the offline judge does not read remarks; "
            "name a model (judge:openai/MODEL) or use patterns"
        )
    check_judge(judge)
    sample, budget = settings.curation_detector_sample, settings.curation_detector_budget
    if not 0.0 <= sample <= 1.0 or budget < 0:
        raise BadInput(
            f"curation.detector_sample = {sample:g}, curation.detector_budget = {budget}: "
            "a sample lies from 0 to 1 and a budget is not negative"
        )
    with store.db.read() as connection:
        asked = read_counters(connection, asked_counter()).get(asked_counter(), 0)
    return JudgeDetector(name, make_judge(judge, settings), AskingLimit(budget, sample), asked)
