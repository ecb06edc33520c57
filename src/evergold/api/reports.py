"""/benchmarks/runs/{id}/report.FORM: a run's report as a file to open or keep. Documents, so not part of the OpenAPI."""

from enum import StrEnum

from fastapi import Response

from evergold.api.opened import Opened
from evergold.api.routing import Router

router = Router(prefix="/api/v1", tags=["benchmarks"], include_in_schema=False)


class Form(StrEnum):
    HTML = "html"
    MARKDOWN = "md"
    JSON = "json"
    JUNIT = "xml"


RENDERED = {
    Form.HTML: ("html", "text/html; charset=utf-8"),
    Form.MARKDOWN: ("markdown", "text/markdown; charset=utf-8"),
    Form.JSON: ("json", "application/json"),
    Form.JUNIT: ("junit", "application/xml"),
}


@router.get("/benchmarks/runs/{run_id}/report.{form}")
def report(workspace: Opened, run_id: str, form: Form, weighted: bool | None = None) -> Response:
    """The report, with a policy that lets the page load nothing; `weighted` counts each question once in its means."""
    name, content_type = RENDERED[form]
    # A report shows text of models on the origin of the user's token: `sandbox` takes that origin away.
    policy = {"Content-Security-Policy": "default-src 'none'; style-src 'unsafe-inline'; sandbox"}
    text = workspace.judging.rendered(run_id, name, weighted=weighted)
    return Response(text, media_type=content_type, headers=policy)
