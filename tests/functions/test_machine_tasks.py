"""The functions that the state machines call: payload in, payload out, refusals by the name of their class."""

from __future__ import annotations

import json
from dataclasses import asdict, replace

import pytest
from pydantic import ValidationError

from tests.builders import (
    NOW,
    REPOSITORY,
    any_delivery,
    any_deployment,
    any_drift,
    any_job,
    any_layer,
    any_plan,
    deployment_in,
)
from tests.fakes.ports import ENVIRONMENT
from tests.functions.wires import DEPLOY_MACHINE, call, call_function, failures, sqs_event
from tests.unit.clusters.cluster_scenario import ClusterScenario
from tidegate.bootstrap.dispatch import UnknownKind
from tidegate.bootstrap.readers import read_call, read_runner
from tidegate.check_runs.publish_check_run import publish_check_run
from tidegate.deploys.queue.enqueue import enqueue
from tidegate.deploys.rules.job import job_digest
from tidegate.deploys.rules.plan_runner import Limit, PlanRunner
from tidegate.deploys.rules.speculative_plan import LayerState
from tidegate.deploys.rules.state import State
from tidegate.messages.queues import PublishDeployment
from tidegate.ports import Delivery
from tidegate.rules.errors import (
    ApplyAlreadyStarted,
    AuditUnavailable,
    ForgeUnavailable,
    NoFreePlanSlot,
    NotFound,
    NotItsJob,
)
from tidegate.vcs.adapters.deliveries import to_message

TASK = "arn:aws:ecs:eu-central-1:123456789012:task/runners/1"


def test_a_deployment_goes_from_its_queue_to_its_outcome(wires):
    deployment, queue = any_deployment(), any_deployment().queue
    enqueue(wires.ports, deployment)
    (execution, _) = wires.workflows.starts[0]
    worker = {"queue": queue, "execution": execution}

    claimed = call("claim_deployment", {**worker, "rounds": 0, "started": NOW})
    assert (claimed["step"], claimed["deployment"]) == ("deploy", deployment.id)
    assert call("validate_revision", {"queue": queue, "deployment": deployment.id})["allowed"] is True

    job = call("begin_job", {"deployment": deployment.id, "phase": "plan", "attempt": 1})["job"]
    assert call("dispatch_job", {"job": job, "token": "plan-token"}) == {}
    assert wires.jobs.take(job, TASK).token == "plan-token"
    plan = {"deployment": deployment.id, "plan": json.loads(json.dumps(asdict(any_plan(job=job))))}
    assert call("record_plan", plan)["next"] == "review"
    wires.workflows.waiting.add("review-token")
    assert call("request_review", {"deployment": deployment.id, "token": "review-token"}) == {}

    call("publish_check_run", check_run_message(deployment.id))
    call("answer_button", click_message(wires, deployment.id, "Approve"))
    assert wires.workflows.settled["review-token"]["approved"] is True

    job = call("begin_job", {"deployment": deployment.id, "phase": "apply", "attempt": 1})["job"]
    call("dispatch_job", {"job": job, "token": "apply-token"})
    wires.jobs.take(job, TASK)
    result = {"deployment": deployment.id, "state": "applied", "error": None, "cause": None, "last_lines": "Done."}
    assert call("record_result", result) == {"state": "applied", "end": "recorded", "error": None, "cause": None}
    assert call("record_outcome", {"queue": queue, "deployment": deployment.id, "error": None}) == {"state": "applied"}

    claimed = call("claim_deployment", {**worker, "rounds": 1, "started": NOW})
    assert claimed["step"] == "wait"
    wires.workflows.waiting.add("worker-token")
    assert call("wait_for_signal", {**worker, "version": claimed["version"], "token": "worker-token"}) == {}
    assert call("close_worker", worker) == {"closed": True}
    assert wires.audit.states == ["RUNNING", "SUCCESS"]


def check_run_message(*deployments, again=False, receives=1):
    bodies = [PublishDeployment(deployment=each, again=again).body() for each in deployments]
    return sqs_event(*bodies, group=list(deployments), receives=receives)


def click_message(wires, deployment, identifier, by="reviewer"):
    record = wires.deployments.get(deployment)
    fields = {
        "repository": record.repository,
        "id": 1,
        "external_id": deployment,
        "name": f"tidegate/deploy: {record.root.name}",
        "head_sha": record.revision.sha,
        "identifier": identifier,
        "sender": by,
    }
    return sqs_event(to_message(Delivery("delivery-1", "check_run", fields, wires.clock.now())))


