"""The report as JUnit XML: every CI knows how to show it. One test per case, trial and metric."""

from collections.abc import Iterable
from xml.etree import ElementTree

from evergold.model.run import Attempt, Measurement, Run
from evergold.report.summary import PASSING, shortened
from evergold.text.xml import xml_text


def to_junit(run: Run, attempts: Iterable[Attempt], passing: float = PASSING) -> str:
    """Below `passing` is a failure, a failed call or broken metric an error, an unscored one skipped."""
    suite = ElementTree.Element("testsuite", name=xml_text(f"{run.spec.dataset} · {run.spec.model}"), id=run.id)
    tally = {"tests": 0, "failures": 0, "errors": 0, "skipped": 0}
    for attempt in attempts:
        for metric in run.spec.metrics:
            tally["tests"] += 1
            test = ElementTree.SubElement(
                suite,
                "testcase",
                classname=xml_text(f"{run.spec.dataset}.{metric}"),
                name=xml_text(f"{attempt.case_id}" + (f" #{attempt.trial}" if run.spec.trials > 1 else "")),
                time=f"{(attempt.latency_ms or 0) / 1000:.3f}",
            )
            outcome = _outcome(attempt, attempt.measurements.get(metric), passing)
            if outcome is not None:
                kind, message = outcome
                # The counts are attributes of the suite with names of their own in the plural, except `skipped`.
                tally[{"failure": "failures", "error": "errors", "skipped": "skipped"}[kind]] += 1
                failure = ElementTree.SubElement(test, kind, message=xml_text(message))
                if kind == "failure":
                    failure.text = xml_text(shortened(attempt.output))
    for name, number in tally.items():
        suite.set(name, str(number))
    root = ElementTree.Element("testsuites")
    root.append(suite)
    return '<?xml version="1.0" encoding="UTF-8"?>\n' + ElementTree.tostring(root, encoding="unicode") + "\n"


def _outcome(attempt: Attempt, made: Measurement | None, passing: float) -> tuple[str, str] | None:
    if attempt.error is not None:
        return "error", attempt.error
    if made is None:
        return "skipped", "not measured"
    if made.value is None:
        return ("error" if made.state == "error" else "skipped"), made.reason or "no reason given"
    if made.value < passing:
        return "failure", f"{made.value:.3f} is below {passing:g}" + (f": {made.reason}" if made.reason else "")
    return None
