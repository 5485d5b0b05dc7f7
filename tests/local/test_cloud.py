"""The local cloud behaves as AWS does, seen from outside through boto3 and HTTP."""

from __future__ import annotations

import json
import urllib.error
import urllib.request
import uuid
from concurrent.futures import ThreadPoolExecutor
from threading import Barrier

import pytest
from botocore.exceptions import ClientError

from tests.local.calls import ended, invoke, kept, start, token_of
from tests.local.deadlines import until

pytestmark = [pytest.mark.nightly, pytest.mark.cloud]


def test_a_function_answers(cloud):
    assert invoke(cloud, n=4) == ({"n": 5}, None)


def test_an_exception_is_reported_with_its_type_and_stack(cloud):
    answer, error = invoke(cloud, do="fail")
    assert error == "Unhandled"
    assert (answer["errorType"], answer["errorMessage"]) == ("ValueError", "told to fail")
    assert "lambda_handler" in "".join(answer["stackTrace"])


def test_an_answer_over_six_megabytes_is_no_answer(cloud):
    answer, error = invoke(cloud, do="say", size=6_291_554)
    assert (len(answer), error) == (6_291_554, None)
    answer, error = invoke(cloud, do="say", size=6_291_555)
    assert (answer["errorType"], error) == ("Function.ResponseSizeTooLarge", "Unhandled")
    assert post(f"{cloud.webhook_url}?longest", b"")[0] == 500


def test_a_function_that_takes_too_long_is_killed(cloud):
    answer, error = invoke(cloud, do="sleep", seconds=30)
    assert error == "Unhandled"
    assert answer["errorType"] == "Sandbox.Timedout"
    assert "8.00 seconds" in answer["errorMessage"]


def test_a_process_that_exits_is_an_exit_error_and_the_next_call_gets_a_new_one(cloud):
    answer, error = invoke(cloud, do="exit")
    assert (answer["errorType"], error) == ("Runtime.ExitError", "Unhandled")
    assert invoke(cloud, n=1) == ({"n": 2}, None)


def test_an_event_after_a_function_was_killed_gets_a_new_process(cloud):
    for _ in range(10):
        cloud.warm(cloud.functions["Worker"])
        cloud.kill_function(cloud.functions["Worker"])
        assert invoke(cloud, n=1) == ({"n": 2}, None)


def test_events_that_come_while_an_idle_function_is_killed_are_not_lost(cloud):
    name = cloud.functions["Worker"]
    with ThreadPoolExecutor(4) as pool:
        for _ in range(10):
            cloud.warm(name)
            ready = Barrier(4)
            killed = pool.submit(lambda ready=ready: (ready.wait(), cloud.kill_function(name)))
            told = list(pool.map(lambda _, ready=ready: (ready.wait(), invoke(cloud, n=1))[1], range(3)))
            killed.result()
            # What works already may die with the rest; nothing hangs until its time is over.
            assert {error for _, error in told} <= {None, "Unhandled"}
            assert {answer.get("errorType") for answer, _ in told} <= {None, "Runtime.ExitError"}
            assert invoke(cloud, n=1) == ({"n": 2}, None)


def test_what_a_function_prints_is_in_its_log_group(cloud):
    mark = uuid.uuid4().hex
    invoke(cloud, n=1, mark=mark)
    logs = cloud.client("logs")
    until(lambda: [e for e in logs.filter_log_events(logGroupName="worker")["events"] if mark in e["message"]])


def test_a_call_that_the_role_does_not_allow_is_refused(cloud):
    answer, _ = invoke(cloud, do="scan")
    assert "AccessDeniedException" in answer["errorMessage"]
    assert "dynamodb:Scan" in answer["errorMessage"]


def test_leading_keys_of_a_policy_hold(cloud):
    assert invoke(cloud, do="keep", pk="kept#own")[1] is None
    answer, _ = invoke(cloud, do="keep", pk="other#key")
    assert "dynamodb:PutItem" in answer["errorMessage"]


def test_operators_may_do_everything(cloud):
    assert cloud.client("dynamodb").scan(TableName=cloud.table, Limit=1)["Count"] <= 1


def test_a_state_machine_runs_functions_and_evaluates_jsonata(cloud):
    found = ended(cloud, start(cloud, "Chain", n=1))
    assert (found["status"], json.loads(found["output"])) == ("SUCCEEDED", {"n": 3})


def test_a_state_machine_calls_no_function_without_the_version_that_its_role_may_call(cloud):
    found = ended(cloud, start(cloud, "Unpinned", n=1))
    assert (found["status"], found["error"]) == ("FAILED", "Lambda.AccessDeniedException")


