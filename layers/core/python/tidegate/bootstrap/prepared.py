"""What functions import and make while they start, so that their first event need not.

Lambda starts a function with a whole processor, whatever its memory
(https://serverlessland.com/content/service/lambda/guides/effectively-running-java-on-serverless/init-heavy-lifting),
and runs it with a share of one: 29 % at 512 MB. Functions with a whole one anyway would gain nothing, and are not here.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from contextlib import suppress

from tidegate.bootstrap import Bootstrap
from tidegate.settings import MissingSettingError

#: By function, what its events need: a state machine comes by most of a function's steps, one after another.
FIRST: Mapping[str, tuple[Callable[[Bootstrap], object], ...]] = {
    "steps": (
        lambda wires: wires.deployment_claimer,
        lambda wires: wires.plan_recorder,
        lambda wires: wires.outcome_recorder,
        lambda wires: wires.line_refresher,
        lambda wires: wires.lambda_starter,
    ),
    "forge_steps": (
        lambda wires: wires.check_run_publisher,
        lambda wires: wires.revision_validator,
        lambda wires: wires.job_beginner,
        lambda wires: wires.job_handover,
    ),
    "waits": (
        lambda wires: wires.review_requester,
        lambda wires: wires.signal_waiter,
        lambda wires: wires.slot_waiter,
    ),
    "workers": (lambda wires: wires.gate_opener,),
    "wait_for_requirements": (lambda wires: wires.requirements_gate,),
    "pull_request_steps": (
        lambda wires: wires.speculation_beginner,
        lambda wires: wires.speculation_recorder,
    ),
}


def prepare(function: str, wires: Bootstrap) -> None:
    """Import and make what the function's events need. What lacks its settings says so once it is used."""
    if function not in FIRST:
        return
    import tidegate.aws.batches  # noqa: PLC0415  # Only a function that is prepared needs both.
    import tidegate.bootstrap.table  # noqa: F401, PLC0415

    for make in FIRST[function]:
        with suppress(MissingSettingError, ValueError):
            make(wires)
