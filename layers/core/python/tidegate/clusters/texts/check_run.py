"""What the check run of a cluster's deployment says of its workflow."""

from __future__ import annotations

from collections.abc import Iterator

from tidegate.clusters.rules.overview import NOTED, SETTLED, Part, PartState, WorkflowOverview
from tidegate.clusters.rules.record import ClusterRecord
from tidegate.deploys.texts.presentation import WorkflowProgress
from tidegate.texts.markdown import bounded, code, escaped

#: Bytes of the list of tasks, and characters of a reason.
_SHOWN, _REASON = 8_000, 300
_WORDS: dict[PartState, str] = {
    PartState.WAITING: "waits",
    PartState.RUNNING: "**running**",
    PartState.DONE: "done",
    PartState.DONE_BEFORE: "done before",
    PartState.NOT_NEEDED: "not needed",
    PartState.WARNED: "failed, which is only a warning",
    PartState.FAILED: "**failed**",
    PartState.NOT_REACHED: "not reached",
}


def progress_of(record: ClusterRecord, flow: WorkflowOverview, url: str | None) -> WorkflowProgress:
    """Return how far a cluster's workflow is. ``url`` is the cluster's page."""
    has_failed = record.run is not None and record.run.first_error is not None
    return WorkflowProgress(
        done=f"{len(flow.of(*SETTLED))} of {len(flow.tasks)} tasks done",
        tasks=_tasks(flow),
        failed=_failed_at(flow) if has_failed else "",
        why=_why(record),
        url=url,
        job=_job(flow),
    )


def _job(flow: WorkflowOverview) -> str | None:
    """Return the job to look at: what failed first, or what runs."""
    running = (each for each in flow.all if each.state is PartState.RUNNING)
    part = flow.failed or next(running, None)
    return (part.job or None) if part else None


def _tasks(flow: WorkflowOverview) -> str:
    lines = [line for each in flow.tasks for line in _lines(each.task, each.hooks)]
    return bounded(lines, _SHOWN, "* {} more.".format)


def _lines(task: Part, hooks: tuple[Part, ...]) -> Iterator[str]:
    yield f"* {_said(task, escaped(task.title))}"
    for hook in hooks:
        if hook.state in NOTED:  # There may be hundreds of them.
            yield f"    * {_said(hook, f'hook {code(hook.title)}')}"


def _said(part: Part, name: str) -> str:
    failed = part.state in {PartState.FAILED, PartState.WARNED}
    reason = f": {escaped(part.reason, _REASON)}" if failed and part.reason else ""
    return f"{name}: {_WORDS[part.state]}{reason}"


def _failed_at(flow: WorkflowOverview) -> str:
    failed = flow.failed
    if failed is None:
        return "The workflow failed"
    return f"The workflow failed {'in the' if failed.place.hook else 'at'} {failed.name}"


def _why(record: ClusterRecord) -> str:
    error = record.run.first_error if record.run else None
    why = escaped(error.cause or error.error, _REASON) if error else ""
    held = ", ".join(code(each.name) for each in record.held)
    return f"{why} It still holds {held}." if held else why
