"""All functions: their purpose, verbs and permissions.

Verbs with similar permissions share a function. No verb thereby gets the VCS secret, or the right to answer task tokens
or start executions, unless it needs that itself: a test checks this (docs/decisions/0218).
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

from tidegate_cdk.capabilities import Capability
from tidegate_cdk.verbs import NEEDS


@dataclass(frozen=True, slots=True)
class FunctionSpec:
    """A function: its directory's name, its verbs, its time limit in seconds and its memory in MB."""

    name: str
    description: str
    verbs: tuple[str, ...]
    timeout: int = 60
    memory: int = 512
    #: The folder of functions/ with the Dockerfile, for one that is an image.
    image: str = ""
    third_party: bool = True
    invoked_by_events: bool = False

    @property
    def id(self) -> str:
        """The function's name in the template, which is also its placeholder in the state machines."""
        return "".join(word.capitalize() for word in self.name.split("_")) + "Function"

    @property
    def capabilities(self) -> tuple[Capability, ...]:
        """The union of its verbs' capabilities."""
        needed = {capability for verb in self.verbs for capability in NEEDS[verb]}
        return tuple(capability for capability in Capability if capability in needed)


#: GitHub waits for 10 s for an answer to a webhook; state machines wait for 120 s for a task's function.
SPECS: tuple[FunctionSpec, ...] = (
    FunctionSpec(
        "webhook",
        "Verifies, stores and queues webhook deliveries",
        ("receive_webhook",),
        timeout=9,
        memory=1024,
        third_party=False,
    ),
    FunctionSpec(
        "api",
        "Serves the API and the web pages, and handles check-run buttons and comments that decide",
        ("answer_request", "answer_button"),
        # API Gateway waits for 30 s; from the queue it takes one message at a time. Memory determines CPU: a page
        # renders in half the time.
        timeout=29,
        memory=1024,
    ),
    FunctionSpec(
        "discover_roots",
        "Discovers the roots of pushes and comments, and enqueues deployments and reruns",
        ("discover_roots",),
        timeout=300,
        memory=2048,
        image="discover_roots",
    ),
    FunctionSpec(
        "git_steps",
        "Runs execution steps that use git",
        ("discover_pull_request", "discover_drift", "push_replay", "push_untested", "land_update"),
        timeout=300,
        memory=2048,
        image="discover_roots",
    ),
    FunctionSpec(
        "check_policies",
        "Evaluates the policies on a plan",
        ("check_policies",),
        # All sets of a plan one after the other; a large plan needs memory and time (docs/policies.md).
        timeout=300,
        memory=3008,
        image="check_policies",
    ),
    FunctionSpec(
        "steps",
        "Runs execution steps that only read and write records, updates queue positions, and sends notifications",
        (
            "claim_deployment",
            "close_worker",
            "record_plan",
            "record_result",
            "record_outcome",
            "publish_pull_request",
            "refresh_positions",
            "start_on_lambda",
            "close_update_worker",
            "fail_replay",
            "stall_promotion",
            "end_soak",
            "fail_promotion",
            "begin_cluster",
            "begin_cluster_task",
            "record_cluster_task",
            "fail_cluster_task",
            "end_cluster",
            "fail_cluster",
            "end_failed_cluster",
            "notify",
        ),
    ),
    FunctionSpec(
        "forge_steps",
        "Runs execution steps that call the VCS provider, and updates check runs",
        (
            "validate_revision",
            "begin_job",
            "dispatch_job",
            "evaluate_plan",
            "conclude_drift",
            "publish_check_run",
            "claim_update",
            "begin_replay",
            "begin_promotion",
        ),
    ),
    FunctionSpec(
        "waits",
        "Stores the task tokens of waiting executions, and fails those of stopped runners",
        (
            "wait_for_signal",
            "wait_at_gate",
            "wait_for_slot",
            "request_review",
            "runner_stopped",
            "wait_for_update",
            "wait_in_promotion",
        ),
        invoked_by_events=True,
    ),
    FunctionSpec(
        "wait_for_requirements",
        "Lets a deployment wait for its root's apply requirements",
        ("wait_for_requirements",),
    ),
    FunctionSpec(
        "pull_request_steps",
        "Runs the steps of speculative plans",
        ("begin_speculative_plan", "wait_for_plan_slot", "record_speculative_plan"),
    ),
    FunctionSpec(
        "workers",
        "Starts and releases queue workers, and opens the gates of changes",
        ("continue_as_new", "execution_closed", "open_gates", "continue_updates", "promote_entry"),
        invoked_by_events=True,
    ),
    FunctionSpec(
        "reconcile",
        "Reconciles what events missed",
        ("reconcile",),
        timeout=240,
        invoked_by_events=True,
    ),
)
#: The names of functions by their verbs.
FUNCTION_OF: Mapping[str, str] = {verb: spec.name for spec in SPECS for verb in spec.verbs}
