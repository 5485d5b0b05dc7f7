"""The AWS adapters against moto in this process: what they send, and how refusals are put into our words."""

from __future__ import annotations

import json
from hashlib import sha256

import pytest
from moto import mock_aws

from tests.adapters.refusals import Refuses, Throttles
from tests.builders import NOW, any_layer, deployment_in
from tidegate.adapters.announcements import AwsAnnouncements, Channels
from tidegate.adapters.artifacts import S3Artifacts
from tidegate.adapters.audit import SnsAuditLog
from tidegate.adapters.boto import client
from tidegate.adapters.clock import SystemClock
from tidegate.adapters.patience import QueuePatience
from tidegate.adapters.stepfunctions import StepFunctionsDriftRuns, StepFunctionsWorkflows
from tidegate.bootstrap import Bootstrap
from tidegate.domain.deploys.audit import audit_message
from tidegate.domain.deploys.deployment import State
from tidegate.domain.errors import AuditUnavailable, CloudUnavailable, NotFound, TooLate
from tidegate.domain.pull_requests.temporary_layer import LayerState
from tidegate.ports import ObjectStart
from tidegate.settings import InvalidSecretError

REGION = "eu-central-1"
APPLIED = deployment_in(State.APPLIED, version=4)


@pytest.fixture
def cloud(monkeypatch):
    for name in ("AWS_ACCESS_KEY_ID", "AWS_SECRET_ACCESS_KEY", "AWS_SESSION_TOKEN"):
        monkeypatch.setenv(name, "testing")
    monkeypatch.setenv("AWS_DEFAULT_REGION", REGION)
    monkeypatch.delenv("AWS_ENDPOINT_URL", raising=False)
    with mock_aws():
        yield


@pytest.fixture
def fifo(cloud):
    return client("sqs").create_queue(QueueName="check-runs.fifo", Attributes={"FifoQueue": "true"})["QueueUrl"]


@pytest.fixture
def bus(cloud):
    """The bus, with a queue that keeps what is put on it."""
    events, sqs = client("events"), client("sqs")
    queue = sqs.create_queue(QueueName="kept")["QueueUrl"]
    events.create_event_bus(Name="tidegate")
    events.put_rule(Name="all", EventBusName="tidegate", EventPattern=json.dumps({"source": ["tidegate"]}))
    arn = f"arn:aws:sqs:{REGION}:123456789012:kept"
    events.put_targets(Rule="all", EventBusName="tidegate", Targets=[{"Id": "kept", "Arn": arn}])
    return queue


def received(queue):
    answer = client("sqs").receive_message(QueueUrl=queue, MaxNumberOfMessages=10, MessageSystemAttributeNames=["All"])
    return answer.get("Messages", [])


def test_a_change_asks_for_its_check_run_in_its_own_group(fifo, bus):
    announcements = AwsAnnouncements(client("sqs"), client("events"), Channels(fifo, "tidegate"))
    announcements.changed(APPLIED)
    announcements.changed(APPLIED)
    announcements.refresh(APPLIED.id)
    first, second = received(fifo)
    assert json.loads(first["Body"]) == {"deployment": APPLIED.id, "again": False}
    assert json.loads(second["Body"]) == {"deployment": APPLIED.id, "again": True}
    assert first["Attributes"]["MessageGroupId"] == APPLIED.id


def test_a_place_that_changed_a_re_run_and_an_answer_say_so_to_the_check_runs(fifo, bus):
    announcements = AwsAnnouncements(client("sqs"), client("events"), Channels(fifo, "tidegate"))
    announcements.place_changed("d")
    announcements.repeated("d", "again")
    announcements.answered("d", "You may not.")
    asked = [json.loads(message["Body"]) for message in received(fifo)]
    assert asked == [
        {"deployment": "d", "again": True, "if_new": True},
        {"deployment": "d", "again": True, "repeated_by": "again"},
        {"deployment": "d", "again": True, "answer": "You may not."},
    ]


