"""Faults that meet the machine of one repository's only layer, of a pull request or of a look for drift."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from tests.stepfunctions.faults import FOR_GOOD, calls, invokes, throttled_then_unavailable

#: By the repository's name.
Faults = Callable[[str], list[dict[str, Any]]]

#: What is in the calls of steps that are about more than a layer; in those of all others it is the layer's id.
_WHOLE = {
    "discover_drift": '{}"',
    "conclude_drift": '{}"',
    "discover_pull_request": "{}#",
    "publish_pull_request": "{}#",
}


def no_faults(_: str) -> list[dict[str, Any]]:
    return []


def stumbles(*steps: str) -> Faults:
    """The function of each step is throttled once, and once more cannot reach its table."""
    return lambda repository: [
        fault for each in steps for fault in throttled_then_unavailable(each, _own(each, repository))
    ]


def refuses(*steps: str) -> Faults:
    """AWS refuses to invoke the functions of these steps."""
    return lambda repository: [invokes(each, _own(each, repository), FOR_GOOD, None) for each in steps]


def both(*many: Faults) -> Faults:
    return lambda repository: [fault for faults in many for fault in faults(repository)]


def throttled_runs(repository: str) -> list[dict[str, Any]]:
    """A runner is refused once because there are too many calls."""
    return [calls(on_layer(repository), "ecs", "RunTask", {"error": "ThrottlingException", "status": 400})]


def _own(step: str, repository: str) -> str:
    return _WHOLE[step].format(repository) if step in _WHOLE else on_layer(repository)


def on_layer(repository: str) -> str:
    """Return what the ids of the layers of a repository match, whose owner is called like its only root.

    After the root come the commit and a digest: other roots' names may begin with this one's.
    """
    owner, _, name = repository.partition("/")
    return f"{name}-{owner}-{'?' * 7}-{'?' * 12}"
