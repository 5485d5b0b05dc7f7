"""Short limits for the state machines, each only where a root's name asks for it.

A limit that would be short for everybody would trip on a busy machine. So each is an expression: short for
the case that is about it, and as it is deployed for all others.
"""

from __future__ import annotations

from typing import Any

from tests.stepfunctions.machines import NAMES, read_deployed

_PAUSE = 1


def _short(variable: str, word: str, seconds: int, otherwise: int | str, condition: str = "true") -> str:
    return f"{{% $contains(${variable}, '{word}') and {condition} ? {seconds} : {otherwise} %}}"


def _patience(kind: str) -> str:
    """A runner that never starts is given up each time; one that starts late once, after RunTask was throttled.

    Within these seconds a busy machine must have called RunTask: else a runner fewer was started than is counted.
    """
    never, late = f"$contains($job, '{kind}-never-starts')", f"$contains($job, '{kind}-starts-late')"
    return f"{{% {never} or ({late} and $states.context.State.RetryCount < 2) ? 5 : 300 %}}"


#: Speculative plans of a repository at a time: a case takes the only place, to let its plan wait.
PLANS = 1

#: Claims after which an execution hands over, as the installation is told: more than other stories need.
ROUNDS = 6

_LIMITS: dict[str, dict[str, dict[str, Any]]] = {
    "deploy": {
        "Plan, review and apply": {"TimeoutSeconds": _short("deployment", "never-ends", 45, 7948800)},
        "Wait for a revision or an unlock": {"TimeoutSeconds": _short("queue", "idle", 1, 3600)},
    },
    "terraform": {
        "Wait for what this depends on": {"TimeoutSeconds": _short("deployment", "gate-expires", 5, 2419200)},
        "Start a runner for the plan": {"TimeoutSeconds": _patience("plan")},
        "Plan": {
            "TimeoutSeconds": _short("job", "hangs-in-plan", 4, 3600, "$tries = 1"),
            "HeartbeatSeconds": (
                "{% $tries = 1 and $contains($job, 'silent-in-plan') ? 1"
                " : $tries = 1 and $contains($job, 'hangs-in-plan') ? 3 : $contains($job, 'plan-is-slow') ? 20 : 60 %}"
            ),
        },
        "Wait for a concurrency slot": {"TimeoutSeconds": _short("deployment", "no-slot", 5, 43200)},
        "Wait before planning again": {"Seconds": _PAUSE},
        "Wait for the stacks before this one": {"TimeoutSeconds": _short("deployment", "gate-expires", 5, 2419200)},
        "Wait for the plan review": {"TimeoutSeconds": _short("deployment", "review-expires", 5, 604800)},
        "Wait for its requirements": {"TimeoutSeconds": _short("deployment", "requirements-expire", 5, 2419200)},
        "Start a runner for the apply": {"TimeoutSeconds": _patience("apply")},
        "Apply": {
            # A runner has to take the apply and to beat before: else it is not about an apply that began.
            "TimeoutSeconds": _short("job", "hangs-in-apply", 20, "$size.seconds"),
            "HeartbeatSeconds": _short("job", "silent-in-apply-once", 20, 60),
        },
    },
}

_LIMITS["pull_request"] = {
    "Wait for a free place": {"TimeoutSeconds": _short("layer", "no-place", 5, 86400)},
    "Start a runner for the plan": {"TimeoutSeconds": _patience("speculate")},
    "Plan": {
        "TimeoutSeconds": 3600,
        "HeartbeatSeconds": "{% $attempt = 1 and $contains($job, 'silent-in-plan') ? 1 : 60 %}",
    },
    "Wait before planning again": {"Seconds": _PAUSE},
}

_LIMITS["drift"] = {
    "Wait for a free place": {"TimeoutSeconds": _short("layer", "no-place", 5, 86400)},
    "Start a runner for the plan": {"TimeoutSeconds": _patience("speculate")},
}


def limits() -> dict[str, dict[str, dict[str, Any]]]:
    """Return the limits of all states: those above, and retries that follow each other quickly."""
    return {name: _fields(name, read_deployed(name).states) for name in NAMES}


#: Throttled by a story until it has done something else meanwhile.
_THROTTLED_FOR_LONG = {"Apply", "Close the queue if nothing came"}


def _fields(machine: str, states: dict[str, dict[str, Any]]) -> dict[str, dict[str, Any]]:
    retries = {
        name: {"Retry": [_quick(retry, name) for retry in state["Retry"]]}
        for name, state in states.items()
        if "Retry" in state
    }
    limits = _LIMITS.get(machine, {})
    return {name: {**retries.get(name, {}), **limits.get(name, {})} for name in retries | limits}


def _quick(retry: dict[str, Any], state: str) -> dict[str, Any]:
    quick = {**retry, "IntervalSeconds": _PAUSE, "BackoffRate": 1.0, "MaxDelaySeconds": _PAUSE + 1}
    return {**quick, "MaxAttempts": 200} if state in _THROTTLED_FOR_LONG else quick