def test_changes_of_a_line_within_a_second_are_one_message_and_queues_do_not_share_it(fifo, bus):
    now = [1000.1]
    announcements = AwsAnnouncements(
        client("sqs"), client("events"), Channels("none", "tidegate", line_queue=fifo), now=lambda: now[0]
    )
    announcements.line_changed("acme/infra||network")
    now[0] = 1000.9
    announcements.line_changed("acme/infra||network")
    announcements.line_changed("acme/infra||dns")
    now[0] = 1001.0
    announcements.line_changed("acme/infra||network")
    queues = [json.loads(message["Body"])["queue"] for message in received(fifo) + received(fifo)]
    assert sorted(queues) == ["acme/infra||dns", "acme/infra||network", "acme/infra||network"]


def test_each_move_of_a_change_is_a_message_in_the_changes_own_group(fifo, bus):
    channels = Channels("none", "tidegate", change_queue=fifo)
    announcements = AwsAnnouncements(client("sqs"), client("events"), channels)
    for _ in range(2):
        announcements.change_moved("change-1")
    messages = received(fifo) + received(fifo)
    assert [json.loads(message["Body"]) for message in messages] == [{"change_set": "change-1"}] * 2
    assert len({message["Attributes"]["MessageGroupId"] for message in messages}) == 1


def test_a_line_is_looked_at_later_when_it_was_asked_for(cloud):
    sqs = client("sqs")
    later = sqs.create_queue(QueueName="later")["QueueUrl"]
    announcements = AwsAnnouncements(sqs, client("events"), Channels("none", "tidegate", later_queue=later))
    announcements.line_later("acme/infra||network", 900)
    assert received(later) == []
    attributes = sqs.get_queue_attributes(QueueUrl=later, AttributeNames=["All"])["Attributes"]
    assert attributes["ApproximateNumberOfMessagesDelayed"] == "1"


def test_a_change_is_an_event_with_what_others_need(fifo, bus):
    AwsAnnouncements(client("sqs"), client("events"), Channels(fifo, "tidegate")).changed(APPLIED)
    (message,) = received(bus)
    event = json.loads(message["Body"])
    assert (event["source"], event["detail-type"]) == ("tidegate", "Deployment changed")
    assert event["detail"] == {
        "version": 1,
        "deployment": APPLIED.id,
        "repository": "acme/infra",
        "root": "network",
        "revision": APPLIED.revision.sha,
        "branch": "main",
        "trigger": "merge",
        "requested_by": "maintainer",
        "state": "applied",
        "reason": "",
        "changed_at": APPLIED.changed_at,
        "apply_job": APPLIED.apply_job,
        "changes": {
            "add": 2,
            "change": 0,
            "destroy": 1,
            "replace": 0,
            "outputs": 0,
            "moved": 0,
            "actions": 0,
            "deferred": 0,
        },
    }


@pytest.mark.parametrize(
    ("events", "code"),
    [
        (Throttles(100), "ThrottlingException"),
        (Refuses("InternalException"), "InternalException"),
        (Refuses("no connection"), "EndpointConnectionError"),
    ],
)
def test_a_bus_that_takes_no_event_is_logged_and_holds_up_no_check_run(fifo, caplog, events, code):
    AwsAnnouncements(client("sqs"), events, Channels(fifo, "tidegate")).changed(APPLIED)
    (message,) = received(fifo)
    assert json.loads(message["Body"])["deployment"] == APPLIED.id
    (record,) = [record for record in caplog.records if record.levelname == "WARNING"]
    assert (record.deployment, record.state) == (APPLIED.id, "applied")
    assert code in record.refusal


def test_an_event_is_offered_to_a_throttling_bus_again(fifo, caplog):
    AwsAnnouncements(client("sqs"), Throttles(2), Channels(fifo, "tidegate")).changed(APPLIED)
    assert [record for record in caplog.records if record.levelname == "WARNING"] == []


