"""What every store of pull requests and temporary layers does."""

from __future__ import annotations

from dataclasses import replace

import pytest
from botocore.exceptions import ClientError

from tests.builders import NOW, any_layer, any_plan, any_pull_request, any_pull_request_record
from tests.instants import utc
from tidegate.aws.records import from_item
from tidegate.deploys.adapters.deployments import DynamoCheckRuns, DynamoPullCheckRuns
from tidegate.deploys.rules.aws_target import AwsTarget
from tidegate.deploys.rules.speculative_plan import LayerState
from tidegate.deploys.rules.workflow import RunSettings
from tidegate.policies.rules.policy import PolicyFinding, PolicyVerdict, Severity
from tidegate.ports import PublishedCheckRun
from tidegate.pull_requests.adapters.pull_requests import DynamoPullRequests, DynamoSpeculativePlans
from tidegate.pull_requests.rules.record import Applying, judged
from tidegate.rules.errors import CloudUnavailable, Conflict, NotFound

LATER = utc("2026-03-02T08:15")
QUARTER = 90 * 24 * 3600


def test_a_pull_request_that_nobody_saved_is_not_found(stores):
    with pytest.raises(NotFound, match="acme/infra#5"):
        stores.pull_requests.get("acme/infra", 5)


def test_a_record_is_read_as_it_was_saved(stores):
    record = judged(
        any_pull_request_record(
            spec=any_pull_request(is_draft=True, title="Ü & <b>"),
            discovered="a+b",
            layers=("a", "b"),
            comments=(("default", 7), ("prod", 8)),
            notice="Why.",
            skipped=True,
        ),
        (),
        NOW,
    )
    saved = stores.pull_requests.save(record)
    assert saved == replace(record, version=1)
    assert stores.pull_requests.get("acme/infra", 5) == saved


def test_whoever_read_an_older_version_does_not_write_over_a_newer_one(stores):
    first = stores.pull_requests.save(any_pull_request_record())
    stores.pull_requests.save(replace(first, notice="newer"))
    for older in (first, any_pull_request_record(), replace(first, version=9)):
        with pytest.raises(Conflict):
            stores.pull_requests.save(older)
    assert stores.pull_requests.get("acme/infra", 5).notice == "newer"


def test_what_was_never_saved_has_no_version_to_be_saved_at(stores):
    with pytest.raises(Conflict):
        stores.pull_requests.save(any_pull_request_record(version=1))


def test_open_ones_are_listed_until_they_are_closed_and_again_when_reopened(stores):
    newer = stores.pull_requests.save(any_pull_request_record(6, opened_at=LATER))
    older = stores.pull_requests.save(any_pull_request_record(7))
    assert list(stores.pull_requests.opened()) == [("acme/infra", 7), ("acme/infra", 6)]
    assert stores.pull_requests.newest() == [(LATER, "acme/infra", 6), (NOW, "acme/infra", 7)]
    closed = stores.pull_requests.save(replace(older, closed_at=LATER, merged=True))
    assert list(stores.pull_requests.opened()) == [("acme/infra", 6)]
    stores.pull_requests.save(replace(closed, closed_at=None, merged=False))
    assert len(list(stores.pull_requests.opened())) == 2
    assert stores.pull_requests.get("acme/infra", 6) == newer


def test_many_records_are_read_at_once(stores):
    saved = [stores.pull_requests.save(any_pull_request_record(number)) for number in range(1, 131)]
    keys = [("acme/infra", number) for number in range(140, 0, -1)]
    assert list(stores.pull_requests.many(keys)) == saved
    assert list(stores.pull_requests.many([])) == []


def test_a_layer_is_read_as_it_was_created_and_saved(stores):
    layer = any_layer(
        run=RunSettings("live", (("STACK_VAR_A", "b"),), aws=AwsTarget("plan", "apply", "eu")),
        stack="prod",
        shared=True,
        why="Why.",
    )
    stores.layers.create([layer])
    assert stores.layers.get(layer.id) == layer
    finding = PolicyFinding(Severity.DENY, "no_public", "Too open.", "aws_s3_bucket.a")
    verdicts = (PolicyVerdict("security", (finding,)), PolicyVerdict("costs", error="It broke."))
    planned = replace(layer, state=LayerState.PLANNED, plan=any_plan(), verdicts=verdicts, job="j")
    saved = stores.layers.save(planned)
    assert saved == replace(planned, version=1)
    assert stores.layers.get(layer.id) == saved


def test_creating_again_leaves_what_is_there_and_adds_what_is_missing(stores):
    layers = [any_layer(f"root-{number:03}") for number in range(60)]
    stores.layers.create(layers[::3])
    running = stores.layers.save(replace(layers[0], state=LayerState.PLANNING))
    stores.layers.create(layers)
    stores.layers.create([*layers, layers[1]])
    assert list(stores.layers.many([layer.id for layer in layers])) == [running, *layers[1:]]


