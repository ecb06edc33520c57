"""The web app and the documentation, from files built into the package: a path that is no other's is a page of the app.

/docs is the documentation, with the Markdown of each page and llms.txt (`scripts/site.py` builds it). /api/docs is the
REST interface as one page of plain HTML, written from its OpenAPI document. Nothing comes from another host and no
script but ours runs: the pages lie on the origin that holds the user's token.
"""

import re
from base64 import b64encode
from functools import cache
from hashlib import sha256
from html import escape
from pathlib import Path
from typing import Any

from fastapi import FastAPI
from fastapi.responses import FileResponse, HTMLResponse, RedirectResponse, Response
from fastapi.staticfiles import StaticFiles

from evergold.api.errors import refusal
from evergold.api.requests import restore_slashes

DIST = Path(__file__).parent.parent / "web_dist"
DOCS = Path(__file__).parent.parent / "docs_dist"
NOT_BUILT = "<!doctype html><title>Evergold</title><p>The web app is not built here: run <code>make setup</code>.</p>"
NO_DOCS = (
    "<!doctype html><title>Evergold</title><h1>The documentation is not built here</h1><p>In a clone <code>make docs</code> "
    "builds it; its pages are Markdown files in <code>docs/</code>. <code>evergold --help</code> lists the commands, and "
    '<a href="/api/docs">/api/docs</a> describes the REST interface.</p>'
)
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


INLINE = re.compile(rb"<script>(.*?)</script>", re.DOTALL)


def install_docs(app: FastAPI) -> None:
    @cache
    def list_files() -> dict[str, Path]:
        return {file.relative_to(DOCS).as_posix(): file for file in DOCS.rglob("*") if file.is_file()}

    @app.get("/docs", include_in_schema=False)
    def enter() -> RedirectResponse:
        return RedirectResponse("/docs/")  # links of its pages start there

    @app.get("/llms.txt", include_in_schema=False)
    def llms() -> RedirectResponse:
        return RedirectResponse("/docs/llms.txt")

    @app.get("/docs/{path:path}", include_in_schema=False)
    def docs(path: str) -> Response:
        files = list_files()
        if not files:
            return HTMLResponse(NO_DOCS, headers=HEADERS)
        file = files.get(path or "index.html") or files.get(f"{path}.html")
        if file is not None and file.suffix != ".html":
            kind = "text/markdown" if file.suffix == ".md" else None
            return FileResponse(file, media_type=kind, headers=HEADERS)
        body = (file or files["404.html"]).read_bytes()
        return HTMLResponse(
            body, 404 if file is None else 200, {**HEADERS, "Content-Security-Policy": _allow_scripts(body)}
        )


def _allow_scripts(page: bytes) -> str:
    """Allow the scripts that stand in a page of ours, by their hashes, and no other."""
    hashes = (f"'sha256-{b64encode(sha256(script).digest()).decode()}'" for script in INLINE.findall(page))
    return f"{HEADERS['Content-Security-Policy']}; script-src 'self' {' '.join(hashes)}"


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