def test_a_change_whose_check_run_cannot_be_asked_for_is_not_put_on_the_bus(bus):
    with pytest.raises(CloudUnavailable, match="SQS"):
        AwsAnnouncements(Refuses("RequestThrottled"), client("events"), Channels("queue", "tidegate")).changed(APPLIED)
    assert received(bus) == []


@pytest.mark.parametrize("code", ["ThrottlingException", "no connection"])
def test_what_aws_refuses_for_now_is_called_so(code):
    with pytest.raises(CloudUnavailable, match="SQS"):
        AwsAnnouncements(Refuses(code), Refuses(code), Channels("queue", "bus")).refresh("d")
    with pytest.raises(CloudUnavailable, match="Step Functions"):
        StepFunctionsWorkflows(Refuses(code), "machine").settle("token", {})
    with pytest.raises(CloudUnavailable, match="S3"):
        S3Artifacts(Refuses(code), "bucket").get("key")
    with pytest.raises(AuditUnavailable):
        SnsAuditLog(Refuses(code), "topic").publish(audit_message(APPLIED, "SUCCESS", NOW))


def test_an_audit_message_can_be_filtered_by_its_attributes_and_comes_once(cloud):
    sns, sqs = client("sns"), client("sqs")
    topic = sns.create_topic(Name="audit.fifo", Attributes={"FifoTopic": "true"})["TopicArn"]
    queue = sqs.create_queue(QueueName="audit.fifo", Attributes={"FifoQueue": "true"})["QueueUrl"]
    arn = f"arn:aws:sqs:{REGION}:123456789012:audit.fifo"
    policy = {"FilterPolicy": json.dumps({"state": ["SUCCESS"], "repository": ["acme/infra"]})}
    sns.subscribe(TopicArn=topic, Protocol="sqs", Endpoint=arn, Attributes=policy)
    log = SnsAuditLog(sns, topic)
    log.publish(audit_message(deployment_in(State.APPLYING), "RUNNING", NOW))
    for _ in "twice":
        log.publish(audit_message(APPLIED, "SUCCESS", NOW))
    (message,) = received(queue)
    notification = json.loads(message["Body"])
    assert json.loads(notification["Message"])["event_id"] == f"{APPLIED.apply_job}:SUCCESS"
    assert notification["MessageAttributes"]["root"]["Value"] == "network"


@pytest.fixture
def bucket(cloud):
    client("s3").create_bucket(Bucket="artifacts", CreateBucketConfiguration={"LocationConstraint": REGION})
    return S3Artifacts(client("s3"), "artifacts")


def test_an_artifact_is_read_whole_or_from_its_start(bucket):
    bucket.put("plans/job/plan.txt", b"0123456789")
    digest = sha256(b"0123456789").hexdigest()
    assert bucket.get("plans/job/plan.txt") == b"0123456789"
    assert bucket.get_start("plans/job/plan.txt", 4) == ObjectStart(b"0123", 10, digest)
    assert bucket.get_start("plans/job/plan.txt", 100) == ObjectStart(b"0123456789", 10, digest)


def test_artifacts_are_removed_however_many_and_again(bucket):
    names = [f"plans/job-{number}/plan.txt" for number in range(1001)]
    for name in (names[0], names[-1], "plans/kept/plan.txt"):
        bucket.put(name, b"plan")
    for _ in range(2):
        bucket.remove(names)
    bucket.remove(())
    assert bucket.get("plans/kept/plan.txt") == b"plan"
    for name in (names[0], names[-1]):
        with pytest.raises(NotFound):
            bucket.get(name)


def test_an_artifact_that_cannot_be_removed_is_told():
    class Keeps:
        def delete_objects(self, **_call):
            return {"Errors": [{"Key": "a", "Code": "InternalError"}]}

    with pytest.raises(CloudUnavailable, match="InternalError: 1 objects were not removed"):
        S3Artifacts(Keeps(), "bucket").remove(["a"])


