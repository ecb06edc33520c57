"""The web app, from the files built into the package: any path that is not the API's is a page of it.

/api/docs is the REST interface as one page of plain HTML, written from its OpenAPI document. No script and nothing from
another host: the page lies on the origin that holds the user's token.
"""

from functools import cache
from html import escape
from pathlib import Path
from typing import Any

from fastapi import FastAPI
from fastapi.responses import FileResponse, HTMLResponse, Response
from fastapi.staticfiles import StaticFiles

from evergold.api.errors import refusal
from evergold.api.requests import restore_slashes

DIST = Path(__file__).parent.parent / "web_dist"
NOT_BUILT = "<!doctype html><title>Evergold</title><p>The web app is not built here: run <code>make setup</code>.</p>"
HEADERS = {
    # The page names files with hashes in their names; an old page would ask for files that are gone.
    "Cache-Control": "no-cache",
    "Content-Security-Policy": (
        "default-src 'self'; style-src 'self' 'unsafe-inline'; img-src 'self' data: blob:; "
        "object-src 'none'; base-uri 'none'; frame-ancestors 'none'"
    ),
    "X-Content-Type-Options": "nosniff",
    "Referrer-Policy": "no-referrer",
}


def install_pages(app: FastAPI) -> None:
    if (DIST / "assets").is_dir():
        app.mount("/assets", StaticFiles(directory=DIST / "assets"), name="assets")

    icons = {file.name for file in DIST.glob("*") if file.is_file() and file.name != "index.html"}

    @app.get("/{path:path}", include_in_schema=False)
    def page(path: str) -> Response:
        if path.startswith(("api/", "v1/")):
            return refusal(404, f"no route /{restore_slashes(path)}; /openapi.json lists them")
        index = DIST / "index.html"
        if not index.is_file():
            return HTMLResponse(NOT_BUILT, headers=HEADERS)
        if path in icons:
            return FileResponse(DIST / path)
        # Every other path is a page of the app, which routes in the browser.
        return HTMLResponse(index.read_bytes(), headers=HEADERS)


STYLE = """body{font:15px/1.5 system-ui,sans-serif;max-width:60rem;margin:2rem auto;padding:0 1rem;color-scheme:light dark}
code,pre{font:13px/1.5 ui-monospace,monospace}summary{cursor:pointer;padding:.3rem 0}td,th{text-align:left;
padding:.15rem 1rem .15rem 0;vertical-align:top}details{border-top:1px solid #8885}pre{overflow:auto}.m{display:inline-block;
width:4.5rem;font-weight:600}"""
POLICY = {**HEADERS, "Content-Security-Policy": f"{HEADERS['Content-Security-Policy']}; script-src 'none'"}


def install_reference(app: FastAPI) -> None:
    # Written on the first request: making the OpenAPI document takes longer than starting the server may.
    @cache
    def write_page() -> str:
        return write_reference(app.openapi())

    @app.get("/api/docs", include_in_schema=False)
    def reference() -> HTMLResponse:
        return HTMLResponse(write_page(), headers=POLICY)


def write_reference(document: dict[str, Any]) -> str:
    """Write the page: routes by tag, then the shapes they use."""
    tags: dict[str, list[str]] = {}
    for path, methods in document["paths"].items():
        for method, operation in methods.items():
            tags.setdefault((operation.get("tags") or ["other"])[0], []).append(_operation(method, path, operation))
    schemas = document.get("components", {}).get("schemas", {})
    parts = [f"<h2>{escape(tag)}</h2>{''.join(operations)}" for tag, operations in tags.items()]
    parts.append("<h2>Shapes</h2>" + "".join(_shape(name, shape) for name, shape in sorted(schemas.items())))
    title = f"{document['info']['title']} {document['info']['version']}: REST interface"
    return (
        f'<!doctype html><html lang="en"><meta charset="utf-8"><meta name="viewport" content="width=device-width">'
        f"<title>{escape(title)}</title><style>{STYLE}</style><h1>{escape(title)}</h1>"
        f'<p>For programs: <a href="/openapi.json">/openapi.json</a>.</p>{"".join(parts)}</html>'
    )


def _operation(method: str, path: str, operation: dict[str, Any]) -> str:
    rows = [
        (
            f"{given['name']} ({given['in']})",
            given["schema"],
            given.get("description", ""),
            given.get("required", False),
        )
        for given in operation.get("parameters", ())
    ]
    body = operation.get("requestBody", {}).get("content", {}).get("application/json", {}).get("schema")
    if body is not None:
        rows.append(("body", body, "", True))
    for status, answer in operation.get("responses", {}).items():
        shape = answer.get("content", {}).get("application/json", {}).get("schema", {})
        rows.append((f"answers {status}", shape, answer.get("description", ""), False))
    return (
        f'<details><summary><span class="m">{method.upper()}</span><code>{escape(path)}</code></summary>'
        f"<p>{escape(operation.get('description', ''))}</p>{_table(rows)}</details>"
    )


def _shape(name: str, shape: dict[str, Any]) -> str:
    required = shape.get("required", ())
    rows = [
        (field, value, value.get("description", ""), field in required)
        for field, value in shape.get("properties", {}).items()
    ]
    listed = f"<p>One of {escape(', '.join(map(str, shape['enum'])))}.</p>" if "enum" in shape else ""
    return (
        f'<details id="{escape(name)}"><summary><code>{escape(name)}</code></summary>'
        f"<p>{escape(shape.get('description', ''))}</p>{listed}{_table(rows)}</details>"
    )


def _table(rows: list[tuple[str, dict[str, Any], str, bool]]) -> str:
    cells = (
        f"<tr><td><code>{escape(name)}</code>{' *' if needed else ''}<td>{_type(shape)}<td>{escape(text)}</tr>"
        for name, shape, text, needed in rows
    )
    return f"<table>{''.join(cells)}</table>"


def _type(shape: dict[str, Any]) -> str:
    """Name a type in a few words; a shape is a link to its description."""
    if "$ref" in shape:
        name = escape(shape["$ref"].rpartition("/")[2])
        return f'<a href="#{name}">{name}</a>'
    several = shape.get("anyOf") or shape.get("oneOf")
    if several:
        return " or ".join(_type(part) for part in several)
    if "enum" in shape:
        return escape(" or ".join(map(repr, shape["enum"])))
    if shape.get("type") == "array":
        return f"list of {_type(shape.get('items', {}))}"
    return escape(str(shape.get("type", "any")))
