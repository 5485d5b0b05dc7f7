"""Next steps after a failed deployment, the same on the check run, the page and the terminal."""

from __future__ import annotations

from typing import Final

from tidegate.deploys.rules.deployment import Deployment
from tidegate.deploys.rules.policy_status import POLICIES_REFUSED
from tidegate.deploys.rules.requirements_gate import is_of_head
from tidegate.deploys.rules.state import State

#: What is said of a deployment once a newer revision that contains it is deployed: the braces hold that revision.
REPLACED: Final = "superseded by {}, which is deployed"
#: The same as a sentence, where there is room for it.
REPLACED_SENTENCE: Final = f"No action is needed: this deployment is {REPLACED}."
#: A newer revision that is not known any more.
NEWER_REVISION: Final = "a newer revision"

#: What to do about a workflow that failed. The braces hold what is run again.
_RESUME = (
    "Correct the cause, then re-run {} or resume it on the cluster's page: the workflow goes on where it failed, and "
    "does nothing again that is done. If the cluster's file or declaration is the cause, merge the fix: what the "
    "workflow still holds has to be released before."
)


def advice(state: str, error: str, check: str = "its check", command: str = "") -> str:
    """Return what to do about a deployment that ended in ``state`` (a word of ``State``) with ``error``, in plain text.

    ``check`` is the name of its check run. ``command`` is given for the head of a pull request: it cannot be re-run, as
    it is not merged, but the comment can be repeated. Empty if nothing failed, or if there is more to say than this.
    """
    if state == State.PLAN_FAILED and error != POLICIES_REFUSED:
        if command:
            return f"Correct the configuration, push the fix and comment {command} again."
        return "Correct the configuration and merge the fix. The next revision of this root is then planned as usual."
    if state == State.APPLY_FAILED:
        first = f"and comment {command} again" if command else f"and merge the fix, or re-run {check}"
        return (
            f"Correct the cause {first}. The next plan starts from what was applied and shows what is missing. "
            "Tidegate never retries an apply automatically."
        )
    if state in {State.ENGINE_FAULT, State.REVIEW_EXPIRED, State.GATE_EXPIRED}:
        if command:
            return f"Comment {command} again."
        return f"Re-run {check}, or merge the next revision of this root, which includes these changes."
    return ""


def advice_on(deployment: Deployment, check: str = "its check") -> str:
    """Return what to do about a deployment: nothing, once a newer revision that contains it is deployed."""
    if deployment.lineage.contained_by:
        return ""
    is_head = is_of_head(deployment)
    if deployment.state is State.APPLY_FAILED and deployment.settings.run.cluster is not None and not is_head:
        return _RESUME.format(check)
    return advice(deployment.state, deployment.error, check, _command(deployment) if is_head else "")


def again(deployment: Deployment) -> str:
    """Return how a deployment is repeated, as the beginning of a sentence of its check run, in Markdown."""
    return f"Comment {_command(deployment)} again" if is_of_head(deployment) else "Re-run this check"


def again_after_a_time_out(deployment: Deployment, goal: str = "") -> str:
    """Return what to do about a deployment that waited too long, as a sentence; ``goal`` says what for."""
    merged = "" if is_of_head(deployment) else ", or merge the next revision, which includes these changes"
    return f"{again(deployment)}{goal}{merged}."


def _command(deployment: Deployment) -> str:
    return f"`tidegate {'apply' if deployment.request.base_sha else 'deploy'}`"
