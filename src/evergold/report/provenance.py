"""The block that makes a report worth keeping: enough to know whether another number means the same."""

from evergold.report.summary import RunReport


def provenance_rows(report: RunReport) -> list[tuple[str, str]]:
    run = report.run
    dataset = run.provenance.get("dataset") or {}
    rows = [
        ("run", run.id),
        ("status", str(run.status)),
        ("dataset", f"{dataset.get('name', run.spec.dataset)} {dataset.get('version', '')}".strip()),
        ("dataset hash", str(dataset.get("content_hash") or "not recorded")),
        ("target", run.provenance.get("target") or run.spec.model),
        ("judge", str(run.provenance.get("judge") or "none")),
        ("trials", f"{run.spec.trials} (reduced by {report.reducer})"),
        ("seed", "none" if run.spec.seed is None else str(run.spec.seed)),
        ("code", str(run.provenance.get("code") or "not recorded")),
        ("started", run.started_at.isoformat() if run.started_at else "–"),
        ("ended", run.ended_at.isoformat() if run.ended_at else "–"),
    ]
    for summary in report.metrics:
        spec = summary.spec
        params = ", ".join(f"{name}={value}" for name, value in spec.params.items() if value is not None)
        prompts = f", prompts {spec.prompt_hash[:19]}" if spec.prompt_hash else ""
        rows.append((f"metric {spec.name}", f"version {spec.version}" + (f" ({params})" if params else "") + prompts))
    return rows


def spending_rows(report: RunReport) -> list[tuple[str, ...]]:
    """(side, calls, tokens in, tokens out, cost, median, p95) for target and judge, apart."""
    rows: list[tuple[str, ...]] = []
    for side, spent in (("target", report.target), ("judge", report.judge)):
        cost = "unknown" if spent.usage.cost is None else f"${spent.usage.cost:.4f}"
        # No price and no tokens means that no call was made; "unknown" would suggest a bill that nobody can read.
        if spent.usage.cost is None and not spent.usage.input_tokens:
            cost = "–"
        times = (_milliseconds(spent.median_ms), _milliseconds(spent.p95_ms))
        rows.append(
            (side, f"{spent.calls:,}", f"{spent.usage.input_tokens:,}", f"{spent.usage.output_tokens:,}", cost, *times)
        )
    return rows


def _milliseconds(value: float | None) -> str:
    return "–" if value is None else f"{value:,.0f} ms"
