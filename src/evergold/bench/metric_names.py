"""`NAME` or `NAME:param=value,…` → a metric, and the record of it that a run keeps."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, fields, is_dataclass
from typing import Any

import orjson

from evergold import plugins
from evergold.errors import BadInput, unknown
from evergold.model.run import MetricSpec
from evergold.seams import Judge


@dataclass(frozen=True)
class NamedMetric:
    """A metric under the name a run calls it by."""

    name: str
    metric: Any

    @property
    def judged(self) -> bool:
        return hasattr(self.metric, "measure_with")

    def spec(self, judge: Judge | None) -> MetricSpec:
        params = (
            {f.name: getattr(self.metric, f.name) for f in fields(self.metric)} if is_dataclass(self.metric) else {}
        )
        return MetricSpec(
            name=self.name,
            version=self.metric.version,
            params=orjson.loads(orjson.dumps(params, default=str)),
            judge=judge.identity if self.judged and judge else None,
            prompt_hash=self.metric.prompt_hash() if self.judged else None,
        )


def make_metrics(names: Sequence[str]) -> list[NamedMetric]:
    """The metrics of a run. Raises `BadInput` listing the valid names when one is unknown or none is given."""
    known = plugins.names("metrics")
    if not names:
        raise BadInput(f"no metrics given; choose some of: {', '.join(known)}")
    made = []
    for text in dict.fromkeys(names):
        name, _, rest = text.partition(":")
        if name not in known:
            raise BadInput(unknown("metric", name, known))
        made.append(NamedMetric(text, plugins.load("metrics", name, **_params(text, rest))))
    return made


def _params(text: str, rest: str) -> Mapping[str, Any]:
    params: dict[str, Any] = {}
    for part in filter(None, rest.split(",")):
        key, sign, value = part.partition("=")
        if not sign or not key.strip():
            raise BadInput(f"metric {text!r}: {part!r} is not PARAM=VALUE, as in tool_correctness:ordered=true")
        params[key.strip()] = _value(value.strip())
    return params


def _value(text: str) -> Any:
    try:
        return orjson.loads(text)
    except orjson.JSONDecodeError:
        return text
