"""What every store of deployments, and of the check runs that show them, does."""

from __future__ import annotations

from dataclasses import replace
from datetime import timedelta

import pytest
from hypothesis import given
from hypothesis import strategies as st

from tests.builders import NOW, any_deployment, any_plan, any_root, deployment_in
from tests.instants import utc
from tidegate.aws.records import from_item, pack, to_item, unpack
from tidegate.deploys.rules.deployment import Deployment
from tidegate.deploys.rules.needs import Activity
from tidegate.deploys.rules.state import State
from tidegate.ports import PublishedCheckRun
from tidegate.roots.rules.root import Engine, EngineName
from tidegate.rules.errors import Conflict, NotFound


def test_no_deployment_has_an_id_that_no_key_can_be(stores):
    with pytest.raises(NotFound):
        stores.deployments.get("x" * 3000)


def test_an_unknown_deployment_is_not_found(stores):
    with pytest.raises(NotFound):
        stores.deployments.get("unknown")


@pytest.mark.parametrize("state", State)
def test_a_deployment_is_read_as_it_was_stored(stores, state):
    deployment = deployment_in(state, root=any_root(engine=Engine(EngineName.TOFU, "1.9.0")))
    stores.queues.enqueue(deployment)
    assert stores.deployments.get(deployment.id) == deployment


def test_a_deployment_without_a_lock_file_is_read_as_it_was_stored(stores):
    deployment = deployment_in(State.AWAITING_REVIEW, plan=any_plan(lock_file=None), reason="ünï \x1b[0m\n")
    stores.queues.enqueue(deployment)
    assert stores.deployments.get(deployment.id) == deployment


def test_saving_raises_the_version(stores):
    deployment = any_deployment()
    stores.queues.enqueue(deployment)
    saved = stores.deployments.save(replace(deployment, reason="first"))
    assert saved == replace(deployment, reason="first", version=1)
    assert stores.deployments.get(deployment.id) == saved


def test_of_two_that_save_the_same_version_the_second_is_a_conflict(stores):
    deployment = any_deployment()
    stores.queues.enqueue(deployment)
    saved = stores.deployments.save(replace(deployment, reason="first"))
    with pytest.raises(Conflict):
        stores.deployments.save(replace(deployment, reason="second"))
    assert stores.deployments.get(deployment.id) == saved


def test_a_deployment_that_was_never_stored_cannot_be_saved(stores):
    with pytest.raises(Conflict):
        stores.deployments.save(any_deployment())


def test_many_are_read_at_once_and_those_that_do_not_exist_are_left_out(stores):
    """DynamoDB reads 100 items at a time: the second one is not among the first hundred."""
    deployments = [any_deployment(1), any_deployment(2, requested_at=utc("2026-03-02T08:00:02"))]
    for deployment in deployments:
        stores.queues.enqueue(deployment)
    unknown = [f"unknown-{number}" for number in range(120)]
    found = stores.deployments.many([deployments[0].id, *unknown, deployments[1].id])
    assert found == {deployment.id: deployment for deployment in deployments}
    assert stores.deployments.many([]) == {}


def test_a_deployment_is_unshown_until_its_end_is_shown_however_often_it_is_saved(stores):
    first, second = any_deployment(1), any_deployment(2)
    for deployment in (first, second):
        stores.queues.enqueue(deployment)
    saved = stores.deployments.save(replace(first, reason="saved"))
    assert set(stores.deployments.unshown()) == {first.id, second.id}
    stores.deployments.shown(first.id)
    stores.deployments.save(replace(saved, reason="saved again"))
    assert list(stores.deployments.unshown()) == [second.id]


def test_showing_what_does_not_exist_changes_nothing(stores):
    stores.deployments.shown("unknown")
    assert list(stores.deployments.unshown()) == []


def test_the_token_of_the_latest_attempt_waits_at_a_gate_beside_the_one_of_a_review(stores):
    stores.deployments.keep_review_token("deployment", "review", "other")
    stores.deployments.keep_gate_token("deployment", "gate", "token-1")
    stores.deployments.keep_gate_token("deployment", "gate", "token-2")
    assert stores.deployments.gate_token("deployment", "gate") == "token-2"
    assert stores.deployments.review_token("deployment", "review") == "other"