def test_an_artifact_that_is_not_there_is_not_found(bucket):
    with pytest.raises(NotFound):
        bucket.get("plans/job/plan.txt")
    with pytest.raises(NotFound):
        bucket.get_start("plans/job/plan.txt", 4)


def test_the_start_of_an_empty_artifact_is_empty(bucket):
    bucket.put("plans/job/plan.txt", b"")
    assert bucket.get_start("plans/job/plan.txt", 4) == ObjectStart(b"", 0, sha256(b"").hexdigest())


def machine(machines, name):
    """Make a state machine that does nothing; return its ARN."""
    role = "arn:aws:iam::123456789012:role/machine"
    definition = json.dumps({"StartAt": "End", "States": {"End": {"Type": "Succeed"}}})
    return machines.create_state_machine(name=name, definition=definition, roleArn=role)["stateMachineArn"]


def test_an_execution_is_started_under_its_name_with_its_queue(cloud):
    machines = client("stepfunctions")
    arn = machine(machines, "deploy")
    workflows = StepFunctionsWorkflows(machines, arn)
    workflows.start_deploy("worker-1", "acme/infra||network")
    workflows.start_deploy("worker-1", "acme/infra||network")
    (execution,) = machines.list_executions(stateMachineArn=arn)["executions"]
    described = machines.describe_execution(executionArn=execution["executionArn"])
    assert (execution["name"], json.loads(described["input"])) == ("worker-1", {"queue": "acme/infra||network"})


def test_how_an_execution_ended_is_told_by_its_name(cloud):
    machines = client("stepfunctions")
    arn = machine(machines, "deploy")
    workflows = StepFunctionsWorkflows(machines, arn)
    with pytest.raises(NotFound, match="worker-1"):
        workflows.ending("worker-1")
    workflows.start_deploy("worker-1", "acme/infra||network")
    assert workflows.ending("worker-1") is None
    machines.stop_execution(executionArn=arn.replace(":stateMachine:", ":execution:") + ":worker-1")
    assert workflows.ending("worker-1") == "ABORTED"


def test_a_look_for_drift_is_started_once_and_its_end_is_told(cloud):
    machines = client("stepfunctions")
    arn = machine(machines, "drift")
    runs = StepFunctionsDriftRuns(machines, arn)
    with pytest.raises(NotFound, match="now-1"):
        runs.ending("now-1")
    runs.start("now-1", "acme/infra", "nightly")
    runs.start("now-1", "acme/infra", "nightly")
    (execution,) = machines.list_executions(stateMachineArn=arn)["executions"]
    described = machines.describe_execution(executionArn=execution["executionArn"])
    assert json.loads(described["input"]) == {"repository": "acme/infra", "schedule": "nightly"}
    machines.stop_execution(executionArn=execution["executionArn"])
    assert runs.ending("now-1") == "ABORTED"


def test_that_it_is_not_known_whether_an_execution_runs_is_no_ending():
    with pytest.raises(CloudUnavailable):
        StepFunctionsWorkflows(Refuses("ThrottlingException"), "machine").ending("worker-1")


def test_a_start_that_is_throttled_is_tried_again_by_whoever_asked():
    with pytest.raises(CloudUnavailable):
        StepFunctionsWorkflows(Refuses("ThrottlingException"), "machine").start_deploy("worker-1", "queue")


@pytest.mark.parametrize("code", ["TaskTimedOut", "TaskDoesNotExist", "InvalidToken"])
def test_an_answer_that_nobody_waits_for_is_too_late(code):
    workflows = StepFunctionsWorkflows(Refuses(code), "machine")
    with pytest.raises(TooLate):
        workflows.settle("token", {})
    with pytest.raises(TooLate):
        workflows.fail("token", "Error", "cause")


