"""The metrics of a run, each under the text that named it: `exact_match`, or `tool_correctness:ordered=true`."""

from collections.abc import Sequence
from dataclasses import dataclass

from evergold import plugins
from evergold.bench.metrics import AnyMetric, judged, make_metric, parse_metric, spec_of
from evergold.errors import BadInput, unknown
from evergold.model.run import MetricSpec
from evergold.seams import Judge


@dataclass(frozen=True)
class NamedMetric:
    """A metric under the name a run calls it by."""

    name: str
    metric: AnyMetric

    @property
    def judged(self) -> bool:
        return judged(self.metric)

    def spec(self, judge: Judge | None) -> MetricSpec:
        return spec_of(self.name, judge).model_copy(update={"name": self.name})


def make_metrics(names: Sequence[str]) -> list[NamedMetric]:
    """The metrics of a run. Raises `BadInput` listing the valid names when one is unknown or none is given."""
    known = plugins.names("metrics")
    if not names:
        raise BadInput(f"no metrics given; choose some of: {', '.join(known)}")
    for text in names:
        name, _ = parse_metric(text)
        if name not in known:
            raise BadInput(unknown("metric", name, known))
    return [NamedMetric(text, make_metric(text)) for text in dict.fromkeys(names)]