def test_a_worker_hands_over_to_the_next_generation(wires):
    enqueue(wires.ports, any_deployment())
    ((execution, queue),) = wires.workflows.starts
    call("claim_deployment", {"queue": queue, "execution": execution, "rounds": 0, "started": NOW})
    assert call("continue_as_new", {"queue": queue, "execution": execution}) == {}
    assert len(wires.workflows.starts) == 2


@pytest.mark.parametrize(
    ("function", "event", "refusal"),
    [
        ("begin_job", {"deployment": "none", "phase": "plan", "attempt": 1}, NotFound),
        ("dispatch_job", {"job": "none", "token": "t"}, NotFound),
        ("record_result", {"deployment": "none", "state": "applied"}, NotFound),
        ("begin_job", {"deployment": "none", "phase": "destroy", "attempt": 1}, ValidationError),
        ("begin_job", {"deployment": "none", "phase": "plan", "attempt": 1, "typo": 1}, ValidationError),
        ("claim_deployment", {"queue": "q"}, ValidationError),
    ],
)
def test_a_refusal_leaves_the_function_under_its_own_name(wires, function, event, refusal):
    with pytest.raises(refusal):
        call(function, event)


def test_refusals_of_an_apply_leave_the_function_under_their_own_names(wires):
    approved = deployment_in(State.APPROVED)
    wires.deployments.add(approved)
    begin = {"deployment": approved.id, "phase": "apply", "attempt": 1}
    wires.audit.unavailable = True
    with pytest.raises(AuditUnavailable):
        call("begin_job", begin)
    wires.audit.unavailable = False
    job = call("begin_job", begin)["job"]
    wires.forge.failures = [ForgeUnavailable("down")]
    with pytest.raises(ForgeUnavailable):
        call("dispatch_job", {"job": job, "token": "t"})
    with pytest.raises(ApplyAlreadyStarted):
        call("begin_job", {**begin, "attempt": 2})


def test_a_call_is_logged_with_its_ids_and_without_its_token(wires, caplog):
    deployment = any_deployment(state=State.PLANNING, plan=any_plan())
    wires.deployments.add(deployment)
    call("request_review", {"deployment": deployment.id, "token": "secret-token"})
    line = vars(caplog.records[-1])
    assert (line["deployment"], line["request"], line["msg"]) == (deployment.id, "request-1", "done")
    assert "secret-token" not in str(line)


def test_a_failed_call_is_logged_with_the_name_of_its_refusal(wires, caplog):
    with pytest.raises(NotFound):
        call("begin_job", {"deployment": "none", "phase": "plan", "attempt": 1})
    line = vars(caplog.records[-1])
    assert (line["levelname"], line["refusal"], line["deployment"]) == ("ERROR", "NotFound", "none")


def test_a_publication_is_postponed_for_as_long_as_the_forge_asks(wires):
    wires.deployments.add(any_deployment())
    wires.forge.failures = [ForgeUnavailable("limit", 17)]
    answer = call("publish_check_run", check_run_message(any_deployment().id))
    assert failures(answer) == ["message-0"]
    assert wires.visibility.postponed == [("https://sqs.example/check-runs.fifo", "receipt-0", 17)]


def test_without_a_time_the_pause_grows_with_each_attempt(wires):
    wires.deployments.add(any_deployment())
    for receives in (1, 2, 5, 50):
        wires.forge.failures = [ForgeUnavailable("down")]
        call("publish_check_run", check_run_message(any_deployment().id, receives=receives))
    assert [seconds for _, _, seconds in wires.visibility.postponed] == [1, 2, 16, 900]


def test_a_group_stops_at_its_first_failure_and_others_go_on(wires):
    first, second = any_deployment(1), any_deployment(2)
    wires.deployments.add(first)
    wires.deployments.add(second)
    wires.forge.failures = [ForgeUnavailable("down", 1)]
    answer = call("publish_check_run", check_run_message(first.id, first.id, second.id))
    assert failures(answer) == ["message-0", "message-1"]
    assert wires.check_runs.published(second.id) is not None
    assert wires.check_runs.published(first.id) is None


