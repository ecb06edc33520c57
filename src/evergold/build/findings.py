"""Findings of a check, as JSON for programs and as JUnit XML for CI systems."""

from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import Any, Literal
from xml.etree import ElementTree

from evergold.text.words import xml_text

Outcome = Literal["passed", "failed", "not measured"]
# Examples per finding; the count is always whole.
SHOWN = 20


@dataclass
class Finding:
    """One check of one split. Failures are counted whole and shown by their first few examples."""

    check: str
    split: str
    outcome: Outcome = "passed"
    message: str = ""
    count: int = 0
    examples: list[str] = field(default_factory=list)
    measured: dict[str, Any] = field(default_factory=dict)

    def fail(self, message: str) -> None:
        self.outcome = "failed"
        self.count += 1
        if not self.message:
            self.message = message
        if len(self.examples) < SHOWN:
            self.examples.append(message)


@dataclass
class Report:
    """All findings about a manifest, and the records drawn for a spot check."""

    manifest: str
    version: str
    findings: list[Finding]
    samples: dict[str, list[dict[str, Any]]] = field(default_factory=dict)

    @property
    def failed(self) -> list[Finding]:
        return [finding for finding in self.findings if finding.outcome == "failed"]

    def to_json(self) -> dict[str, Any]:
        return {
            "manifest": self.manifest,
            "version": self.version,
            "passed": not self.failed,
            "checks": [vars(finding) for finding in self.findings],
            "samples": self.samples,
        }

    def to_junit(self) -> bytes:
        """One test case per check and split; a check that could not be made is skipped, with its reason."""
        suite = ElementTree.Element("testsuite", {"name": f"evergold check {self.version}", **_totals(self.findings)})
        for finding in self.findings:
            case = ElementTree.SubElement(suite, "testcase", classname=xml_text(finding.split), name=finding.check)
            if finding.outcome == "failed":
                message = f"{finding.count} times: {finding.message}" if finding.count > 1 else finding.message
                failure = ElementTree.SubElement(case, "failure", message=xml_text(message))
                failure.text = xml_text("\n".join(finding.examples))
            elif finding.outcome == "not measured":
                ElementTree.SubElement(case, "skipped", message=xml_text(finding.message))
        root = ElementTree.Element("testsuites")
        root.append(suite)
        ElementTree.indent(root)
        xml: bytes = ElementTree.tostring(root, encoding="utf-8", xml_declaration=True)
        return xml + b"\n"


def _totals(findings: Sequence[Finding]) -> dict[str, str]:
    outcomes = [finding.outcome for finding in findings]
    return {
        "tests": str(len(outcomes)),
        "failures": str(outcomes.count("failed")),
        "skipped": str(outcomes.count("not measured")),
        "errors": "0",
    }