def test_a_layer_is_saved_at_the_version_that_was_read(stores):
    layer = any_layer()
    with pytest.raises(Conflict):
        stores.layers.save(layer)
    stores.layers.create([layer])
    stores.layers.save(layer)
    with pytest.raises(Conflict):
        stores.layers.save(layer)


def test_layers_are_told_by_stack_and_root(stores):
    layers = [any_layer("b", stack="dev"), any_layer("a", stack="prod"), any_layer("a", stack="dev")]
    stores.layers.create(layers)
    found = stores.layers.many(["gone", *(layer.id for layer in layers)])
    assert [(layer.stack, layer.root.name) for layer in found] == [("dev", "a"), ("dev", "b"), ("prod", "a")]


def test_removed_layers_are_gone_and_may_be_removed_again(stores):
    layers = [any_layer(f"root-{number:03}") for number in range(60)]
    stores.layers.create(layers)
    gone = [layer.id for layer in layers[:50]]
    for _ in range(2):
        stores.layers.remove([*gone, "never-there"])
    assert list(stores.layers.many([layer.id for layer in layers])) == layers[50:]
    with pytest.raises(NotFound, match=gone[0]):
        stores.layers.get(gone[0])
    stores.layers.remove([])


def expiries(client, table):
    items = [from_item(item) for item in client.scan(TableName=table)["Items"]]
    return {item["pk"].partition("#")[0]: item.get("expires_at") for item in items}


def test_closed_pull_requests_and_layers_expire_and_open_ones_do_not(client, table):
    pulls = DynamoPullRequests(client, table, now=lambda: 1_000_000.0)
    saved = pulls.save(any_pull_request_record())
    DynamoSpeculativePlans(client, table, now=lambda: 1_000_000.0).create([any_layer()])
    assert expiries(client, table) == {"pull": None, "layer": 1_000_000 + QUARTER}
    pulls.save(replace(saved, closed_at=NOW))
    assert expiries(client, table)["pull"] == 1_000_000 + QUARTER


class Busy:
    """A client whose writes of many items another one crosses, or that DynamoDB leaves undone, for some times."""

    def __init__(self, client, times):
        self.client, self.times = client, times

    def __getattr__(self, name):
        return getattr(self.client, name)

    def transact_write_items(self, **call):
        self.times -= 1
        if self.times >= 0:
            answer = {
                "Error": {"Code": "TransactionCanceledException", "Message": ""},
                "CancellationReasons": [{"Code": "TransactionConflict"} for _ in call["TransactItems"]],
            }
            raise ClientError(answer, "TransactWriteItems")
        return self.client.transact_write_items(**call)

    def batch_write_item(self, **call):
        self.times -= 1
        return {"UnprocessedItems": call["RequestItems"]} if self.times >= 0 else self.client.batch_write_item(**call)


def test_what_another_write_crosses_is_written_again_and_not_for_ever(client, table):
    layer = any_layer()
    DynamoSpeculativePlans(Busy(client, 2), table).create([layer])
    assert DynamoSpeculativePlans(client, table).get(layer.id) == layer
    with pytest.raises(CloudUnavailable, match="1 layers were not written"):
        DynamoSpeculativePlans(Busy(client, 9), table).create([any_layer("db")])


def test_what_dynamodb_leaves_is_removed_again_and_not_for_ever(client, table):
    layer = any_layer()
    DynamoSpeculativePlans(client, table).create([layer])
    with pytest.raises(CloudUnavailable, match="1 layers were not removed"):
        DynamoSpeculativePlans(Busy(client, 9), table).remove([layer.id])
    DynamoSpeculativePlans(Busy(client, 2), table).remove([layer.id])
    assert list(DynamoSpeculativePlans(client, table).many([layer.id])) == []


def test_check_runs_of_pull_requests_have_keys_of_their_own_and_expire(client, table):
    pulls, deployments = DynamoPullCheckRuns(client, table, now=lambda: 1_000_000.0), DynamoCheckRuns(client, table)
    shown = PublishedCheckRun("execution/policy/security", 7, 0, closed=True, digest="d")
    pulls.remember(shown)
    assert pulls.published(shown.deployment) == shown
    assert pulls.many([shown.deployment, "none"]) == {shown.deployment: shown}
    assert deployments.published(shown.deployment) is None
    item = client.get_item(TableName=table, Key={"pk": {"S": f"shown#{shown.deployment}"}, "sk": {"S": "check_run"}})
    assert int(item["Item"]["expires_at"]["N"]) > 1_000_000


def test_merged_ones_are_listed_while_their_comments_follow_what_is_deployed(stores):
    applying = (Applying("app", "default", ""),)
    merged = any_pull_request_record(
        7, closed_at=LATER, merged=True, merge_sha="a" * 40, deploys=applying, comments=(("default", 1),)
    )
    saved = stores.pull_requests.save(merged)
    assert list(stores.pull_requests.deploying()) == [("acme/infra", 7)]
    assert list(stores.pull_requests.opened()) == []
    assert stores.pull_requests.get("acme/infra", 7) == saved
    stores.pull_requests.save(replace(saved, settled=True))
    assert list(stores.pull_requests.deploying()) == []