def test_a_function_has_version_1_and_no_other(cloud):
    worker = cloud.functions["Worker"]
    functions = cloud.client("lambda")
    for name in (f"{worker}:1", f"{worker}:$LATEST", f"function:{worker}:1"):
        assert json.loads(functions.invoke(FunctionName=name, Payload='{"n": 1}')["Payload"].read()) == {"n": 2}
    with pytest.raises(ClientError, match="Function not found"):
        functions.invoke(FunctionName=f"{worker}:2", Payload="{}")


def test_a_child_execution_is_waited_for(cloud):
    name = f"child-{uuid.uuid4()}"
    found = ended(cloud, parent_of(cloud, "Parent", name))
    output = json.loads(found["output"])
    assert output == {"name": name, "status": "SUCCEEDED", "output": {"n": 3}}


def parent_of(cloud, machine, child):
    arn = cloud.state_machines[machine]
    states = cloud.client("stepfunctions")
    return states.start_execution(stateMachineArn=arn, name=f"p-{uuid.uuid4()}", input=json.dumps({"name": child}))[
        "executionArn"
    ]


def test_stopping_a_parent_stops_its_child(cloud):
    name = f"child-{uuid.uuid4()}"
    parent = parent_of(cloud, "PatientParent", name)
    child = cloud.state_machines["Waiting"].replace(":stateMachine:", ":execution:") + f":{name}"
    token_of(cloud, child)
    cloud.client("stepfunctions").stop_execution(executionArn=parent, error="Told", cause="to stop")
    stopped = ended(cloud, parent)
    assert (stopped["status"], stopped["error"], stopped["cause"]) == ("ABORTED", "Told", "to stop")
    assert ended(cloud, child)["status"] == "ABORTED"


def test_an_answered_token_gives_the_states_output(cloud):
    execution = start(cloud, "Waiting")
    states = cloud.client("stepfunctions")
    token = token_of(cloud, execution)
    states.send_task_heartbeat(taskToken=token)
    states.send_task_success(taskToken=token, output='{"quote": "say \\"yes\\""}')
    assert json.loads(ended(cloud, execution)["output"]) == {"quote": 'say "yes"'}


def test_a_failed_token_has_error_and_cause(cloud):
    execution = start(cloud, "Waiting")
    cloud.client("stepfunctions").send_task_failure(
        taskToken=token_of(cloud, execution), error="Nope", cause='{"a": "b"}'
    )
    assert json.loads(ended(cloud, execution)["output"]) == {"error": "Nope", "cause": '{"a": "b"}'}


def test_a_second_answer_is_too_late(cloud):
    execution = start(cloud, "Waiting")
    states, token = cloud.client("stepfunctions"), token_of(cloud, execution)
    states.send_task_success(taskToken=token, output="1")
    for _ in range(2):
        with pytest.raises(ClientError) as refused:
            states.send_task_success(taskToken=token, output="2")
        assert refused.value.response["Error"]["Code"] == "TaskTimedOut"
        assert ended(cloud, execution)["output"] == "1"


def test_an_unknown_token_is_invalid(cloud):
    with pytest.raises(ClientError) as refused:
        cloud.client("stepfunctions").send_task_success(taskToken="x" * 100, output="1")
    assert refused.value.response["Error"]["Code"] == "InvalidToken"


def test_tokens_are_as_long_as_those_of_aws(cloud):
    execution = start(cloud, "Waiting")
    assert len(token_of(cloud, execution)) > 500
    cloud.client("stepfunctions").stop_execution(executionArn=execution)


def test_the_same_name_and_input_joins_a_running_execution_and_is_refused_after(cloud):
    name = f"same-{uuid.uuid4()}"
    first = start(cloud, "Waiting", name=name)
    assert start(cloud, "Waiting", name=name) == first
    cloud.client("stepfunctions").stop_execution(executionArn=first)
    with pytest.raises(ClientError) as refused:
        start(cloud, "Waiting", name=name)
    assert refused.value.response["Error"]["Code"] == "ExecutionAlreadyExists"


@pytest.mark.parametrize("name", ["owner/repo", "a||b", "x" * 81, "with space"])
def test_an_illegal_execution_name_is_refused(cloud, name):
    with pytest.raises(ClientError) as refused:
        start(cloud, "Chain", name=name)
    assert refused.value.response["Error"]["Code"] == "InvalidName"


def test_a_failed_execution_is_an_event_for_the_rules_function(cloud):
    execution = start(cloud, "Failing")
    event = until(lambda: [e for e in kept(cloud, "event").values() if execution in e["resources"]])[0]
    detail = event["detail"]
    assert (event["source"], detail["status"], detail["error"], detail["cause"]) == (
        "aws.states",
        "FAILED",
        "Broken",
        'say "no"',
    )


