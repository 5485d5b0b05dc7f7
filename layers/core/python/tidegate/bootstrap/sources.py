"""What comes to functions from queues and from EventBridge: by what it comes, its kind, and what takes it."""

# ruff: noqa: PLC0415  # Imports stay with what needs them: a function imports only what it uses.

from __future__ import annotations

import json
from collections.abc import Callable, Mapping
from typing import TYPE_CHECKING, Any

from tidegate.aws.batches import take_all, take_held, take_in_order
from tidegate.bootstrap import wiring
from tidegate.rules.errors import NotItsJob
from tidegate.settings import WorkflowSettings
from tidegate.telemetry import logger
from tidegate.vcs.adapters.deliveries import from_message

if TYPE_CHECKING:
    from tidegate.deploys.queue.execution_closed import ClosedExecution
    from tidegate.deploys.rules.plan_runner import Limit
    from tidegate.jobs.runner_stopped import StoppedRunner
    from tidegate.ports import Delivery
    from tidegate.requests.answer_button import Press

Event = Mapping[str, Any]
#: The exit code of what was killed by SIGKILL.
_KILLED = 137
PUSHES, PRESSES, CHECK_RUNS = "TIDEGATE_PUSH_QUEUE", "TIDEGATE_PRESS_QUEUE", "TIDEGATE_CHECK_RUN_QUEUE"
CHANGES, LINES, LATER_LINES = "TIDEGATE_CHANGE_QUEUE", "TIDEGATE_LINE_QUEUE", "TIDEGATE_LINE_LATER_QUEUE"
#: The kind of what comes from a queue, by the variable with the queue's URL.
QUEUES: Mapping[str, str] = {
    PUSHES: "discover_roots",
    PRESSES: "answer_button",
    CHECK_RUNS: "publish_check_run",
    CHANGES: "open_gates",
    LINES: "refresh_line",
    LATER_LINES: "refresh_line",
}
#: The source of what Lambda tells an event bus of failed calls. Who may put events there may name it as well.
CALLS = "lambda"
#: The kind of what comes from EventBridge, by its source and its detail type.
RULES: Mapping[tuple[str, str], str] = {
    ("aws.states", "Step Functions Execution Status Change"): "execution_closed",
    ("aws.ecs", "ECS Task State Change"): "runner_stopped",
    (CALLS, "Lambda Function Invocation Result - Failure"): "runner_stopped",
}


def kind_of(event: Event, environ: Mapping[str, str]) -> str:
    """Return the kind of what comes from a queue or a rule; an empty text for what is not known."""
    match event:
        case {"Records": [{"eventSourceARN": str(arn)}, *_]}:
            known = {environ[queue].rpartition("/")[2]: kind for queue, kind in QUEUES.items() if environ.get(queue)}
            return known.get(arn.rpartition(":")[2], "")
        case {"source": str(source), "detail-type": str(what)}:
            return RULES.get((source, what), "")
    return ""


def discover_roots(event: Event, context: object) -> Any:
    """Receive what needs the repository's files; what the forge puts off, or the function dies with, comes back soon.

    Events of pull requests come this way as well: their record is kept, and the machine that reads their files started.
    """
    return take_held(event, context, _receive, _postpone_in(PUSHES))


def _receive(body: str) -> None:
    delivery = from_message(body)
    outcome = wiring().receive(delivery)
    about = {"delivery": delivery.id, "repository": delivery.fields["repository"], "sha": delivery.fields.get("after")}
    logger.info(delivery.event, extra={**about, "outcome": outcome})


def answer_button(event: Event, context: object) -> Any:
    """Answer presses of buttons on check runs, and decide by comments; what the forge puts off comes back."""
    return take_all(event, context, _answer, _postpone_in(PRESSES))


def _answer(body: str) -> None:
    from tidegate.comments.hand_over_comment import DECISION

    delivery = from_message(body)
    if delivery.event == DECISION:
        outcome = wiring().comment_decider.receive(delivery)
        logger.info("carried out", extra={"delivery": delivery.id, "by": delivery.fields["sender"], "outcome": outcome})
        return
    press = read_press(delivery)
    answer = wiring().button_answerer.answer(press)
    logger.info("pressed", extra={"deployment": press.external_id, "by": press.by, "answer": answer})