def test_a_failure_fits_the_limits_of_step_functions():
    sent = {}

    class Keeps:
        def send_task_failure(self, **arguments):
            sent.update(arguments)

    StepFunctionsWorkflows(Keeps(), "machine").fail("token", "E" * 300, "c" * 40_000)
    assert (len(sent["error"]), len(sent["cause"])) == (256, 32_768)


def test_a_message_is_hidden_for_as_long_as_asked(cloud):
    queue = client("sqs").create_queue(QueueName="presses")["QueueUrl"]
    client("sqs").send_message(QueueUrl=queue, MessageBody="press")
    (message,) = received(queue)
    QueuePatience(client("sqs")).postpone(queue, message["ReceiptHandle"], 0)
    assert len(received(queue)) == 1


def test_the_clock_tells_utc_with_microseconds():
    now = SystemClock().now()
    assert now.endswith("+00:00")
    assert len(now) == len("2026-03-02T08:00:00.000000+00:00")


ENVIRONMENT = {
    "TIDEGATE_TABLE": "table",
    "TIDEGATE_ARTIFACT_BUCKET": "artifacts",
    "TIDEGATE_AUDIT_TOPIC": f"arn:aws:sns:{REGION}:123456789012:audit",
    "TIDEGATE_EVENT_BUS": "tidegate",
    "TIDEGATE_PUSH_QUEUE": "https://sqs.example/pushes",
    "TIDEGATE_PRESS_QUEUE": "https://sqs.example/presses",
    "TIDEGATE_CHECK_RUN_QUEUE": "https://sqs.example/check-runs.fifo",
    "TIDEGATE_DEPLOY_STATE_MACHINE": f"arn:aws:states:{REGION}:123456789012:stateMachine:deploy",
    "TIDEGATE_APP_SECRET_NAME": "tidegate/github-app",
    "TIDEGATE_PULL_REQUEST_PLANS": "10",
    "TIDEGATE_DRIFT_SCHEDULES": "tidegate-drift",
    "TIDEGATE_DRIFT_STATE_MACHINE": f"arn:aws:states:{REGION}:123456789012:stateMachine:drift",
    "TIDEGATE_SCHEDULER_ROLE": "arn:aws:iam::123456789012:role/scheduler",
    "TIDEGATE_UNDELIVERED_QUEUE_ARN": f"arn:aws:sqs:{REGION}:123456789012:undelivered",
}
WIRED = sorted(
    name
    for kind in Bootstrap.__mro__
    for name, value in vars(kind).items()
    if type(value).__name__ == "cached_property"
)


def test_everything_that_is_wired_can_be_made(cloud):
    secret = {"app_id": "1", "private_key": "PEM", "client_id": "client", "client_secret": "secret"}
    client("secretsmanager").create_secret(Name="tidegate/github-app", SecretString=json.dumps(secret))
    wires = Bootstrap(ENVIRONMENT)
    assert [name for name in WIRED if getattr(wires, name) is None] == ["gitlab"]  # GitHub is served here.


def test_the_apps_credentials_are_read_when_they_are_needed_and_once(cloud):
    secrets = client("secretsmanager")
    secret = json.dumps({"app_id": 123, "private_key": "PEM"})
    secrets.create_secret(Name="tidegate/github-app", SecretString=secret)
    wires = Bootstrap(ENVIRONMENT)
    assert wires._app_credentials().app_id == "123"
    secrets.delete_secret(SecretId="tidegate/github-app", ForceDeleteWithoutRecovery=True)
    assert wires._app_credentials().private_key == "PEM"