def test_what_stands_behind_a_postponed_message_comes_back_with_it_and_holds_nothing_up(wires):
    first, second = any_deployment(1), any_deployment(2)
    wires.deployments.add(first)
    wires.deployments.add(second)
    wires.forge.failures = [ForgeUnavailable("limit", 17)]
    call("publish_check_run", check_run_message(first.id, first.id, second.id, first.id))
    queue = "https://sqs.example/check-runs.fifo"
    assert wires.visibility.postponed == [(queue, f"receipt-{number}", 17) for number in (0, 1, 3)]


def test_a_message_that_cannot_be_taken_is_left_to_the_queue(wires):
    answer = call("publish_check_run", check_run_message("no-such-deployment"))
    assert failures(answer) == ["message-0"]
    assert wires.visibility.postponed == []


def test_a_press_is_postponed_while_the_forge_is_down_and_others_are_answered(wires):
    wires.deployments.add(deployment_in(State.AWAITING_REVIEW))
    publish_check_run(wires.ports, deployment_in(State.AWAITING_REVIEW).id)
    event = click_message(wires, deployment_in(State.AWAITING_REVIEW).id, "Approve")
    event["Records"] *= 2
    event["Records"][1] = {**event["Records"][1], "messageId": "message-1", "receiptHandle": "receipt-1"}
    wires.forge.failures = [ForgeUnavailable("down", 3)]
    answer = call("answer_button", event)
    assert failures(answer) == ["message-0"]
    assert wires.visibility.postponed == [("https://sqs.example/actions", "receipt-0", 3)]
    assert wires.deployments.get(deployment_in(State.AWAITING_REVIEW).id).state is State.APPROVED


def stopped_event(job, **fields):
    environment = [{"name": "TIDEGATE_JOB", "value": job}, {"name": "TIDEGATE_START_TOKEN", "value": "start-token"}]
    return {
        "source": "aws.ecs",
        "detail-type": "ECS Task State Change",
        "detail": {
            "taskArn": TASK,
            "startedBy": "AWS Step Functions",
            "lastStatus": "STOPPED",
            "stoppedReason": "Essential container in task exited",
            "containers": [{"name": "runner", "exitCode": 137, "reason": "OutOfMemoryError: killed"}],
            "overrides": {"containerOverrides": [{"name": "runner", "environment": environment}]},
            **fields,
        },
    }


def test_a_stopped_task_fails_its_start_with_all_that_is_known(wires):
    wires.workflows.waiting.add("start-token")
    call("runner_stopped", stopped_event("job-1"))
    error, cause = wires.workflows.failed["start-token"]
    assert error == "RunnerStopped"
    assert json.loads(cause)["message"] == (
        "Essential container in task exited; OutOfMemoryError: killed; exit code 137"
    )


@pytest.mark.parametrize(
    ("containers", "stop", "expected"),
    [
        ([{"exitCode": 1, "reason": "OutOfMemoryError: Container killed"}], "TaskFailedToStart", True),
        ([{"exitCode": 137}], "EssentialContainerExited", True),
        ([{"exitCode": 137}], "UserInitiated", False),
        ([{"exitCode": 1}], "EssentialContainerExited", False),
        ([{}], None, False),
    ],
)
def test_a_task_is_out_of_memory_if_ecs_says_so_or_it_was_killed_without_being_stopped(containers, stop, expected):
    event = stopped_event("job-1", containers=containers, stopCode=stop)
    assert read_runner(event["detail"]).out_of_memory is expected


def test_a_stopped_task_that_no_machine_started_belongs_to_no_job(wires):
    event = stopped_event("job-1", overrides={}, containers=[], stoppedReason=None)
    stopped = read_runner(event["detail"])
    assert (stopped.job, stopped.start_token) == ("", None)
    assert stopped.reason == "The task stopped without a reason."


@pytest.mark.parametrize(
    ("said", "reason", "limit"),
    [
        ({"errorType": "Runtime.OutOfMemory", "errorMessage": "signal: killed"}, "signal: killed", Limit.MEMORY),
        ({"errorType": "Sandbox.Timedout", "errorMessage": "Task timed out"}, "Task timed out", Limit.TIME),
        ({"errorType": "Runtime.ExitError", "errorMessage": "exit code 5"}, "exit code 5", None),
        (None, "EventAgeExceeded", None),
    ],
)
def test_a_call_of_lambda_that_came_to_nothing_fails_what_waits_for_it(wires, said, reason, limit):
    job = on_lambda(wires)
    call_function("waits", failed_call(said, job))
    assert json.loads(wires.workflows.failed["start-token"][1])["message"] == f"Lambda: {reason}"
    assert wires.jobs.limit(job.id) is limit
    assert read_call(failed_call(said, job)["detail"])[0].task == "lambda:request-1"