def read_press(delivery: Delivery) -> Press:
    """Read a delivery of a check run's ``requested_action``."""
    from tidegate.requests.answer_button import Press

    fields = delivery.fields
    return Press(
        repository=fields["repository"],
        installation=fields["installation"],
        check_run=fields["id"],
        name=fields["name"],
        sha=fields["head_sha"],
        external_id=fields["external_id"],
        identifier=fields["identifier"],
        by=fields["sender"],
        at=delivery.received_at,
    )


def publish_check_run(event: Event, context: object) -> Any:
    """Show on the forge what is newest (FIFO, group = deployment, layer or pull request)."""
    return take_in_order(event, context, _publish, _postpone_in(CHECK_RUNS))


def _publish(body: str) -> None:
    match json.loads(body):
        case {"layer": layer}:
            wiring().progress_shower.layer(layer)
        case {"pull_request": pull_request, "revision": revision, "error": error, "cause": cause}:
            wiring().publication.publish(pull_request, revision, error, cause)
        case {"pull_request": pull_request, "applied": True}:
            wiring().applied_merger.go_on(pull_request)
        case {"pull_request": pull_request, "deployed": True, "not_before": not_before}:
            wiring().deploys_shower.show(pull_request, not_before)
        case {"pull_request": pull_request, "not_before": not_before}:
            wiring().progress_shower.progress(pull_request, not_before)
        case message:
            _publish_deployment(message)


def _publish_deployment(message: Event) -> None:
    wiring().check_run_publisher.publish(
        message["deployment"],
        again=message.get("again", False),
        if_new=message.get("if_new", False),
        repeated_by=message.get("repeated_by", ""),
        answer=message.get("answer", ""),
    )


def open_gates(event: Event, context: object) -> Any:
    """Look once at what all messages name that say the same: whoever sent one had saved what it is about."""
    seen: set[str] = set()

    def take(body: str) -> None:
        if body not in seen:
            _look(json.loads(body))
            seen.add(body)

    return take_in_order(event, context, take, _postpone_in(CHANGES))


def _look(message: Event) -> None:
    """Look at the gates of a change, or hand on concurrency slots that were given back."""
    if "slots" in message:
        logger.info("handed on slots", extra={"woken": wiring().hand_on_slots()})
        return
    changed = wiring().gate_opener.open(message["change_set"])
    logger.info("looked at gates", extra={"change_set": message["change_set"], "changed": changed})


def refresh_line(event: Event, context: object) -> Any:
    """Bring the check runs of a queue's line up to date. What fails is left to the queue: lines move soon again."""
    return take_all(event, context, _refresh, lambda _receipt, _seconds: None)


def _refresh(body: str) -> None:
    queue = json.loads(body)["queue"]
    due = wiring().line_refresher.refresh(queue)
    logger.info("looked at the line", extra={"queue": queue, "due": due})


def _postpone_in(queue: str) -> Callable[[str, int], None]:
    def postpone(receipt: str, seconds: int) -> None:
        wires = wiring()
        wires.patience.postpone(wires.environ[queue], receipt, seconds)

    return postpone


def execution_closed(event: Event, _context: object) -> None:
    """Release the queue of a deploy execution. A Terraform execution is caught by the deploy execution above it."""
    wires, detail = wiring(), event["detail"]
    logger.info("execution closed", extra={"execution": detail["name"], "status": detail["status"]})
    if detail["stateMachineArn"] == WorkflowSettings.from_env(wires.environ).deploy_machine:
        wires.queue_releaser.release(read_execution(detail))


def read_execution(detail: Event) -> ClosedExecution:
    """Read the execution's own description: its queue is in its input."""
    from tidegate.deploys.queue.execution_closed import ClosedExecution

    return ClosedExecution(json.loads(detail["input"])["queue"], detail["name"], detail["status"])


