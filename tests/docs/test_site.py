"""The documentation as a site: `make docs` builds it, the server shows it at /docs, pages of the app lead into it."""

import re
from collections.abc import Iterator
from pathlib import Path

import pytest
from fastapi.testclient import TestClient
from playwright.sync_api import Route, expect

from evergold.api import pages
from evergold.api.app import create_app
from evergold.settings import Settings
from scripts.site import ROOT, build_site, read_index
from tests.e2e.pages import a_browser, a_page

pytestmark = pytest.mark.slow
SHELL = ROOT / "web" / "src" / "app" / "Shell.tsx"


@pytest.fixture(scope="module")
def site(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The site, built without a warning: broken links and anchors end the build."""
    folder = tmp_path_factory.mktemp("site") / "docs"
    build_site(folder)
    return folder


@pytest.fixture
def client(site: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[TestClient]:
    monkeypatch.setattr(pages, "DOCS", site)
    with TestClient(create_app(Settings(home=tmp_path / ".evergold")), base_url="http://localhost") as opened:
        yield opened


def test_every_page_is_served_as_a_page_and_as_markdown(client: TestClient) -> None:
    for rows in read_index().values():
        for _, path, _ in rows:
            page = client.get(f"/docs/{path.removesuffix('.md').replace('README', 'index')}")
            assert page.status_code == 200 and "<h1" in page.text, path
            source = client.get(f"/docs/{path}")
            assert source.headers["content-type"].startswith("text/markdown") and "# " in source.text, path
    assert client.get("/docs").url.path == "/docs/"
    missing = client.get("/docs/no-such-page")
    assert missing.status_code == 404 and "404" in missing.text
    assert client.get("/docs/%2e%2e/__init__.py").status_code == 404


def test_llms_txt_names_the_markdown_of_every_page(client: TestClient) -> None:
    answer = client.get("/llms.txt")
    links = re.findall(r"\]\((\S+?)\)", answer.text)
    assert {link for link in links if "/" not in link} >= {page.name for page in (ROOT / "docs").glob("*.md")}
    assert all(client.get(str(answer.url.join(link))).status_code == 200 for link in links)


def test_pages_load_nothing_from_elsewhere_and_run_no_foreign_script(client: TestClient, site: Path) -> None:
    for page in site.rglob("*.html"):
        assert not re.findall(r'(?:src|<link[^>]*href)="?(?:https?:)?//', page.read_text(encoding="utf-8")), page.name
    policy = client.get("/docs/").headers["content-security-policy"]
    scripts = policy.split("script-src")[1]
    assert "sha256-" in scripts and "unsafe" not in scripts


def test_pages_stay_few_and_short() -> None:
    """Whoever adds a page or a paragraph looks first for one that it replaces; figures go to docs/measurements."""
    pages = [ROOT / "README.md", *(ROOT / "docs").glob("*.md")]
    assert len(pages) <= 26
    assert sum(len(page.read_text(encoding="utf-8").split()) for page in pages) <= 30_000


def test_where_no_site_was_built_the_page_says_how(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(pages, "DOCS", tmp_path / "none")
    with TestClient(create_app(Settings(home=tmp_path)), base_url="http://localhost") as opened:
        page = opened.get("/docs/live")
    assert page.status_code == 200 and "make docs" in page.text and "/openapi.json" in page.text


def test_each_page_of_the_app_leads_to_a_part_that_exists(site: Path) -> None:
    listed = SHELL.read_text(encoding="utf-8").split("const HELP = [")[1].split("] as const")[0]
    links = re.findall(r'\["(\S+)", "([\w-]+\.html)(?:#([\w-]+))?"\]', listed)
    assert len(links) == listed.count("[")
    for _, page, anchor in links:
        assert f'id="{anchor}"' in (site / page).read_text(encoding="utf-8") if anchor else (site / page).is_file(), (
            page
        )


def test_the_site_finds_words_in_a_browser_and_can_be_dark(client: TestClient) -> None:
    complaints: list[str] = []

    def answer(route: Route) -> None:
        given = client.get(route.request.url.removeprefix("http://localhost"))
        route.fulfill(status=given.status_code, headers=dict(given.headers), body=given.content)

    with a_browser() as browser:
        page = a_page(browser, color_scheme="dark")
        page.on("console", lambda message: complaints.append(message.text) if message.type == "error" else None)
        page.route("**/*", answer)
        page.goto("http://localhost/docs/")
        expect(page.locator("body")).to_have_attribute("data-md-color-scheme", "slate")
        page.keyboard.press("/")
        page.keyboard.type("calibration kappa")
        expect(page.get_by_role("option", name="Calibration").first).to_be_visible()
    assert complaints == []