def test_a_task_runs_with_its_environment_and_its_end_is_an_event(cloud):
    execution = start(cloud, "RunsTask")
    name = execution.rpartition(":")[2]
    found = until(lambda: [e for e in kept(cloud, "event").values() if e["detail"].get("group") == name])[0]
    detail = found["detail"]
    assert found["detail-type"] == "ECS Task State Change"
    assert (detail["lastStatus"], detail["stopCode"]) == ("STOPPED", "EssentialContainerExited")
    assert detail["containers"][0]["exitCode"] == 0
    environment = detail["overrides"]["containerOverrides"][0]["environment"]
    assert environment[0]["name"] == "TOKEN"
    events = cloud.client("logs").filter_log_events(logGroupName="task")["events"]
    assert any(item["message"] == "task starts with hello" for item in events)
    cloud.client("stepfunctions").stop_execution(executionArn=execution)


def run_task(cloud, **environment):
    overrides = {"name": "runner", "environment": [{"name": k, "value": v} for k, v in environment.items()]}
    answer = cloud.client("ecs").run_task(
        cluster="small",
        taskDefinition="runner",
        networkConfiguration={"awsvpcConfiguration": {"subnets": ["subnet-1"]}},
        overrides={"containerOverrides": [overrides]},
    )
    return answer["tasks"][0]["taskArn"]


def stopped_task(cloud, task):
    def look():
        found = cloud.client("ecs").describe_tasks(cluster="small", tasks=[task])["tasks"][0]
        return found if found["lastStatus"] == "STOPPED" else None

    return until(look)


def test_stopping_a_task_sends_it_one_signal_and_waits(cloud):
    task = run_task(cloud, SECONDS="60", SAID="signal-me")
    logs = cloud.client("logs")
    until(lambda: [e for e in logs.filter_log_events(logGroupName="task")["events"] if "signal-me" in e["message"]])
    cloud.client("ecs").stop_task(cluster="small", task=task, reason="enough")
    found = stopped_task(cloud, task)
    assert (found["stopCode"], found["stoppedReason"]) == ("UserInitiated", "enough")
    assert found["containers"][0]["exitCode"] == 7


def test_a_killed_task_shows_the_signal(cloud):
    task = run_task(cloud, SECONDS="60")
    cloud.kill_task(task)
    assert stopped_task(cloud, task)["containers"][0]["exitCode"] == 137


def test_messages_are_handled_and_deleted(cloud):
    sqs, queue, mark = cloud.client("sqs"), cloud.queues["Queue"], uuid.uuid4().hex
    sqs.send_message(QueueUrl=queue, MessageBody=mark)
    until(lambda: [m for m in kept(cloud, "message").values() if m["body"] == mark])
    until(lambda: depth(cloud, "Queue") == 0)


def depth(cloud, queue):
    names = ["ApproximateNumberOfMessages", "ApproximateNumberOfMessagesNotVisible"]
    found = cloud.client("sqs").get_queue_attributes(QueueUrl=cloud.queues[queue], AttributeNames=names)["Attributes"]
    return sum(int(value) for value in found.values())


def test_a_message_that_fails_comes_again_and_ends_in_the_dead_letter_queue(cloud):
    sqs, mark = cloud.client("sqs"), uuid.uuid4().hex
    sqs.send_message(QueueUrl=cloud.queues["Queue"], MessageBody=f"fail {mark}")

    def dead():
        found = sqs.receive_message(QueueUrl=cloud.queues["Dead"]).get("Messages", [])
        return next((message for message in found if message["Body"] == f"fail {mark}"), None)

    answer = until(dead)
    until(lambda: len([m for m in kept(cloud, "message").values() if mark in m["body"]]) == 2)
    sqs.delete_message(QueueUrl=cloud.queues["Dead"], ReceiptHandle=answer["ReceiptHandle"])


def test_messages_of_one_group_are_handled_in_order(cloud):
    sqs, mark = cloud.client("sqs"), uuid.uuid4().hex
    for number in range(12):
        sqs.send_message(QueueUrl=cloud.queues["Ordered"], MessageBody=f"{mark} {number}", MessageGroupId=mark)
    found = until(
        lambda: (
            (every := [m for m in kept(cloud, "message").values() if mark in m["body"]]) and len(every) == 12 and every
        )
    )
    received = sorted(
        found, key=lambda m: (int(m["attributes"]["ApproximateFirstReceiveTimestamp"]), m["body"].split()[1])
    )
    assert {m["body"] for m in received} == {f"{mark} {number}" for number in range(12)}


def test_a_schedule_can_be_run_by_hand(cloud):
    before = len(kept(cloud, "event"))
    cloud.fire_schedule("Sweep")
    until(lambda: any(e["detail-type"] == "Scheduled Event" for e in kept(cloud, "event").values()))
    assert len(kept(cloud, "event")) > before


