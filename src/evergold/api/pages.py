"""The web app and the documentation, from files built into the package: a path that is no other's is a page of the app.

/docs is the documentation, with the Markdown of each page and llms.txt (`scripts/site.py` builds it); /api/docs leads to its
reference. Nothing comes from another host and no script but ours runs: the pages lie on the origin that holds the user's
token.
"""

import gzip
import re
from base64 import b64encode
from functools import cache
from hashlib import sha256
from mimetypes import guess_type
from pathlib import Path

from fastapi import FastAPI, Request
from fastapi.responses import FileResponse, HTMLResponse, RedirectResponse, Response
from starlette.routing import Route

from evergold.api.errors import refusal
from evergold.api.requests import restore_slashes

DIST = Path(__file__).parent.parent / "web_dist"
DOCS = Path(__file__).parent.parent / "docs_dist"
NOT_BUILT = "<!doctype html><title>Evergold</title><p>The web app is not built here: run <code>make setup</code>.</p>"
NO_DOCS = (
    "<!doctype html><title>Evergold</title><h1>The documentation is not built here</h1><p>In a clone <code>make docs</code> "
    "builds it; its pages are Markdown files in <code>docs/</code>. <code>evergold --help</code> lists the commands, and "
    '<a href="/openapi.json">/openapi.json</a> describes the REST interface.</p>'
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

# Files with hashes in their names never change.
ASSET_HEADERS = {"Cache-Control": "public, max-age=31536000, immutable", "Vary": "Accept-Encoding"}


def install_pages(app: FastAPI) -> None:
    @app.get("/assets/{name}", include_in_schema=False)
    def asset(name: str, request: Request) -> Response:
        file = next((each for each in (DIST / "assets").glob("*") if each.name == name), None)
        if file is None:
            return refusal(404, f"no file {name}: the app was built anew; load the page again")
        if "gzip" not in request.headers.get("accept-encoding", ""):
            return FileResponse(file, headers=ASSET_HEADERS)
        headers = {**ASSET_HEADERS, "Content-Encoding": "gzip"}
        return Response(_read_packed(file), media_type=guess_type(name)[0], headers=headers)

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


@cache
def _read_packed(file: Path) -> bytes:
    """Compress a file once, as far as gzip can: every first visit is the smaller for it."""
    return gzip.compress(file.read_bytes())


INLINE = re.compile(rb"<script>(.*?)</script>", re.DOTALL)
# Links of the documentation's pages start at the slash.
LEADS = {"/docs": "/docs/", "/api/docs": "/docs/reference#routes", "/llms.txt": "/docs/llms.txt"}


def install_docs(app: FastAPI) -> None:
    @cache
    def list_files() -> dict[str, Path]:
        return {file.relative_to(DOCS).as_posix(): file for file in DOCS.rglob("*") if file.is_file()}

    for path, target in LEADS.items():
        app.router.routes.append(Route(path, RedirectResponse(target), methods=["GET"], include_in_schema=False))

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
