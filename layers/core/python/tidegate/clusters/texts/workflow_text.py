"""A cluster's plan as text, for people: in logs, check runs, comments and pages."""

from __future__ import annotations

import json
from collections.abc import Iterable, Iterator

from tidegate.clusters.rules.plan import ClusterPlan, PlannedHook, VersionChange
from tidegate.clusters.rules.workflow import Operation

_SIGNS = {
    Operation.CREATE: "+",
    Operation.UPGRADE: "~",
    Operation.UPGRADE_COMPONENTS: "~",
    Operation.DELETE: "-",
}
_WORDS = {
    Operation.CREATE: "will be created",
    Operation.UPGRADE: "will be upgraded",
    Operation.UPGRADE_COMPONENTS: "gets new management components",
    Operation.DELETE: "will be DELETED, with everything that runs on it",
}


def workflow_text(plan: ClusterPlan | None, name: str, reason: str) -> str:
    """Return the text of a plan; None is nothing to do. ``reason`` is why, as a sentence."""
    if plan is None:
        return f"The cluster {name} stays as it is. {reason}\n"
    return "\n".join([*_head(plan, reason), *_versions(plan.versions), *_tasks(plan), *_hooks(plan)]) + "\n"


def _head(plan: ClusterPlan, reason: str) -> Iterator[str]:
    cluster, operation = plan.cluster, plan.workflow.operation
    what = f"{cluster.kind} cluster {cluster.name}"
    yield f"{_SIGNS[operation]} {what} {_WORDS[operation]} (provider {cluster.provider} {plan.provider_version})"
    yield f"  {reason}"


def _versions(versions: Iterable[VersionChange]) -> Iterator[str]:
    told = [*versions]
    if not told:
        return
    width = max(len(each.name) for each in told)
    yield ""
    yield "Versions:"
    for each in told:
        sign = "+" if not each.before else "-" if not each.after else "~"
        change = f"{each.before} -> {each.after}" if each.before and each.after else each.before or each.after
        yield f"  {sign} {each.name:<{width}}  {change}"


def _tasks(plan: ClusterPlan) -> Iterator[str]:
    width = max(len(each.title) for each in plan.steps)
    yield ""
    yield "Tasks:"
    for number, step in enumerate(plan.steps, 1):
        if step.due:
            yield from (_hook(each, "before") for each in step.before)
        yield f"  {number:>2}. {step.title:<{width}}  {'' if step.due else 'not needed: '}{step.why}".rstrip()
        if step.due:
            yield from (_hook(each, "after") for each in step.after)


def _hook(hook: PlannedHook, when: str) -> str:
    return f"        {when}: hook {hook.name} of {hook.registrar}{_program(hook)}, {_failure(hook)}"


def _program(hook: PlannedHook) -> str:
    """Return what a hook runs, in a form in which no control character reaches a terminal; built-in ones go without."""
    if hook.command:
        return f", runs {json.dumps(hook.command)}"
    return f", calls the function {hook.function}" if hook.function else ""


def _failure(hook: PlannedHook) -> str:
    return "a failure only warns" if hook.on_error == "warn" else "a failure ends the workflow"


def _hooks(plan: ClusterPlan) -> Iterator[str]:
    places = (
        ("before the first task", plan.before),
        ("after the last task", plan.after),
        ("if the workflow fails", plan.on_error),
        ("at the end in any case", plan.always),
    )
    told = [(when, each) for when, hooks in places for each in hooks]
    if told:
        yield ""
        yield "Hooks of the workflow:"
        for when, each in told:
            yield f"  {each.name} of {each.registrar}: {when}{_program(each)}, {_failure(each)}"
