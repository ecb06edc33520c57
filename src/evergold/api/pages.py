"""The web app, from the files built into the package: any path that is not the API's is a page of it."""

from pathlib import Path

from fastapi import FastAPI
from fastapi.responses import FileResponse, HTMLResponse, Response
from fastapi.staticfiles import StaticFiles

from evergold.api.errors import refusal
from evergold.api.routing import whole

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
            return refusal(404, f"no route /{whole(path)}; /openapi.json lists them")
        index = DIST / "index.html"
        if not index.is_file():
            return HTMLResponse(NOT_BUILT, headers=HEADERS)
        if path in icons:
            return FileResponse(DIST / path)
        # Every other path is a page of the app, which routes in the browser.
        return HTMLResponse(index.read_bytes(), headers=HEADERS)
