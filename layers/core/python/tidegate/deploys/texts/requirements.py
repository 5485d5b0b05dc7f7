"""Texts of deployments that wait for their apply requirements, or whose wait expired."""

from __future__ import annotations

from tidegate.deploys.rules.deployment import Deployment
from tidegate.deploys.rules.requirements_gate import REQUIREMENTS_DAYS, expires_at
from tidegate.deploys.rules.review import moment
from tidegate.deploys.rules.unapproved import asked_here, refusals
from tidegate.deploys.rules.waiting import AfterGate
from tidegate.deploys.texts.advice import again_after_a_time_out
from tidegate.deploys.texts.policies import verdict_lines
from tidegate.deploys.texts.presentation import (
    APPROVE,
    REJECT,
    Presentation,
    View,
    approval,
    counts_of,
    people,
    who_may,
)
from tidegate.rules.access import Action
from tidegate.texts.markdown import bounded, code
from tidegate.vcs.rules.check_run import Conclusion

#: Bytes of what policies say of a plan.
_SHOWN = 10_000


def awaiting_requirements(deployment: Deployment, _: View) -> Presentation:
    """Return how a deployment looks of which something is missing that its root requires."""
    gate = deployment.gate
    if gate is not None and gate.next is AfterGate.REJECTED:
        return Presentation("Rejected", (f"**{approval(deployment)}** This deployment is ending.",), "in_progress")
    if gate is not None and gate.next is AfterGate.APPLY:
        return Presentation(
            f"Approved: {counts_of(deployment)}", (f"**{passed(deployment)}** The apply starts soon.",), "in_progress"
        )
    approves = bool(asked_here(deployment))
    failed = [verdict for _, verdict in refusals(deployment) if verdict is not None]
    return Presentation(
        deployment.requirements.frozen or f"Waiting for apply requirements: {counts_of(deployment)}",
        (
            "**Frozen.** Nothing is applied until the freeze ends. Then this deployment continues automatically."
            if deployment.requirements.frozen
            else "**Waiting for apply requirements.** Nothing is applied until `apply_requirements` are met, the "
            "owners of policy sets have approved, and no freeze window is active. Then this deployment "
            "continues automatically. Missing:",
            "\n".join(f"* {sentence}" for sentence in deployment.requirements.missing),
            *((bounded(verdict_lines(failed), _SHOWN, "- {} more.".format),) if failed else ()),
            _how(deployment, approves=approves),
            _who(deployment),
        ),
        conclusion=Conclusion.ACTION_REQUIRED,
        actions=(APPROVE, REJECT) if approves else (REJECT,),
    )


def _how(deployment: Deployment, *, approves: bool) -> str:
    here = (
        "* **Approve** here or in a review of the head, if your approval is required. Approve policy violations here, "
        "because an earlier plan may differ. The deployment continues once it has all required approvals.\n"
        if approves
        else ""
    )
    return (
        f"{here}* **Reject** ends this deployment. Nothing is applied, and later revisions deploy as usual.\n* An "
        "operator can override what is missing, on the page of this deployment or with `tidegate override "
        f"{deployment.id} --reason …`. The reason is recorded in the audit log."
    )


def _who(deployment: Deployment) -> str:
    given = tuple(each.by for each in deployment.requirements.approved_here)
    sentences = [f"Approved here by {people(given)}."] if given else []
    sentences.append(f"{who_may(deployment, Action.REVIEW)} reject it.")
    if deployment.gate is not None:
        sentences.append(
            f"It waits until {expires_at(deployment.gate):%Y-%m-%d %H:%M} UTC. After that it ends, "
            "and nothing is applied."
        )
    return " ".join(sentences)


def passed(deployment: Deployment) -> str:
    """Return what let a deployment pass that waited for its requirements, as a sentence."""
    override = deployment.requirements.override
    if override is not None:
        return f"{code(override.by)} overrode what was missing on {moment(override.at)}: {code(override.reason)}"
    return "All apply requirements are met."


def requirements_expired(deployment: Deployment) -> Presentation:
    """Return how a deployment looks of which something was missing for too long."""
    return Presentation(
        "Timed out waiting for apply requirements",
        (
            (
                f"**The apply requirements were not met within {REQUIREMENTS_DAYS} days**, so this deployment "
                f"ended on {moment(deployment.changed_at or deployment.request.at)}. Nothing was applied. Missing:"
            ),
            "\n".join(f"* {sentence}" for sentence in deployment.requirements.missing),
            again_after_a_time_out(deployment),
        ),
        conclusion=Conclusion.TIMED_OUT,
    )