def test_a_changed_secret_of_the_app_ends_sessions_within_five_minutes_and_is_used_on_when_it_cannot_be_read(cloud):
    secrets, seconds = client("secretsmanager"), [0.0]
    secret = {"app_id": "1", "private_key": "PEM", "client_id": "client", "client_secret": "leaked"}
    secrets.create_secret(Name="tidegate/github-app", SecretString=json.dumps(secret))
    wires = Bootstrap(ENVIRONMENT)
    wires._stored_app_secret._now = lambda: seconds[0]
    cookie = wires.sessions.begin("developer")
    changed = json.dumps({**secret, "client_secret": "new", "private_key": "NEW"})
    secrets.put_secret_value(SecretId="tidegate/github-app", SecretString=changed)
    seconds[0] = 299.0
    assert wires.sessions.read(cookie).login == "developer"
    seconds[0] = 300.0
    assert wires.sessions.read(cookie) is None
    assert (wires.oauth_client.client_secret, wires._app_credentials().private_key) == ("new", "NEW")
    secrets.delete_secret(SecretId="tidegate/github-app", ForceDeleteWithoutRecovery=True)
    seconds[0] = 900.0
    assert wires.oauth_client.client_secret == "new"


def test_credentials_that_cannot_be_read_are_a_passing_fault(cloud):
    with pytest.raises(CloudUnavailable, match="Secrets Manager"):
        Bootstrap(ENVIRONMENT)._app_credentials()


@pytest.mark.parametrize("secret", ["not JSON", "[]", "{}", '{"app_id": "1"}', '{"app_id": "", "private_key": ""}'])
def test_credentials_of_another_form_are_refused_with_what_is_expected(cloud, secret):
    client("secretsmanager").create_secret(Name="tidegate/github-app", SecretString=secret)
    with pytest.raises(InvalidSecretError, match="app_id"):
        Bootstrap(ENVIRONMENT)._app_credentials()


def test_a_layer_that_ended_asks_for_its_check_run_and_once_for_that_of_its_pull_request(fifo, bus):
    now = [1000.1]
    announcements = AwsAnnouncements(client("sqs"), client("events"), Channels(fifo, "tidegate"), now=lambda: now[0])
    for name, state in (("app", LayerState.PLANNING), ("db", LayerState.PLANNED), ("app", LayerState.FAILED)):
        announcements.layer_changed(any_layer(name, state=state))
    now[0] = 1002.0
    announcements.layer_changed(any_layer("db", state=LayerState.PLANNED))
    messages = received(fifo) + received(fifo)
    found = [json.loads(message["Body"]) for message in messages]
    progress = [each["not_before"] for each in found if "pull_request" in each]
    assert sorted(progress) == [1002, 1004]
    layers = [each["layer"] for each in found if "layer" in each]
    assert sorted(layers) == sorted([any_layer("db").id, any_layer("app").id, any_layer("db").id])
    assert len({m["Attributes"]["MessageGroupId"] for m in messages}) == 3


def test_what_a_pull_request_shows_is_asked_for_in_the_group_of_its_progress(fifo, bus):
    announcements = AwsAnnouncements(client("sqs"), client("events"), Channels(fifo, "tidegate"))
    announcements.layer_changed(any_layer(state=LayerState.PLANNING))
    announcements.pull_request_ended("acme/infra#5", "a+b", "TidegateFailed", "cause")
    messages = received(fifo) + received(fifo)
    assert json.loads(messages[-1]["Body"]) == {
        "pull_request": "acme/infra#5",
        "revision": "a+b",
        "error": "TidegateFailed",
        "cause": "cause",
    }
    assert len({message["Attributes"]["MessageGroupId"] for message in messages}) == 1


def test_what_follows_an_apply_is_asked_for_in_the_group_of_its_pull_request(fifo, bus):
    announcements = AwsAnnouncements(client("sqs"), client("events"), Channels(fifo, "tidegate"))
    announcements.pull_request_applied("acme/infra#5")
    announcements.pull_request_ended("acme/infra#5", "a+b")
    messages = received(fifo) + received(fifo)
    assert json.loads(messages[0]["Body"]) == {"pull_request": "acme/infra#5", "applied": True}
    assert len({message["Attributes"]["MessageGroupId"] for message in messages}) == 1
