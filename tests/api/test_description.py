"""The API is what its description says: schemathesis calls it in all ways that the description allows, and others."""

from __future__ import annotations

import json

import pytest
import schemathesis
from hypothesis import HealthCheck
from schemathesis.specs.openapi.checks import negative_data_rejection, positive_data_acceptance

from tests.api.calls import prepare
from tests.api.scenario import Client, WebScenario
from tests.api.wsgi import wsgi
from tests.builders import any_deployment
from tests.chance import examples
from tidegate.ports import LogChunk


def _scenario():
    wires = WebScenario()
    names = prepare(wires)
    wires.deployed(any_deployment(2))
    wires.job_logs.append(names["job"], LogChunk(0, ("a line", "\x1b[31mred\x1b[0m")))
    return wires, names


WIRES, NAMES = _scenario()
SCHEMA = schemathesis.openapi.from_wsgi("/api/v1/openapi.json", wsgi(WIRES))
UPDATES = "/api/v1/config-updates/{owner}/{name}"
CLUSTERS = "/api/v1/clusters/{owner}/{name}"
ONLY = examples(40, suppress_health_check=list(HealthCheck))


@SCHEMA.parametrize()
@ONLY
def test_no_request_is_answered_otherwise_than_described(case):
    # A description has no words for the grammar of tag queries and paths: what it allows may be refused with 400.
    body = case.body if isinstance(case.body, dict) else {}
    asks = (case.query or {}).get("query") or body.get("query") or body.get("directories")
    excluded = [positive_data_acceptance] if asks else []
    # What a query has beside what is described is left alone, as everywhere on the web.
    if set(case.query or {}) - {parameter.name for parameter in case.operation.query}:
        excluded.append(negative_data_rejection)
    case.call_and_validate(headers={"Authorization": "Bearer token-of-reviewer"}, excluded_checks=excluded)


@pytest.mark.parametrize(
    ("path", "name"),
    [
        ("/api/v1/deployments/{id}", "DeploymentDetails"),
        ("/api/v1/jobs/{job}/log", "LogLines"),
        ("/api/v1/requests/{request}", ""),
    ],
)
def test_what_is_there_is_described_too(path, name):
    answer = Client(WIRES, "token-of-reviewer").get(path.format(**NAMES))
    assert answer.status == 200
    if name:
        described = json.loads(Client(WIRES).get("/api/v1/openapi.json").body)["components"]["schemas"][name]
        assert set(answer.json) == set(described["properties"])


def test_the_description_is_public_and_names_each_answer():
    document = Client(WIRES).get("/api/v1/openapi.json").json
    assert document["info"]["title"] == "Tidegate"
    assert set(document["paths"]) == {
        "/api/v1/me",
        "/api/v1/repositories",
        "/api/v1/repositories/{owner}/{name}/roots",
        "/api/v1/queue",
        "/api/v1/queue/lock",
        "/api/v1/queue/unlock",
        "/api/v1/locks",
        "/api/v1/locks/remove",
        "/api/v1/deployments",
        "/api/v1/deployments/{id}",
        "/api/v1/deployments/{id}/review",
        "/api/v1/deployments/{id}/gate",
        "/api/v1/changes/{id}",
        "/api/v1/changes/{id}/stop",
        "/api/v1/changes/{id}/continue",
        "/api/v1/drift",
        "/api/v1/notifications",
        "/api/v1/drift/look",
        "/api/v1/insights",
        "/api/v1/deployments/{id}/cancel",
        "/api/v1/deployments/{id}/rerun",
        "/api/v1/pulls",
        "/api/v1/pulls/{owner}/{name}/{number}",
        "/api/v1/requests/{id}",
        "/api/v1/jobs/{id}",
        "/api/v1/jobs/{id}/log",
        CLUSTERS,
        f"{CLUSTERS}/{{cluster}}",
        f"{CLUSTERS}/{{cluster}}/resume",
        f"{CLUSTERS}/{{cluster}}/release",
        f"{UPDATES}/queue",
        f"{UPDATES}/queue/pause",
        f"{UPDATES}/queue/resume",
        f"{UPDATES}/entries/{{id}}",
        f"{UPDATES}/entries/{{id}}/evict",
        f"{UPDATES}/entries/{{id}}/retry",
        f"{UPDATES}/sets",
        f"{UPDATES}/sets/{{image_set}}",
        f"{UPDATES}/sets/{{image_set}}/hold",
        f"{UPDATES}/sets/{{image_set}}/release",
        f"{UPDATES}/sets/{{image_set}}/images/{{app_sha}}",
        f"{UPDATES}/sets/{{image_set}}/targets/{{target}}/deployed",
        f"{UPDATES}/sets/{{image_set}}/targets/{{target}}/token",
        f"{UPDATES}/sets/{{image_set}}/environments/{{environment}}/promote",
        f"{UPDATES}/sets/{{image_set}}/environments/{{environment}}/rollback",
    }
    for operations in document["paths"].values():
        for operation in operations.values():
            assert {"400", "401", "422", "503"} <= set(operation["responses"])
            for status, response in operation["responses"].items():
                schema = response["content"]["application/json"]["schema"]
                assert int(status) < 300 or schema == {"$ref": "#/components/schemas/Refused"}


@pytest.mark.parametrize("owner", [".", "..", "group:..", "a" * 101, ":".join(["a" * 90] * 2)])
def test_what_is_no_owner_is_refused_as_described(owner):
    assert Client(WIRES, "token-of-reviewer").get(f"/api/v1/repositories/{owner}/name/roots").status == 422