def post(url, body, **headers):
    request = urllib.request.Request(url, data=body, headers=headers)
    try:
        with urllib.request.urlopen(request) as answer:
            return answer.status, dict(answer.headers), answer.read()
    except urllib.error.HTTPError as error:
        return error.code, dict(error.headers), error.read()


def test_a_request_reaches_the_routes_function_as_it_was_sent(cloud):
    mark = uuid.uuid4().hex
    body = json.dumps({"mark": mark, "text": "ü"}, ensure_ascii=False).encode()
    status, headers, answer = post(
        cloud.webhook_url + "?a=1&a=2", body, **{"Content-Type": "application/json", "X-Some": "thing"}
    )
    assert (status, headers["x-answer"], answer) == (202, "yes", b"taken")
    event = next(e for e in kept(cloud, "request").values() if mark in e.get("body", ""))
    assert event["body"].encode() == body
    assert event["headers"]["x-some"] == "thing"
    assert event["queryStringParameters"] == {"a": "1,2"}
    assert event["requestContext"]["http"]["path"] == "/webhooks/small"


def test_a_body_over_ten_megabytes_is_refused_by_the_gateway(cloud):
    assert post(cloud.webhook_url, b"x" * (10 * 1024 * 1024 + 1), **{"Content-Type": "application/json"})[0] == 413


def test_an_unknown_path_is_not_found(cloud):
    assert post(cloud.api_url + "/nothing", b"{}")[0] == 404


def test_published_audit_messages_can_be_read(cloud):
    mark = uuid.uuid4().hex
    cloud.client("sns").publish(
        TopicArn=cloud.audit_topic,
        Message=json.dumps({"mark": mark}),
        MessageGroupId="group",
        MessageDeduplicationId=mark,
    )
    assert {"mark": mark} in cloud.audit()


def test_a_fault_before_the_effect_prevents_it(cloud):
    cloud.add_fault(service="dynamodb", action="PutItem", error="ValidationException", times=None)
    answer, _ = invoke(cloud, do="keep", pk="kept#fault-before")
    assert "ValidationException" in answer["errorMessage"]
    cloud.clear_faults()
    assert kept(cloud, "fault-before") == {}


def test_a_fault_after_the_effect_leaves_it(cloud):
    cloud.add_fault(service="dynamodb", action="PutItem", error="ValidationException", when="after")
    answer, _ = invoke(cloud, do="keep", pk="kept#fault-after")
    assert "ValidationException" in answer["errorMessage"]
    assert len(kept(cloud, "fault-after")) == 1


def test_a_function_can_be_killed_after_a_write(cloud):
    for count in range(1, 6):
        cloud.add_fault(service="dynamodb", action="PutItem", when="after", kill=True, function="Worker")
        answer, _ = invoke(cloud, do="keep", pk="kept#killed")
        assert answer["errorType"] == "Runtime.ExitError"
        assert len(kept(cloud, "killed")) == count


def test_what_was_left_out_of_the_template_is_told(cloud):
    assert cloud.read("left_out")["Alarm"] == "AWS::CloudWatch::Alarm"


def test_a_transaction_that_fails_leaves_everything_as_it_was(cloud):
    dynamodb, table = cloud.client("dynamodb"), cloud.table
    pk = {"S": f"kept#{uuid.uuid4()}"}
    keys = [{"pk": pk, "sk": {"S": name}} for name in ("updated", "deleted", "new")]
    for key in keys[:2]:
        dynamodb.put_item(TableName=table, Item={**key, "value": {"S": "before"}})
    update = {
        "TableName": table,
        "Key": keys[0],
        "UpdateExpression": "SET #v = :after",
        "ExpressionAttributeNames": {"#v": "value"},
        "ExpressionAttributeValues": {":after": {"S": "after"}},
    }
    refused = {"TableName": table, "Item": {"pk": pk, "sk": {"S": "x"}}, "ConditionExpression": "attribute_exists(pk)"}
    changes = [
        {"Update": update},
        {"Delete": {"TableName": table, "Key": keys[1]}},
        {"Put": {"TableName": table, "Item": keys[2]}},
        {"Put": refused},
    ]
    with pytest.raises(ClientError, match="TransactionCanceled"):
        dynamodb.transact_write_items(TransactItems=changes)
    found = dynamodb.query(
        TableName=table, KeyConditionExpression="pk = :pk", ExpressionAttributeValues={":pk": pk}, ConsistentRead=True
    )
    assert {item["sk"]["S"]: item["value"]["S"] for item in found["Items"]} == {
        "updated": "before",
        "deleted": "before",
    }