def runner_stopped(event: Event, _context: object) -> None:
    """Fail the tokens of the runner of a task that stopped, or of a call of Lambda that came to no result."""
    reporter = wiring().stopped_runner_reporter
    if event["source"] == CALLS:
        reporter.report_call(*read_call(event["detail"]))
    else:
        reporter.report(read_runner(event["detail"]))


def read_runner(task: Event) -> StoppedRunner:
    """Read the task's own description: the job that it was started for and the token in its environment."""
    from tidegate.jobs.runner_stopped import StoppedRunner

    overrides = task.get("overrides", {}).get("containerOverrides", [])
    environment = {entry["name"]: entry["value"] for override in overrides for entry in override.get("environment", [])}
    containers = [container.get("reason") for container in task.get("containers", [])]
    exits = [
        f"exit code {container['exitCode']}" for container in task.get("containers", []) if "exitCode" in container
    ]
    reasons = [task.get("stoppedReason"), *containers, *exits]
    return StoppedRunner(
        task=task["taskArn"],
        job=environment.get("TIDEGATE_JOB", ""),
        start_token=environment.get("TIDEGATE_START_TOKEN"),
        reason="; ".join(reason for reason in reasons if reason) or "The task stopped without a reason.",
        out_of_memory=_is_out_of_memory(task),
    )


def _is_out_of_memory(task: Event) -> bool:
    """Tell whether the kernel killed the container, or the program in it: nothing else ends it so by itself.

    ECS says ``OutOfMemoryError: Container killed due to memory usage`` of its main process, the runner's supervisor,
    and sees an exit code of a child of that (ECS developer guide, "Stopped tasks error messages").
    """
    by_itself = task.get("stopCode") == "EssentialContainerExited"
    return any(
        (container.get("reason") or "").startswith("OutOfMemoryError")
        or (by_itself and container.get("exitCode") == _KILLED)
        for container in task.get("containers", [])
    )


def read_call(record: Event) -> tuple[StoppedRunner, str]:
    """Read the record of an asynchronous call that failed (AWS Lambda, Capturing records of invocations).

    Return the runner, and the digest of the job that it was called with. Raise NotItsJob for anything else.
    """
    from tidegate.deploys.rules.plan_runner import lambda_runner
    from tidegate.jobs.runner_stopped import StoppedRunner

    match record:
        case {
            "requestContext": {"requestId": str(request), "condition": str(condition)},
            "requestPayload": {"job": str(job), "digest": str(digest), "token": str(token)},
        }:
            said = record.get("responsePayload")
            said = said if isinstance(said, Mapping) else {}
            what = str(said.get("errorMessage") or condition)
            limit = _limit(str(said.get("errorType", "")), what)
            return StoppedRunner(lambda_runner(request), job, token, f"Lambda: {what}", limit=limit), digest
    raise NotItsJob("")


def _limit(kind: str, message: str) -> Limit | None:
    """Return the limit that has ended a function: what is out of memory is killed, or said to be."""
    from tidegate.deploys.rules.plan_runner import Limit

    if kind == "Runtime.OutOfMemory" or "signal: killed" in message:
        return Limit.MEMORY
    return Limit.TIME if kind == "Sandbox.Timedout" or "timed out" in message else None


def reconcile(_event: Event, _context: object) -> dict[str, int]:
    """Repair, and say how much each repair had to do. Raise ExceptionGroup in the end for what could not be done."""
    done = wiring().reconciler.reconcile()
    if done.failures:
        logger.warning("some repairs failed", extra={"repaired": done.repaired})
        raise ExceptionGroup("What could not be repaired is tried again by the next run.", done.failures)
    return done.repaired


#: By function, what takes each kind.
SOURCES: Mapping[str, Mapping[str, Callable[[Event, object], Any]]] = {
    "discover_roots": {"discover_roots": discover_roots},
    "api": {"answer_button": answer_button},
    "forge_steps": {"publish_check_run": publish_check_run},
    "steps": {"refresh_line": refresh_line},
    "workers": {"open_gates": open_gates, "execution_closed": execution_closed},
    "waits": {"runner_stopped": runner_stopped},
}
