"""Every route, with whatever its own description allows and some that it does not: never a 500.

A few requests for each route: `perf.faults fuzz` sends as many as one likes to a real server.
"""

import tempfile
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
import schemathesis
from hypothesis import HealthCheck, settings
from schemathesis.checks import not_a_server_error
from starlette.testclient import TestClient

from evergold.api.app import create_app
from evergold.settings import Settings

pytestmark = pytest.mark.slow

folder = tempfile.TemporaryDirectory()
app = create_app(Settings(home=Path(folder.name) / "home", server_hosts=("testserver",), server_token="fuzz"))
schema = schemathesis.openapi.from_asgi("/openapi.json", app).exclude(path_regex="/events$")


@pytest.fixture(scope="module", autouse=True)
def running() -> Iterator[None]:
    with TestClient(app, base_url="http://localhost"):
        yield
    folder.cleanup()


@schema.parametrize()
@settings(max_examples=5, suppress_health_check=list(HealthCheck), deadline=None, derandomize=True)
def test_no_request_breaks_the_server(case: schemathesis.Case[Any]) -> None:
    owner = {"Authorization": "Bearer fuzz"}  # some requests make tokens, and from then on every caller needs one
    case.call_and_validate(checks=[not_a_server_error], headers=owner, timeout=60)  # a busy machine is no hang