def test_there_is_no_token_for_another_gate(stores):
    stores.deployments.keep_gate_token("deployment", "gate", "token")
    for deployment, gate in (("deployment", "another"), ("another", "gate")):
        with pytest.raises(NotFound):
            stores.deployments.gate_token(deployment, gate)


def test_the_token_of_the_latest_attempt_waits_for_a_review(stores):
    stores.deployments.keep_review_token("deployment", "review", "token-1")
    stores.deployments.keep_review_token("deployment", "review", "token-2")
    assert stores.deployments.review_token("deployment", "review") == "token-2"


@pytest.mark.parametrize("kind", ["gate", "review"])
def test_a_token_of_an_earlier_attempt_that_comes_late_is_not_kept(stores, kind):
    keep = getattr(stores.deployments, f"keep_{kind}_token")
    kept = getattr(stores.deployments, f"{kind}_token")
    assert keep("deployment", "first", "token-1", "2026-03-02T08:00:00#000")
    assert keep("deployment", "first", "token-2", "2026-03-02T08:00:00#001")
    assert not keep("deployment", "first", "token-1", "2026-03-02T08:00:00#000")
    assert kept("deployment", "first") == "token-2"
    assert keep("deployment", "second", "token-3", "2026-03-02T09:00:00#000")
    assert not keep("deployment", "first", "token-2", "2026-03-02T08:00:00#001")
    assert kept("deployment", "second") == "token-3"
    assert keep("deployment", "second", "token-3", "2026-03-02T09:00:00#000")


def test_there_is_no_token_for_another_review(stores):
    stores.deployments.keep_review_token("deployment", "review", "token")
    with pytest.raises(NotFound):
        stores.deployments.review_token("deployment", "another")
    with pytest.raises(NotFound):
        stores.deployments.review_token("another", "review")


def test_the_newest_check_run_is_remembered(stores):
    assert stores.check_runs.published("deployment") is None
    for shown in (PublishedCheckRun("deployment", 1, 0, closed=False), PublishedCheckRun("deployment", 2, 3, True)):
        stores.check_runs.remember(shown)
        assert stores.check_runs.published("deployment") == shown


@given(st.from_type(Deployment))
def test_every_deployment_survives_the_way_to_the_table_and_back(deployment):
    assert unpack(Deployment, from_item(to_item(pack(deployment)))) == deployment


def test_a_record_of_another_version_is_read_with_defaults_and_without_what_is_unknown():
    packed = pack(any_deployment()) | {"future": ["x"]}
    del packed["state"]
    assert unpack(Deployment, packed) == any_deployment()


def test_what_has_no_form_in_a_record_is_refused():
    with pytest.raises(TypeError, match="float"):
        to_item({"x": 1.5})


def test_deployments_are_found_by_what_they_do_those_requested_first_before_others(stores):
    states = {1: State.QUEUED, 2: State.AWAITING_REVIEW, 3: State.BLOCKED, 4: State.APPLYING}
    made = {}
    for number, state in states.items():
        at = NOW + timedelta(minutes=number)
        one = any_deployment(number, root=any_root(name=f"root-{number}"), requested_at=at)
        stores.queues.enqueue(one)
        made[number] = stores.deployments.save(replace(one, state=state))

    def doing(does, limit=10):
        return list(stores.deployments.doing(does, limit))

    assert doing(Activity.NEEDING) == [made[2].id, made[3].id]
    assert doing(Activity.NEEDING, 1) == [made[2].id]
    assert (doing(Activity.WAITING), doing(Activity.RUNNING)) == ([made[1].id], [made[4].id])
    stores.deployments.save(replace(made[2], state=State.APPROVED))
    assert doing(Activity.NEEDING) == [made[3].id]
    assert doing(Activity.RUNNING) == [made[2].id, made[4].id]
    assert sorted(stores.deployments.unshown()) == sorted(each.id for each in made.values())
    stores.deployments.save(replace(made[4], state=State.APPLIED))
    stores.deployments.shown(made[4].id)
    assert doing(Activity.RUNNING) == [made[2].id]
