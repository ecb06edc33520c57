"""Citations: does an answer point at the passages it was given, and do they say what it says?"""

import re
from dataclasses import dataclass
from typing import ClassVar

from evergold.bench.metrics.text import words
from evergold.model.case import Case
from evergold.model.run import Attempt, Measurement
from evergold.text.markers import cited_sentences, markers, without_markers

_LEADING_MARKER = re.compile(r"\A\s*\[\d+\]\s*")
NO_CONTEXTS = "the case has no contexts to cite"


def cited_contexts(case: Case, text: str) -> list[int]:
    """The distinct contexts cited, as numbers from 1; out of range, or lost (a context without text), is not one."""
    numbers = dict.fromkeys(markers(text))
    return [n for n in numbers if 1 <= n <= len(case.contexts) and case.contexts[n - 1].text is not None]


def long_words(text: str) -> set[str]:
    """The words of over three letters."""
    return {word for word in words(text) if len(word) > 3}


@dataclass(frozen=True)
class CitationPrecision:
    """Markers in range over all markers; 1 when there is none (nothing was cited wrongly)."""

    version: ClassVar[str] = "1"

    def measure(self, case: Case, attempt: Attempt) -> Measurement:
        result = markers(attempt.output)
        if not result:
            # Nothing cited is nothing cited wrongly; recall shows that something is missing.
            return Measurement.of(1.0, "no markers", markers=0, uncited=True)
        wrong = sorted({n for n in result if not 1 <= n <= len(case.contexts)})
        good = sum(1 <= n <= len(case.contexts) for n in result)
        reason = f"out of range: {', '.join(map(str, wrong))}" if wrong else None
        return Measurement.of(good / len(result), reason, markers=len(result), out_of_range=wrong)


@dataclass(frozen=True)
class CitationRecall:
    """Distinct contexts cited over all contexts."""

    version: ClassVar[str] = "1"

    def measure(self, case: Case, attempt: Attempt) -> Measurement:
        # Contexts whose text was lost cannot be cited, so they are not demanded.
        present = sum(context.text is not None for context in case.contexts)
        if not present:
            return Measurement.unscored(NO_CONTEXTS)
        cited = cited_contexts(case, attempt.output)
        return Measurement.of(len(cited) / present, cited=cited)


@dataclass(frozen=True)
class CitationCoverage:
    """How much of what is cited was used: per cited context the share of its words of over three letters that stand in
    the answer, averaged."""

    version: ClassVar[str] = "1"

    def measure(self, case: Case, attempt: Attempt) -> Measurement:
        answer = long_words(attempt.output)
        shares = []
        for number in cited_contexts(case, attempt.output):
            # The label `[1]` in front of a context is no word of it.
            wanted = long_words(_LEADING_MARKER.sub("", case.contexts[number - 1].text or ""))
            if wanted:
                shares.append(len(wanted & answer) / len(wanted))
        if not shares:
            return Measurement.unscored("the answer cites no context with words to look for")
        return Measurement.of(sum(shares) / len(shares), contexts=len(shares))


@dataclass(frozen=True)
class CitationGrounded:
    """The share of the answer's sentences that cite a context holding at least `share` of their longer words."""

    version: ClassVar[str] = "1"
    share: float = 0.5

    def measure(self, case: Case, attempt: Attempt) -> Measurement:
        if not case.contexts:
            return Measurement.unscored(NO_CONTEXTS)
        parts = [part for part in cited_sentences(attempt.output) if long_words(without_markers(part))]
        if not parts:
            return Measurement.unscored("the answer has no sentence to ground")
        loose = []
        for part in parts:
            cited_words, offered = long_words(without_markers(part)), set[str]()
            for number in cited_contexts(case, part):
                offered |= long_words(case.contexts[number - 1].text or "")
            if len(cited_words & offered) / len(cited_words) < self.share:
                loose.append(part)
        reason = f"not grounded: {loose[0]}" if loose else None
        return Measurement.of(1 - len(loose) / len(parts), reason, sentences=len(parts))
