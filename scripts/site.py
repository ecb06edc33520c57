"""Build the documentation site into the package: `src/evergold/docs_dist`, which the server shows at `/docs`.

The README is the index: its tables give the pages, their titles and their order, here and in `llms.txt`. The Markdown of
each page lies beside it (`/docs/live.md`). A broken link or anchor, or a page that the README leaves out, ends the build.
"""

import json
import re
import shutil
import subprocess
import sys
import tempfile
from pathlib import Path

ROOT = Path(__file__).parent.parent
TARGET = ROOT / "src" / "evergold" / "docs_dist"
ROOT_PAGES = ("README.md", "SECURITY.md")
TERM = re.compile(r"^\| (?!word )([a-z][a-z ]*) \|", re.MULTILINE)
LINK = re.compile(r"(?<!!)\[([^\]]*)\]\((?!https?://|#|mailto:)([^)#\s]+)([^)\s]*)\)")
ROW = re.compile(r"^\| \[([^\]]+)\]\(([^)#]+\.md)\) \| (.+) \|$", re.MULTILINE)
CONFIG = """
[project]
site_name = "Evergold"
site_description = "Living golden datasets: evaluation data that grows out of real use."
docs_dir = "pages"
site_dir = "site"
use_directory_urls = false
nav = {nav}

[project.theme]
font = false
features = [
  "content.code.copy", "navigation.footer", "navigation.sections", "navigation.top", "navigation.tracking", "search.highlight",
]

[[project.theme.palette]]
media = "(prefers-color-scheme)"
toggle = {{ icon = "lucide/sun-moon", name = "Switch to light mode" }}

[[project.theme.palette]]
media = "(prefers-color-scheme: light)"
scheme = "default"
toggle = {{ icon = "lucide/sun", name = "Switch to dark mode" }}

[[project.theme.palette]]
media = "(prefers-color-scheme: dark)"
scheme = "slate"
toggle = {{ icon = "lucide/moon", name = "Switch to system preference" }}

[project.plugins.search]

[project.markdown_extensions]
tables = {{}}
toc.permalink = true
pymdownx.highlight.pygments_lang_class = true
pymdownx.superfences = {{}}
"""


def build_site(target: Path = TARGET) -> None:
    """Build the site anew and put it in place of the one that is there."""
    sections = read_index()
    with tempfile.TemporaryDirectory() as folder:
        work = Path(folder)
        stage_pages(work / "pages")
        (work / "zensical.toml").write_text(CONFIG.format(nav=_nav(sections)), encoding="utf-8")
        config = str(work / "zensical.toml")
        command = [sys.executable, "-m", "zensical", "build", "--strict", "--config-file", config]
        done = subprocess.run(command, cwd=work, capture_output=True, text=True, check=False)
        if done.returncode:
            raise SystemExit(f"the documentation was not built:\n{_problems(done.stdout + done.stderr)}")
        site = work / "site"
        for page in (work / "pages").rglob("*.md"):
            shutil.copy(page, site / page.relative_to(work / "pages"))
        (site / "llms.txt").write_text(write_llms(sections), encoding="utf-8")
        _leave_out(site)
        shutil.rmtree(target, ignore_errors=True)
        shutil.copytree(site, target)


def read_index() -> dict[str, list[tuple[str, str, str]]]:
    """Read the tables below the headings of "Documents" in the README: title, page and what it has, by heading."""
    documents = (ROOT / "README.md").read_text(encoding="utf-8").split("\n## Documents\n", 1)[1].split("\n## ", 1)[0]
    sections = {}
    for part in documents.split("\n### ")[1:]:
        heading, _, rows = part.partition("\n")
        sections[heading] = [(title, path.removeprefix("docs/"), about) for title, path, about in ROW.findall(rows)]
    listed = [path for rows in sections.values() for _, path, _ in rows]
    unlisted = sorted({page.name for page in (ROOT / "docs").glob("*.md")} - set(listed))
    if unlisted or len(listed) != len(set(listed)):
        raise SystemExit(f"the README lists each page of docs/ once; it lacks {unlisted or 'none, but has one twice'}")
    return sections


def stage_pages(folder: Path) -> None:
    """Copy pages and pictures with links as the site has them; what lies outside of it is named instead of linked."""
    shutil.copytree(ROOT / "docs", folder, ignore=shutil.ignore_patterns("decisions"))
    for page in folder.rglob("*.md"):
        depth = "../" * (len(page.relative_to(folder).parts) - 1)
        text = _relink(page.read_text(encoding="utf-8"), page.parent, folder, f"{depth}../")
        if page.name == "glossary.md":
            # The app links to single words.
            text = TERM.sub(lambda row: f'| <span id="{row[1].replace(" ", "-")}">{row[1]}</span> |', text)
        # Figures are linked from guides; a search finds the guide first.
        page.write_text(f"---\nsearch:\n  exclude: true\n---\n\n{text}" if depth else text, encoding="utf-8")
    for name in ROOT_PAGES:
        text = (ROOT / name).read_text(encoding="utf-8").replace("](docs/", "](")
        page = folder / ("index.md" if name == "README.md" else name)
        page.write_text(_relink(text, folder, folder, ""), encoding="utf-8")


def _relink(text: str, here: Path, folder: Path, outside: str) -> str:
    def link(match: re.Match[str]) -> str:
        words, path, anchor = match.groups()
        name = path.removeprefix(outside)
        if name in ROOT_PAGES:
            path = f"{outside.removesuffix('../')}{'index.md' if name == 'README.md' else name}"
        elif not (here / path).exists():
            return f"{words} (`{name}`)" if words.strip("`") != name else f"`{name}`"
        return f"[{words}]({path}{anchor})"

    return LINK.sub(link, text)


def write_llms(sections: dict[str, list[tuple[str, str, str]]]) -> str:
    """Write what `llms.txt` says: each page's Markdown with what it has."""
    lines = ["# Evergold", "", "> Living golden datasets: evaluation data that grows out of real use.", ""]
    for heading, rows in sections.items():
        lines += [f"## {heading}", "", *(f"- [{title}]({path}): {about}" for title, path, about in rows), ""]
    return "\n".join(lines)


def _nav(sections: dict[str, list[tuple[str, str, str]]]) -> str:
    entries = [
        f"{{{json.dumps(heading)} = [{', '.join(_entry(row) for row in rows)}]}}" for heading, rows in sections.items()
    ]
    return f'[{{"Evergold" = "index.md"}}, {", ".join(entries)}]'


def _entry(row: tuple[str, str, str]) -> str:
    return f"{{{json.dumps(row[0])} = {json.dumps(row[1])}}}"


def _problems(printed: str) -> str:
    plain = re.sub(r"\x1b\[[\d;]*m", "", printed)
    warnings = re.findall(r"Warning: (.+)\n.*\[ (\S+) \]", plain)
    return "\n".join(f"{where}: {message}" for message, where in warnings) or plain


def _leave_out(site: Path) -> None:
    """Remove what no page of ours uses."""
    for unused in (site / "sitemap.xml", site / "sitemap.xml.gz", site / "objects.inv"):
        unused.unlink(missing_ok=True)
    shutil.rmtree(site / "assets" / "stylesheets" / "classic", ignore_errors=True)
    pages = "".join(page.read_text(encoding="utf-8") for page in site.rglob("*.html"))
    for picture in (site / "img").glob("*"):
        if picture.name not in pages:
            picture.unlink()


if __name__ == "__main__":
    build_site()
