"""What ``tidegate cluster`` prints, for people and for scripts."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import asdict
from typing import TYPE_CHECKING, Any

from rich.console import Group, RenderableType
from rich.text import Text
from rich.tree import Tree

from tidegate.clusters.rules.plan import ClusterPlan, PlannedHook, Step
from tidegate.clusters.rules.workflow import Operation
from tidegate.clusters.texts.workflow_text import workflow_text
from tidegate_cli import presenter, screen

if TYPE_CHECKING:
    from tidegate.web.cluster_models import ClusterDetails, ClusterList, PartModel, WorkflowModel

#: What is known of a cluster where nobody asks an installation.
_ASSUMED: Mapping[Operation, str] = {
    Operation.CREATE: "As if it did not exist yet.",
    Operation.UPGRADE: "As if its file had changed.",
    Operation.UPGRADE_COMPONENTS: "As if only its components had changed.",
    Operation.DELETE: "As if it existed.",
}
_STATES = {
    "ready": ("✔ ready", "green"),
    "working": ("◕ working", "cyan"),
    "releasing": ("◕ giving back", "cyan"),
    "failed": ("✘ failed", "bold red"),
    "incomplete": ("! incomplete", "bold red"),
    "absent": ("· absent", "dim"),
}
_PARTS = {
    "waiting": ("○", "default"),
    "running": ("◕", "cyan"),
    "done": ("✔", "green"),
    "done-before": ("✔", "green"),
    "not-needed": ("·", "dim"),
    "warned": ("!", "yellow"),
    "failed": ("✘", "bold red"),
    "not-reached": ("·", "dim"),
}


def document(plan: ClusterPlan) -> dict[str, Any]:
    """Return a plan as JSON has it."""
    return {**asdict(plan), "execution_input": plan.execution_input}


def plan_lines(plan: ClusterPlan) -> Sequence[str]:
    """Return the lines that a plan job would show of a plan."""
    return workflow_text(plan, plan.cluster.name, _ASSUMED[plan.workflow.operation]).splitlines()


def graph(plan: ClusterPlan) -> RenderableType:
    """Return the tasks and hooks of a workflow, each below the one before it."""
    cluster = plan.cluster
    title = Text.assemble(
        screen.text(cluster.name, "bold"), f"  {plan.workflow.name}  ", screen.text(f"provider {cluster.provider}")
    )
    tree = Tree(title, guide_style="dim")
    for each in plan.before:
        tree.add(_hook(each))
    for number, step in enumerate(plan.steps, 1):
        _add_step(tree, number, step)
    for each in plan.after:
        tree.add(_hook(each))
    ends = [*_end("if it fails", plan.on_error), *_releases(plan), *_end("at the end in any case", plan.always)]
    return Group(tree, *ends)


def _add_step(tree: Tree, number: int, step: Step) -> None:
    line = Text.assemble(f"{number:>2} ", screen.text(step.task, "bold" if step.due else "dim"))
    if not step.due:
        tree.add(Text.assemble(line, screen.text(f"  not needed: {step.why}", "dim")))
        return
    branch = tree.add(Text.assemble(line, screen.text(_flow(step), "dim")))
    for each in (*step.before, *step.after):
        branch.add(_hook(each))


def _flow(step: Step) -> str:
    """Return what a task takes and gives: keys of the context, and what is held until another gives it back."""
    words = (
        ("needs", ", ".join(step.needs)),
        ("produces", ", ".join(step.produces)),
        ("takes", step.acquires),
        ("gives back", step.releases),
    )
    return "".join(f"  {word} {what}" for word, what in words if what)


def _hook(hook: PlannedHook) -> Text:
    warns = "  its failure is only a warning" if hook.on_error == "warn" else ""
    return Text.assemble(
        screen.text(f"{hook.point} ", "cyan"), screen.text(f"{hook.registrar}/{hook.name}"), screen.text(warns, "dim")
    )


def _end(when: str, hooks: Iterable[PlannedHook]) -> Iterator[RenderableType]:
    for each in hooks:
        yield Text.assemble(screen.text(f"{when}: ", "dim"), screen.text(f"{each.registrar}/{each.name}"))


def _releases(plan: ClusterPlan) -> Iterator[RenderableType]:
    if plan.releases:
        yield screen.text(f"if it fails, it gives back what it holds: {', '.join(plan.releases)}", "dim")


def listed(found: ClusterList) -> RenderableType:
    """Return the clusters of a repository, one a line."""
    if not found.clusters:
        return screen.text(f"No workflow has worked on a cluster of {found.repository} yet.")
    table = screen.table("CLUSTER", "STATE", "KUBERNETES", "KIND", "PROVIDER", "MANAGED BY", whole=("CLUSTER",))
    for each in found.clusters:
        facts = (each.kubernetes or "", each.kind, each.provider, each.management or "")
        table.add_row(screen.text(each.name), _state(each.state), *map(screen.text, facts))
    return table


def cluster(found: ClusterDetails) -> RenderableType:
    """Return a cluster with its workflow, and what to type next."""
    parts: list[RenderableType] = [
        Text.assemble(screen.text(f"{found.repository} · {found.name}", "bold"), "  ", _state(found.state)),
        screen.facts(
            [
                ("Kind", found.kind),
                ("Provider", " ".join(filter(None, (found.provider, found.provider_version)))),
                ("Kubernetes", found.kubernetes or ""),
                ("Managed by", found.management or ""),
                ("Manages", ", ".join(found.workloads)),
                ("Components", ", ".join(f"{each.name} {each.version}".strip() for each in found.components)),
                ("Deployment", found.deployment or ""),
                ("Holds", ", ".join(f"{each.name} (since {each.task})" for each in found.held)),
                ("Page", found.url),
            ]
        ),
    ]
    if found.workflow:
        parts += [Text(), *_workflow(found.workflow)]
    steps = [("resume", found.resumable, ""), ("release", found.releasable, " --reason '…'")]
    told = [f"tidegate cluster {what} {found.repository} {found.name}{more}" for what, may, more in steps if may]
    return Group(*parts, *([Text(), *map(presenter.command, told)] if told else []))


def _workflow(flow: WorkflowModel) -> Iterator[RenderableType]:
    when = f"ended {screen.ago(flow.ended_at)}" if flow.ended_at else f"began {screen.ago(flow.begun_at)}"
    yield Text.assemble(screen.text(flow.name, "bold"), f"  {when}", "  given up" if flow.given_up else "")
    for part in flow.start:
        yield from _part(part)
    for task in flow.tasks:
        for part in (*task.before, task.task, *task.after):
            yield from _part(part)
    for part in (*flow.end, *flow.more, *flow.on_error, *flow.always):
        yield from _part(part)
    if flow.error:
        yield Text()
        yield screen.text(f"First error: {flow.error.error}", "bold red")
        yield from presenter.indented(flow.error.cause)
    for warning in flow.warnings:
        yield screen.text(f"! {warning}", "yellow")


def _part(part: PartModel) -> Iterator[RenderableType]:
    """Yield a task's line, or a hook's below it. What has no reason of its own has none."""
    sign, style = _PARTS.get(part.state, ("·", ""))
    name = f"    hook {part.registrar}/{part.hook}" if part.hook else part.title
    word = "" if part.state in {"done", "waiting"} else part.state.replace("-", " ")
    said = ": ".join(filter(None, (word, part.reason)))
    yield Text.assemble(screen.text(f"{sign} {name}", style), screen.text(f"  {said}" if said else "", "dim"))


def _state(state: str) -> Text:
    return screen.text(*_STATES.get(state, (state, "")))
