"""Running a deployment again by the API."""

from __future__ import annotations

import pytest

from tests.api.scenario import Client
from tests.builders import deployment_in
from tidegate.deploys.rules.state import State
from tidegate.rules.access import Access


def test_a_request_for_a_re_run_is_queued_as_the_button_of_its_check_run_is(wires, reviewer):
    one = wires.deployed(deployment_in(State.APPLY_FAILED))
    answer = reviewer.post_json(f"/api/v1/deployments/{one.id}/rerun", {})
    assert answer.status == 202
    (sent,) = wires.ports.events.sent
    assert (sent.id, sent.event) == (answer.json["request"], "rerun")
    assert (sent.fields["external_id"], sent.fields["sender"]) == (one.id, "reviewer")
    assert reviewer.get(f"/api/v1/requests/{sent.id}").json["outcome"] is None


@pytest.mark.parametrize(("token", "status"), [("token-of-reviewer", 403), ("token-of-visitor", 404)])
def test_only_who_may_deploy_a_root_runs_its_deployments_again(wires, token, status):
    one = wires.deployed(deployment_in(State.APPLY_FAILED, access=Access(apply=("team:sre",))))
    assert Client(wires, token).post_json(f"/api/v1/deployments/{one.id}/rerun", {}).status == status
