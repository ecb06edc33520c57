"""The files of `deploy/` are what their schemas allow, and name routes, settings and programs that exist."""

import json
import re
from pathlib import Path
from typing import Any

import jsonschema_rs
import yaml

from evergold.api.app import interface
from evergold.cli.serve import LAST_ANSWER_SECONDS

DEPLOY = Path(__file__).parent.parent.parent / "deploy"
SCHEMAS = Path(__file__).parent / "schemas"
KINDS = {"Deployment": "io.k8s.api.apps.v1.Deployment", "Service": "io.k8s.api.core.v1.Service"}


def container() -> dict[str, Any]:
    deployment, service = yaml.safe_load_all((DEPLOY / "kubernetes.yaml").read_text())
    spec = deployment["spec"]["template"]["spec"]["containers"][0]
    assert service["spec"]["ports"][0]["port"] == spec["ports"][0]["containerPort"]
    return dict(spec)


def test_probes_ask_routes_that_exist() -> None:
    routes = interface()["paths"]
    for probe in ("livenessProbe", "readinessProbe"):
        assert container()[probe]["httpGet"]["path"] in routes


def test_variables_are_settings() -> None:
    reference = (DEPLOY.parent / "docs" / "reference.md").read_text()
    compose = yaml.safe_load((DEPLOY / "compose.yaml").read_text())
    named = {one["name"] for one in container()["env"]} | set(compose["services"]["evergold"]["environment"])
    assert named
    assert not [name for name in named if f"`{name}`" not in reference]


def test_all_start_the_same_command() -> None:
    command = ["evergold", "serve", "--host", "0.0.0.0", "--port", "8321"]
    compose = yaml.safe_load((DEPLOY / "compose.yaml").read_text())
    assert container()["args"] == compose["services"]["evergold"]["command"] == command
    assert "serve --host 0.0.0.0 --port 8321" in (DEPLOY / "evergold.service").read_text()
    assert all(f'"{word}"' in (DEPLOY / "Dockerfile").read_text() for word in command)


def test_servers_are_not_root_and_cannot_write_to_their_image() -> None:
    compose = yaml.safe_load((DEPLOY / "compose.yaml").read_text())["services"]["evergold"]
    assert compose["read_only"] and compose["cap_drop"] == ["ALL"]
    inside = container()["securityContext"]
    assert inside["runAsNonRoot"] and inside["readOnlyRootFilesystem"]
    assert f"USER {inside['runAsUser']}" in (DEPLOY / "Dockerfile").read_text()


def test_grace_periods_leave_time_for_requests_under_way() -> None:
    needed = LAST_ANSWER_SECONDS + 5  # closing takes up to five seconds more
    deployment, _ = yaml.safe_load_all((DEPLOY / "kubernetes.yaml").read_text())
    waits = int(container()["lifecycle"]["preStop"]["exec"]["command"][-1])
    assert deployment["spec"]["template"]["spec"]["terminationGracePeriodSeconds"] >= needed + waits
    compose = yaml.safe_load((DEPLOY / "compose.yaml").read_text())["services"]["evergold"]
    assert int(compose["stop_grace_period"].removesuffix("s")) >= needed
    assert int(re.findall(r"TimeoutStopSec=(\d+)", (DEPLOY / "evergold.service").read_text())[0]) >= needed


def test_the_compose_file_follows_its_published_schema() -> None:
    check = jsonschema_rs.validator_for(json.loads((SCHEMAS / "compose-spec.json").read_text()))
    compose = yaml.safe_load((DEPLOY / "compose.yaml").read_text())
    assert [error.message for error in check.iter_errors(compose)] == []
    compose["services"]["evergold"]["comand"] = []
    assert not check.is_valid(compose)


def test_the_manifest_follows_the_schema_of_kubernetes() -> None:
    definitions = json.loads((SCHEMAS / "kubernetes-1.37.json").read_text())
    for document in yaml.safe_load_all((DEPLOY / "kubernetes.yaml").read_text()):
        rule = {"$ref": f"#/$defs/{KINDS[document['kind']]}"}
        check = jsonschema_rs.validator_for({**definitions, **rule})
        assert [error.message for error in check.iter_errors(document)] == []
        document["spec"]["selectors"] = {}
        assert not check.is_valid(document)
