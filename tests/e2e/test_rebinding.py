"""DNS rebinding in a real browser: a name of the attacker's that resolves to this machine reads and changes nothing."""

from collections.abc import Iterator

import pytest
from playwright.sync_api import Browser

from tests.api.serving import calling, served
from tests.e2e.pages import REBOUND, a_page

pytestmark = pytest.mark.slow

CALL = """async ([path, method]) => {
  const sent = method === "GET" ? { method } : { method, body: "[]", headers: { "content-type": "application/json" } };
  const answer = await fetch(path, sent);
  return [answer.status, await answer.text()];
}"""


@pytest.fixture(scope="module")
def server(tmp_path_factory: pytest.TempPathFactory) -> Iterator[str]:
    with served(tmp_path_factory.mktemp("rebound")) as url, calling(url) as client:
        client.post("/api/v1/traces", json={"id": "secret", "input": "my secret"})
        yield url


def test_a_rebound_name_neither_reads_nor_writes_nor_starts_runs(browser: Browser, server: str) -> None:
    page = a_page(browser)
    page.goto(server.replace("127.0.0.1", REBOUND))
    for path, method in (
        ("/api/v1/traces/secret", "GET"),
        ("/api/v1/traces", "POST"),
        ("/api/v1/benchmarks/runs", "POST"),
        ("/v1/traces", "POST"),
        ("/openapi.json", "GET"),
    ):
        status, text = page.evaluate(CALL, [path, method])
        assert (status, "my secret" in text) == (403, False), f"{method} {path}: {text[:200]}"
    page.context.close()


def test_a_page_of_another_site_cannot_post_a_form(browser: Browser, server: str) -> None:
    page = a_page(browser)
    page.set_content(f'<form action="{server}/api/v1/traces" method="post"><button>Win a prize</button></form>')
    with page.expect_navigation() as posted:
        page.get_by_role("button").click()
    assert posted.value is not None and posted.value.status == 403
    page.context.close()


def test_the_server_s_own_name_works(browser: Browser, server: str) -> None:
    page = a_page(browser)
    page.goto(server.replace("127.0.0.1", "localhost"))
    status, text = page.evaluate(CALL, ["/api/v1/traces/secret", "GET"])
    assert (status, "my secret" in text) == (200, True)
    assert page.evaluate(CALL, ["/api/v1/traces", "POST"])[0] in (201, 400)
    page.context.close()