def on_lambda(wires):
    """Return a plan that was begun on Lambda."""
    job = replace(any_job(), runner=PlanRunner.LAMBDA)
    wires.jobs.create(job)
    wires.workflows.waiting.add("start-token")
    return job


def failed_call(said, job):
    """Return what Lambda tells a bus (AWS Lambda, Capturing records of Lambda asynchronous invocations)."""
    detail = {
        "version": "1.0",
        "requestContext": {"requestId": "request-1", "condition": "EventAgeExceeded", "functionArn": "arn:function"},
        "requestPayload": {"job": job.id, "digest": job_digest(job), "token": "start-token"},
        **({} if said is None else {"responsePayload": said}),
    }
    return {"source": "lambda", "detail-type": "Lambda Function Invocation Result - Failure", "detail": detail}


@pytest.mark.parametrize(
    "detail",
    [
        {"kind": "wait_for_signal", "queue": "q", "token": "start-token"},
        {"kind": "request_review", "requestContext": {"requestId": "1", "condition": "any"}, "requestPayload": {}},
        {"taskArn": "arn:task", "overrides": {}},
        {},
    ],
)
def test_what_the_role_of_a_plans_function_may_say_does_nothing_but_report_calls(wires, detail):
    on_lambda(wires)
    event = {"source": "lambda", "detail-type": "Lambda Function Invocation Result - Failure", "detail": detail}
    with pytest.raises(NotItsJob):
        call_function("waits", event)
    assert not wires.workflows.failed


def test_the_record_of_a_call_by_itself_is_no_event_of_a_function(wires):
    with pytest.raises(UnknownKind):
        call_function("waits", failed_call(None, on_lambda(wires))["detail"])


def test_a_plan_is_started_on_lambda_as_a_tenant_of_its_own(wires):
    asked = {"function": "arn:version", "job": "job-1", "digest": "digest", "token": "start-token"}
    call("start_on_lambda", asked)
    assert wires.plan_functions.started == [("arn:version", "job-1", "digest", "start-token")]


def closed_event(machine, queue, execution, status="ABORTED"):
    detail = {
        "executionArn": "arn:execution",
        "stateMachineArn": machine,
        "name": execution,
        "status": status,
        "input": json.dumps({"queue": queue}),
    }
    return {"source": "aws.states", "detail-type": "Step Functions Execution Status Change", "detail": detail}


def test_an_aborted_deploy_execution_releases_its_queue(wires):
    deployment = any_deployment()
    enqueue(wires.ports, deployment)
    ((execution, queue),) = wires.workflows.starts
    call("claim_deployment", {"queue": queue, "execution": execution, "rounds": 0, "started": NOW})
    call("execution_closed", closed_event(DEPLOY_MACHINE, queue, execution))
    head, first = wires.queues.read(queue)
    assert head.in_flight is None
    assert first.deployment == deployment.id
    assert len(wires.workflows.starts) == 2


def test_a_terraform_execution_is_left_to_the_deploy_execution_above_it(wires):
    call("execution_closed", closed_event("arn:aws:states:eu-central-1:123456789012:stateMachine:terraform", "q", "e"))
    assert wires.workflows.starts == []


CLUSTERS = ENVIRONMENT["TIDEGATE_CLUSTER_MACHINES"]


def of_cluster(machine, name, status="ABORTED", **given):
    event = closed_event(f"{CLUSTERS}{machine}", "", name, status)
    return {**event, "detail": {**event["detail"], "input": json.dumps({"deployment": "d1", **given})}}


def test_a_stopped_workflow_of_a_cluster_is_followed_by_what_handles_its_error(wires):
    cluster = ClusterScenario(ports=wires.ports)
    cluster.begin()
    for machine, status in (("cluster-management-upgrade-simulated", "TIMED_OUT"), ("cluster-task", "FAILED")):
        call("execution_closed", of_cluster(machine, "d1", status))
    ((execution, *_, error, _),) = wires.ports.cluster_workflows.errors
    assert (execution, error) == ("d1-error", "Execution.TIMED_OUT")
    call("execution_closed", of_cluster("cluster-error", "d1-error", execution="d1"))
    assert cluster.record.lock is None


