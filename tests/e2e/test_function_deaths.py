"""Functions that die after any of their writes: everything ends all the same, and nothing happens twice."""

from __future__ import annotations

from contextlib import contextmanager
from datetime import UTC, datetime, timedelta

import pytest

from tests.e2e.deadlines import eventually
from tests.e2e.modules import thing
from tests.e2e.project import Project, words
from tidegate_cdk.function_specs import FUNCTION_OF

pytestmark = pytest.mark.nightly

#: What is in the events of verbs that are no messages of their own kind.
OF_EVENT = {
    "receive_webhook": "*",
    "discover_roots": "*",
    "answer_button": '*"Records"*',
    "publish_check_run": '*"Records"*',
}
#: Writes of a function at most. The loops end at the first write that a function does not make.
MOST_WRITES = 20


@contextmanager
def messages_come_back_soon(tidegate, seconds=3):
    """Let messages whose function died come back after seconds instead of minutes, also those that discovery holds."""
    sqs, queues = (
        tidegate.cloud.client("sqs"),
        [url for name, url in tidegate.cloud.queues.items() if "Dead" not in name],
    )

    def hide_for(url, seconds):
        sqs.set_queue_attributes(QueueUrl=url, Attributes={"VisibilityTimeout": seconds})

    before = {
        url: sqs.get_queue_attributes(QueueUrl=url, AttributeNames=["VisibilityTimeout"])["Attributes"]
        for url in queues
    }
    for url in queues:
        hide_for(url, str(seconds))
    held = tidegate.cloud.add_fault(service="sqs", action="ChangeMessageVisibility", error="AccessDenied", times=None)
    yield
    tidegate.cloud.remove_fault(held)
    for url, attributes in before.items():
        hide_for(url, attributes["VisibilityTimeout"])


def is_empty(tidegate, name):
    url = next(url for key, url in tidegate.cloud.queues.items() if name in key and "Dead" not in key)
    names = ["ApproximateNumberOfMessages", "ApproximateNumberOfMessagesNotVisible"]
    found = tidegate.cloud.client("sqs").get_queue_attributes(QueueUrl=url, AttributeNames=names)["Attributes"]
    return all(found[name] == "0" for name in names)


def minutes_pass(tidegate, guid):
    """Let a stored delivery be two minutes old, if it is stored and not queued yet."""
    table = tidegate.cloud.client("dynamodb")
    then = (datetime.now(UTC) - timedelta(minutes=2)).isoformat(timespec="microseconds")
    try:
        table.update_item(
            TableName=tidegate.cloud.table,
            Key={"pk": {"S": f"delivery#{guid}"}, "sk": {"S": "record"}},
            UpdateExpression="SET open_since = :then",
            ConditionExpression="attribute_exists(#open)",
            ExpressionAttributeNames={"#open": "open"},
            ExpressionAttributeValues={":then": {"S": then}},
        )
    except table.exceptions.ConditionalCheckFailedException:
        return


def dies(tidegate, verb, writes):
    """Let the function of a verb die after so many writes of it."""
    function = {"function": tidegate.cloud.functions[FUNCTION_OF[verb]], "event": OF_EVENT.get(verb, f'*"{verb}"*')}
    return tidegate.cloud.add_fault(**function, when="after", kill=True, writes_only=True, skip=writes - 1)


def deaths(tidegate, function):
    """Yield the number of writes after which the function dies next, until it survives."""
    for writes in range(1, MOST_WRITES):
        fault = dies(tidegate, function, writes)
        yield writes
        hit = tidegate.cloud.read("faults")[fault]
        tidegate.cloud.remove_fault(fault)
        if not hit:
            assert writes > 1, "it never died"
            return
    raise AssertionError(f"{function} writes more than {MOST_WRITES} times")


def check_that_each_is_deployed_once(projects):
    for project, sha in projects:
        project.approved(sha, "app")
    for project, sha in projects:
        end = project.ended(sha, "app")
        assert end["conclusion"] == "success", words(end)
        assert len(project.tidegate.executions("terraform", end["external_id"])) == 1
        assert project.tidegate.audited(end["external_id"]) == ["RUNNING", "SUCCESS"]


def test_a_webhook_function_that_dies_after_any_write_loses_no_push(project):
    tidegate, pushed = project.tidegate, []
    for writes in deaths(tidegate, "receive_webhook"):
        one = Project(tidegate, f"{project.name}-{writes}")
        sha = one.push({"app": thing()})
        guid = tidegate.sent("push", one.name, after=sha).guid
        minutes_pass(tidegate, guid)
        pushed.append((one, sha))
    tidegate.reconcile()
    check_that_each_is_deployed_once(pushed)


def test_a_discovery_that_dies_after_any_write_loses_no_root(project):
    tidegate, pushed = project.tidegate, []
    with messages_come_back_soon(tidegate):
        for writes in deaths(tidegate, "discover_roots"):
            one = Project(tidegate, f"{project.name}-{writes}")
            sha = one.push({"app": thing()})
            tidegate.sent("push", one.name, after=sha)
            eventually(lambda: is_empty(tidegate, "MessagingPush"))
            pushed.append((one, sha))
    tidegate.reconcile()
    check_that_each_is_deployed_once(pushed)


#: Once an apply may have been handed over, nothing is tried again: the first dies while planning only.
IN_A_DEPLOY = [
    "dispatch_job",
    "claim_deployment",
    "validate_revision",
    "begin_job",
    "record_plan",
    "request_review",
    "answer_button",
    "record_result",
    "record_outcome",
    "publish_check_run",
    "wait_for_signal",
]


@pytest.mark.parametrize("writes", [1])
def test_a_deploy_succeeds_although_the_function_of_each_of_its_steps_dies_once(project, writes):
    tidegate = project.tidegate
    with messages_come_back_soon(tidegate, 5):
        for name in IN_A_DEPLOY[writes - 1 :]:
            dies(tidegate, name, writes)
        sha = project.push({"app": thing()})
        check_that_each_is_deployed_once([(project, sha)])
        died = sum(tidegate.cloud.read("faults").values())
    assert died >= len(IN_A_DEPLOY) // 2
    assert project.value("app") == "one"
