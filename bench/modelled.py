"""How long a deploy takes on a quiet installation on AWS, by a model: ``tidegate_local/latency.toml`` says of what.

Every function is cold, before the push and again before the approval: a review takes longer than Lambda keeps an
idle function. The local cloud waits where AWS does; forge, engine and Tidegate's code take what they take here.
"""

from __future__ import annotations

import time
from collections import Counter
from collections.abc import Iterable, Iterator, Mapping, Sequence
from typing import Any

from bench.deploys import Bench, Deployed, bench
from bench.lines import Line
from tidegate_local.latency import AWS, seconds_of

#: What a deploy may take of its necessary parts' time.
TARGET = 1.2
#: How many functions may be met that are cold, from a merge to its plan.
FUNCTIONS = 5
#: A second becomes 2 ms: to count takes no time, only the same order.
_HURRIED = 0.002
#: What the model calls the start of each runner of plans. Applies are on Fargate always.
RUNNERS = {"fargate": "runner_fargate", "lambda": "runner_lambda"}
#: What nobody could leave out: a request that a function takes, a queue, a function that reads what it is about, an
#: execution, a runner, and a function that tells the forge. And the engine's commands, measured by hand.
_PARTS = ("http_api", "lambda_zip", "sqs_standard", "states_task", "lambda_zip")
_OF_PLAN, _OF_APPLY = ("lambda_image",), ("lambda_zip",)
_PLAN, _APPLY = ("git clone", "init", "plan", "show"), ("git clone", "init", "apply")
_PAUSE = 2.0


def run(*, quick: bool) -> Iterator[Line]:
    """Deploy once, and return a line from push to plan and one from approval to applied."""
    for plan_runner, runner in RUNNERS.items():
        scale = _HURRIED if quick else 1.0
        with bench(quick=True, latency=AWS, latency_scale=scale, context={"plan_runner": plan_runner}) as measured:
            commands = measured.bare("data")
            deployed = _quiet_deploy(measured)
            waits = measured.cloud.read("latency")
        model = {kind: seconds * scale for kind, seconds in seconds_of(AWS).items()}
        more = {"modelled": "modelled by tidegate_local/latency.toml, not measured on AWS", "plan_runner": plan_runner}
        for name, (begun, ended), parts, engine in (
            ("modelled_push_to_plan", _to_plan(deployed), (*_PARTS, *_OF_PLAN, runner), _PLAN),
            ("modelled_approve_to_applied", _to_applied(deployed), (*_PARTS, *_OF_APPLY, RUNNERS["fargate"]), _APPLY),
        ):
            necessary = {"engine": sum(commands[command] for command in engine)}
            necessary |= {kind: model[kind] * number for kind, number in Counter(parts).items()}
            told = more | {"necessary": _rounded(necessary), **_waited(waits, begun, ended)}
            yield Line(name, ended - begun, sum(necessary.values()), target=TARGET, more=told)


def count(*, quick: bool) -> Iterator[Line]:
    """Return a line with how many functions are met from a merge to its plan, and how many runners are started."""
    del quick  # It is as quick as it can be.
    with bench(quick=True, latency=AWS, latency_scale=_HURRIED) as measured:
        begun, ended = _to_plan(_quiet_deploy(measured))
        met = [wait for wait in measured.cloud.read("latency") if begun <= wait["at"] <= ended]
    functions = sorted({wait["what"] for wait in met if wait["kind"].startswith("lambda_")})
    runners = sum(wait["kind"] in RUNNERS.values() for wait in met)
    more = {"functions": functions, "baseline": "runner starts; exactly one is expected", "runners": runners}
    yield Line("cold_path", len(functions), runners, FUNCTIONS, "median", "functions", more)


def _quiet_deploy(measured: Bench) -> Deployed:
    _let_it_get_cold(measured)
    return measured.whole("data", before_approving=lambda: _let_it_get_cold(measured))


def _let_it_get_cold(measured: Bench) -> None:
    """Wait until nothing calls AWS any more, and end the functions' instances."""
    before = -1
    while before != (before := sum(measured.cloud.read("counts").values())):
        time.sleep(_PAUSE)
    for function in measured.cloud.info["functions"].values():
        measured.cloud.kill_function(function)


def _to_plan(deployed: Deployed) -> tuple[float, float]:
    asked = (sent.at for sent in deployed.webhooks if _run(sent.payload).get("conclusion") == "action_required")
    return deployed.began, next(asked)


def _to_applied(deployed: Deployed) -> tuple[float, float]:
    approved = (sent.at for sent in deployed.webhooks if sent.payload.get("action") == "requested_action")
    return next(approved), deployed.ended


def _run(payload: Mapping[str, Any]) -> Mapping[str, Any]:
    run: Mapping[str, Any] = payload.get("check_run", {})
    return run


def _waited(waits: Sequence[Mapping[str, Any]], begun: float, ended: float) -> dict[str, Any]:
    """Return for how long something waited for AWS, and what remains: what this machine did meanwhile is in both."""
    within = [wait for wait in waits if begun <= wait["at"] <= ended]
    modelled = _covered((wait["at"], min(ended, wait["at"] + wait["seconds"])) for wait in within)
    rounded = _rounded({"modelled_seconds": modelled, "seconds_of_this_machine": ended - begun - modelled})
    return {**rounded, "waits": dict(Counter(wait["kind"] for wait in within))}


def _covered(spans: Iterable[tuple[float, float]]) -> float:
    """Return how long at least one of the spans lasts."""
    total, reached = 0.0, 0.0
    for begun, ended in sorted(spans):
        total += max(0.0, ended - max(begun, reached))
        reached = max(reached, ended)
    return total


def _rounded(values: Mapping[str, float]) -> dict[str, float]:
    return {name: round(value, 3) for name, value in values.items()}
