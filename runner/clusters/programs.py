"""Programs of hooks and of the provider ``command``: they run in the root's directory, with the clusters at hand."""

from __future__ import annotations

import json
import signal
from collections.abc import Mapping
from pathlib import Path

from runner.clusters.values import Values, read_values
from runner.clusters.work import Work
from runner.faults import ClusterUnreachable, StepFailed, TaskFailed
from runner.steps import job_variables
from tidegate.clusters.rules.context import Key

#: The exit code of a command that says: nothing is wrong, but something does not answer (EX_TEMPFAIL of sysexits.h).
UNREACHABLE = 75
#: The clusters that a context may have, each with its word in names of variables; the nearest first.
_CLUSTERS = {Key.WORKLOAD: "WORKLOAD", Key.MANAGEMENT: "MANAGEMENT", Key.BOOTSTRAP: "BOOTSTRAP"}


def run(work: Work, argv: list[str], what: str, seconds: float, environ: Mapping[str, str]) -> int:
    """Run a program in the root's directory, and return its exit code, 0 or more, but not 75.

    Raise ClusterUnreachable for 75, TaskFailed if it cannot be started, is killed or exceeds its time limit.
    """
    limit = min(seconds, work.seconds_left)
    if limit <= 0:
        raise TaskFailed(f"{what} did not run: the job reached its time limit.")
    work.say(f"{what}: {' '.join(argv)[:200]!a}")
    try:
        code = work.tools.processes.run_program(argv, work.place.root, environ, limit)
    except StepFailed as fault:
        raise TaskFailed(f"{what} {fault}.") from fault
    except (OSError, ValueError) as error:
        raise TaskFailed(f"{what} failed to start: {error}. Is it in the repository, and executable?") from error
    work.tools.log.end_line()
    work.tools.interruption.check()
    if code == UNREACHABLE:
        raise ClusterUnreachable(f"{what} says that something does not answer (exit code {code}).")
    if code < 0:
        raise TaskFailed(f"{what} was killed by {signal.Signals(-code).name}.")
    return code


def command(work: Work, argv: list[str], what: str, seconds: float) -> Values:
    """Run a command of the repository, and return the values that it has written. Raise TaskFailed."""
    file = work.tools.directory / "values"
    file.unlink(missing_ok=True)
    code = run(work, argv, what, seconds, variables(work, file))
    if code:
        raise TaskFailed(f"{what} failed with exit code {code}.")
    values = read_values(file, what)
    for key, text in values.items():
        if work.tools.log.masker.mask(text) != text:
            raise TaskFailed(
                f"{what} has written a secret into the value {key}, which would be stored and shown. Store it in "
                "Secrets Manager, and write its name."
            )
    return values


def variables(work: Work, values: Path) -> dict[str, str]:
    """Return the variables of a command: those of steps, how to reach the clusters, and the context."""
    context = work.tools.directory / "context.json"
    context.write_text(json.dumps(dict(work.order.values), indent=1), encoding="utf-8")
    order = work.order
    clusters = {key: work.connections.kubeconfig(found) for key in _CLUSTERS if (found := work.reference(key))}
    files = {f"TIDEGATE_KUBECONFIG_{_CLUSTERS[key]}": str(file) for key, file in clusters.items() if file}
    nearest = next((clusters[key] for key in (work.own_key, *_CLUSTERS) if clusters.get(key)), None)
    return {
        **work.place.environ,
        **job_variables(work.job),
        **dict(work.job.run.variables),
        **files,
        **({"KUBECONFIG": str(nearest)} if nearest else {}),
        "TIDEGATE_CLUSTER": order.cluster.name,
        "TIDEGATE_CLUSTER_KIND": order.cluster.kind,
        "TIDEGATE_OPERATION": order.operation,
        "TIDEGATE_TASK": order.task,
        "TIDEGATE_HOOK": order.hook,
        "TIDEGATE_FENCE": str(order.fence),
        "TIDEGATE_SPEC": str(work.tools.source / order.cluster.spec),
        "TIDEGATE_SPEC_HASH": work.plan.spec_hash,
        "TIDEGATE_CONTEXT": str(context),
        "TIDEGATE_VALUES": str(values),
    }
