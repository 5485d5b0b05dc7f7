"""The job of a task or hook: read its order and the reviewed plan, check the commit out, run it, store the result."""

from __future__ import annotations

import io
from collections.abc import Mapping
from typing import Any

from runner.clusters.actions import ACTIONS
from runner.clusters.programs import command
from runner.clusters.providers import provider_of
from runner.clusters.tasks import TASKS
from runner.clusters.work import Work
from runner.faults import RunnerFault, TaskFailed
from runner.job import Preparation, Tools
from tidegate.aws.client import AwsError
from tidegate.clusters.adapters.files import read_order, read_plan, result_text
from tidegate.clusters.adapters.source import spec_document
from tidegate.clusters.rules.execution_refusals import NotItsTurn
from tidegate.clusters.rules.order import TaskOrder, TaskResult, result_key
from tidegate.clusters.rules.plan import ClusterPlan, PlannedHook
from tidegate.clusters.rules.progress import hook_of
from tidegate.clusters.rules.record import Place
from tidegate.clusters.rules.refusals import ClusterRefused
from tidegate.deploys.rules.job import TakenJob
from tidegate.plans.rules.plan import Artifact


def run_task(tools: Tools, preparation: Preparation, taken: TakenJob) -> dict[str, Any]:
    """Run a task or hook, store what came of it, and return the job's id.

    Raise ClusterUnreachable for what may pass, TaskFailed and other JobFaults for all else.
    """
    work = begin(tools, preparation, taken)
    try:
        values = _values(work, preparation, taken)
    finally:
        work.connections.close()
    result = TaskResult(tuple(sorted(values.items())), work.found, tuple(work.warnings))
    try:
        tools.aws.put_object(tools.settings.bucket, result_key(taken.job.id), result_text(result), "application/json")
    except AwsError as error:
        raise RunnerFault(
            f"The result cannot be stored: {error}. It is done; resume the workflow to record it."
        ) from error
    return {"job": taken.job.id}


def begin(tools: Tools, preparation: Preparation, taken: TakenJob) -> Work:
    """Return what the task works with. Raise JobFault."""
    job = taken.job
    if job.task is None:
        raise RunnerFault(f"The job {job.id} does not say which task it is.")
    order = read_order(_verified(tools, job.task))
    plan = read_plan(_verified(tools, order.plan))
    if order.cluster != plan.cluster:
        raise RunnerFault(f"The order of {job.id} is for another cluster than its plan. Nothing was run.")
    hook = _hook(order, plan)
    tools.log.say(f"{order.operation} of {order.cluster.name}: {_named(order)}")
    place = preparation.place(taken)
    return Work(tools, job, place, order, plan, _spec(tools, order), hook)


def _values(work: Work, preparation: Preparation, taken: TakenJob) -> Mapping[str, str]:
    provider, hook, task = provider_of(work, preparation, taken), work.hook, work.order.task
    try:
        if hook is None:
            if (run := TASKS.get(task)) is None:
                raise TaskFailed(f"This runner does not know the task {task!r}. Deploy Tidegate again.")
            return run(work, provider)
        if hook.action:
            if (action := ACTIONS.get(hook.action)) is None:
                known = ", ".join(ACTIONS)
                raise TaskFailed(f"The hook {hook.name} has the unknown action {hook.action!r}. Allowed: {known}.")
            return action(work, provider)
        return command(work, [*hook.command], f"The hook {hook.name}", float(hook.seconds))
    except ClusterRefused as error:
        raise TaskFailed(str(error)) from error


def _hook(order: TaskOrder, plan: ClusterPlan) -> PlannedHook | None:
    try:
        return hook_of(plan, Place(order.task, order.hook, order.registrar))
    except NotItsTurn as error:
        raise RunnerFault(str(error)) from error


def _named(order: TaskOrder) -> str:
    return f"hook {order.hook} of {order.registrar}" if order.hook else f"task {order.task}"


def _spec(tools: Tools, order: TaskOrder) -> Mapping[str, Any]:
    try:
        document = spec_document(tools.source, order.cluster)
    except ClusterRefused as refusal:
        raise TaskFailed(str(refusal)) from refusal
    if not isinstance(document, Mapping):
        raise TaskFailed(f"{order.cluster.spec} is no mapping.")
    return document


def _verified(tools: Tools, artifact: Artifact) -> bytes:
    """Return a stored file. Raise RunnerFault unless it is byte by byte what was stored."""
    content = io.BytesIO()
    try:
        digest = tools.aws.get_object(tools.settings.bucket, artifact.key, content)
    except AwsError as error:
        raise RunnerFault(f"{artifact.key} cannot be read: {error}. Nothing was run.") from error
    if digest != artifact.sha256:
        raise RunnerFault(f"{artifact.key} was changed after it was stored. Nothing was run.")
    return content.getvalue()
