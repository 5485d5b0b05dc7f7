"""What functions import and create while they start, to speed up their first event.

Lambda starts a function with a whole processor, whatever its memory
(https://serverlessland.com/content/service/lambda/guides/effectively-running-java-on-serverless/init-heavy-lifting),
and runs it with a share of one: 29 % at 512 MB. Functions with a whole one anyway would gain nothing, and are not here.
"""

from __future__ import annotations

from collections.abc import Mapping
from contextlib import suppress
from importlib import import_module

from tidegate.ports import Ports
from tidegate.settings import MissingSettingError

#: Common to every function below.
_RECORDS = ("queues", "deployments", "jobs", "event_publisher", "plan_slots")
#: By function, the verbs of its events and their ports: a state machine calls most of them in turn.
FIRST: Mapping[str, tuple[tuple[str, ...], tuple[str, ...]]] = {
    "steps": (
        (
            "deploys.queue.claim_deployment",
            "jobs.record_plan",
            "deploys.queue.record_outcome",
            "deploys.queue.refresh_positions",
            "jobs.start_on_lambda",
        ),
        (*_RECORDS, "audit", "plan_functions", "queue_snapshots"),
    ),
    "forge_steps": (
        (
            "check_runs.publish_check_run",
            "deploys.queue.validate_revision",
            "jobs.begin_job",
            "jobs.dispatch_job",
        ),
        (*_RECORDS, "audit", "forge", "check_runs", "artifacts", "change_sets"),
    ),
    "waits": (
        ("deploys.reviews.request_review", "deploys.queue.wait_for_signal", "deploys.slots.wait_for_slot"),
        (*_RECORDS, "workflows"),
    ),
    "workers": (("gates.open_gates",), (*_RECORDS, "workflows", "change_sets")),
    "wait_for_requirements": (("gates.wait_for_requirements",), (*_RECORDS, "workflows", "forge")),
    "pull_request_steps": (
        ("pull_requests.begin_speculative_plan", "pull_requests.record_speculative_plan"),
        (*_RECORDS, "speculative_plans"),
    ),
}


def prepare(function: str, ports: Ports) -> None:
    """Import and create what the function's events need. A missing setting is reported on use."""
    if function not in FIRST:
        return
    import tidegate.aws.batches  # noqa: PLC0415  # Only a function that is prepared needs both.
    import tidegate.bootstrap.table  # noqa: F401, PLC0415  # Imported for its first use, which comes at once.

    verbs, made = FIRST[function]
    for verb in verbs:
        import_module(f"tidegate.{verb}")
    for port in made:
        with suppress(MissingSettingError, ValueError):
            getattr(ports, port)