def test_a_task_of_a_cluster_goes_through_its_steps(wires):
    cluster = ClusterScenario(ports=wires.ports)
    at = {"deployment": cluster.deployed(), "execution": "d1"}
    assert call("begin_cluster", at) == {"fence": 1}
    begun = call("begin_cluster_task", {**at, "task": "validate"})
    assert (begun["next"], begun["job"]) == ("run", "d1-task-1")
    cluster.result("d1-task-1", ("management-cluster", "it"))
    assert call("record_cluster_task", {**at, "task": "validate"}) == {}
    assert call("fail_cluster_task", {**at, "task": "back-up", "error": "Oops"})["goes_on"] is False
    assert call("fail_cluster", {**at, "error": "Oops"})["releases"] == []
    assert call("end_failed_cluster", {**at, "error": "Oops"})["state"] == "failed"


def test_a_workflow_of_a_cluster_ends(wires):
    cluster = ClusterScenario(ports=wires.ports)
    cluster.begin()
    assert call("end_cluster", {"deployment": "d1", "execution": "d1"}) == {}
    assert cluster.record.lock is None


def test_the_reconciler_says_how_much_it_repaired(wires):
    wires.queues.enqueue(any_deployment())
    repaired = call_function("reconcile", {})
    assert (repaired.pop("start_workers"), repaired.pop("refresh_all_positions")) == (1, 1)
    assert set(repaired.values()) == {0}
    assert len(wires.workflows.starts) == 1


def test_what_the_reconciler_cannot_repair_fails_its_call_after_all_else_is_repaired(wires):
    wires.queues.enqueue(any_deployment())
    wires.deliveries.store(any_delivery())
    wires.clock.advance(7200)
    wires.events.refusals = 1
    with pytest.raises(ExceptionGroup, match="next run"):
        call_function("reconcile", {})
    assert len(wires.workflows.starts) == 1


def test_a_layer_goes_from_its_job_to_its_plan(wires):
    wires.speculative_plans.create([any_layer()])
    layer = {"layer": any_layer().id}
    begun = call("begin_speculative_plan", {**layer, "attempt": 1})
    assert call("dispatch_job", {"job": begun["job"], "token": "plan-token"}) == {}
    assert wires.jobs.take(begun["job"], TASK).job.kind == "speculate"
    plan = json.loads(json.dumps(asdict(any_plan(job=begun["job"]))))
    assert call("record_speculative_plan", {**layer, "plan": plan}) == {"state": "planned", "policies": False}
    refused = {"error": "TerraformClientError", "cause": json.dumps({"message": "No."})}
    assert call("record_speculative_plan", {**layer, **refused})["state"] == "failed"


def test_a_layer_without_a_place_waits_for_the_one_before_it(wires):
    first, second = any_layer("first"), any_layer("second")
    wires.speculative_plans.create([first, second])
    call("begin_speculative_plan", {"layer": first.id, "attempt": 1})
    with pytest.raises(NoFreePlanSlot):
        call("begin_speculative_plan", {"layer": second.id, "attempt": 1})
    wires.workflows.waiting.add("token")
    assert (
        call(
            "wait_for_plan_slot",
            {"layer": second.id, "token": "token", "entered": "2026-03-02T08:00:00.123Z", "retry": 0},
        )
        == {}
    )
    assert wires.workflows.settled == {}
    call("record_speculative_plan", {"layer": first.id, "error": "RunnerStopped"})
    assert wires.workflows.settled == {"token": {}}
    assert call("begin_speculative_plan", {"layer": second.id, "attempt": 1})["job"]


def test_a_run_that_looks_for_drift_ends_in_its_record(wires):
    wires.drifts.save(any_drift(execution="run-1", layers=(any_layer().id,)))
    wires.speculative_plans.create([any_layer(schedule="nightly", state=LayerState.NO_CHANGES)])
    run = {"repository": REPOSITORY, "schedule": "nightly", "execution": "run-1"}
    assert call("discover_drift", run) == {"next": "conclude", "layers": []}
    assert call("conclude_drift", run) == {"summary": "1 without drift"}
    assert call("conclude_drift", {**run, "error": "Lambda.Unknown", "cause": "{}"}) == {"summary": "overtaken"}
    assert call("discover_drift", {**run, "schedule": "gone"}) == {"next": "stop", "layers": []}
