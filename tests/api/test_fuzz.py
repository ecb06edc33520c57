"""Every route, with whatever its own description allows and some that it does not: never a 500.

A few requests for each route: `python -m tests.faults fuzz` sends as many as one likes to a real server.
"""

from collections.abc import Iterator
from typing import Any

import pytest
import schemathesis
from hypothesis import HealthCheck, settings
from schemathesis.checks import not_a_server_error
from schemathesis.core.result import Ok
from schemathesis.pytest.lazy import get_all_tests
from starlette.testclient import TestClient

from evergold.api.app import create_app
from evergold.settings import Settings
from tests.patience import PATIENCE
from tests.rows import try_each

pytestmark = pytest.mark.slow


@pytest.fixture(scope="module")
def description(tmp_path_factory: pytest.TempPathFactory) -> Iterator[schemathesis.BaseSchema]:
    home = tmp_path_factory.mktemp("fuzz") / "home"
    app = create_app(Settings(home=home, server_hosts=("testserver",), server_token="fuzz"))
    with TestClient(app, base_url="http://localhost"):
        yield schemathesis.openapi.from_asgi("/openapi.json", app, timeout=PATIENCE).exclude(path_regex="/events$")


STEADY = settings(suppress_health_check=list(HealthCheck), deadline=None, derandomize=True)


def send(case: schemathesis.Case[Any]) -> None:
    owner = {"Authorization": "Bearer fuzz"}  # some requests make tokens, and from then on every caller needs one
    case.call_and_validate(checks=[not_a_server_error], headers=owner, timeout=60)  # a busy machine is no hang


@pytest.mark.parametrize("every_constraint", [False, pytest.param(True, marks=pytest.mark.campaign)])
def test_no_request_breaks_the_server(description: schemathesis.BaseSchema, every_constraint: bool) -> None:
    """A few requests for each route; with `every_constraint` also one for each limit that the description states."""
    description.config.phases.coverage.enabled = every_constraint
    # One test: as tests of their own, the routes and their requests would be built by every process that collects tests.
    examples = settings(STEADY, max_examples=5 if every_constraint else 2)
    results = get_all_tests(schema=description, test_func=send, settings=examples, given_kwargs={})
    built = [result.ok() for result in results if isinstance(result, Ok)]
    assert len(built) == len(list(description.get_all_operations())) > 50
    try_each((operation.label, test) for operation, test in built)
