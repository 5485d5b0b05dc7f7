"""How deployments look that wait for what their root requires before an apply, or waited for it too long."""

from __future__ import annotations

from tidegate.deploys.rules.deployment import AfterGate, Deployment
from tidegate.deploys.rules.requirements_gate import REQUIREMENTS_DAYS, expires_at
from tidegate.deploys.rules.review import moment
from tidegate.deploys.rules.unapproved import asked_here, refusals
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
        return Presentation("Rejected", (f"**{approval(deployment)}** It ends in a moment.",), "in_progress")
    if gate is not None and gate.next is AfterGate.APPLY:
        return Presentation(
            f"Approved: {counts_of(deployment)}", (f"**{passed(deployment)}** It goes on.",), "in_progress"
        )
    approves = bool(asked_here(deployment))
    failed = [verdict for _, verdict in refusals(deployment) if verdict is not None]
    return Presentation(
        deployment.frozen or f"Waiting for its requirements: {counts_of(deployment)}",
        (
            "**Frozen.** Nothing is applied until the freeze ends. It goes on by itself then."
            if deployment.frozen
            else "**Waiting for its requirements.** Nothing is applied until all is there that `apply_requirements` "
            "and the owners of policy sets demand, and no freeze window holds it back. It goes on by itself then. "
            "Missing:",
            "\n".join(f"* {sentence}" for sentence in deployment.missing),
            *((bounded(verdict_lines(failed), _SHOWN, "- {} more.".format),) if failed else ()),
            _how(deployment, approves=approves),
            _who(deployment),
        ),
        conclusion=Conclusion.ACTION_REQUIRED,
        actions=(APPROVE, REJECT) if approves else (REJECT,),
    )


def _how(deployment: Deployment, *, approves: bool) -> str:
    here = (
        "* **Approve**, here or by a review of the head, if your approval is among those that are required. Approve "
        "what a policy set refuses here: an earlier plan may differ. The deployment goes on once enough is there.\n"
        if approves
        else ""
    )
    return (
        f"{here}* **Reject** ends this deployment. Nothing is applied, and later revisions go on as usual.\n"
        f"* An operator overrides what is missing with a reason, which the audit topic hears: on the page of this "
        f"deployment, or with `tidegate override {deployment.id} --reason …`"
    )


def _who(deployment: Deployment) -> str:
    given = tuple(each.by for each in deployment.approved_here)
    sentences = [f"Approved here by {people(given)}."] if given else []
    sentences.append(f"{who_may(deployment, Action.REVIEW)} reject it.")
    if deployment.gate is not None:
        sentences.append(f"It waits until {expires_at(deployment.gate):%Y-%m-%d %H:%M} UTC; then nothing is applied.")
    return " ".join(sentences)


def passed(deployment: Deployment) -> str:
    """Return what let a deployment pass that waited for its requirements, as a sentence."""
    override = deployment.override
    if override is not None:
        return f"{code(override.by)} overrode what was missing on {moment(override.at)}: {code(override.reason)}"
    return "All is there that is required."


def requirements_expired(deployment: Deployment) -> Presentation:
    """Return how a deployment looks of which something was missing for too long."""
    return Presentation(
        "Waited too long for its requirements",
        (
            (
                f"**What this root requires was not there within {REQUIREMENTS_DAYS} days**, so it ended on "
                f"{moment(deployment.changed_at)}. Nothing was applied. Missing:"
            ),
            "\n".join(f"* {sentence}" for sentence in deployment.missing),
            "Run this check again, or merge the next revision: its plan includes these changes.",
        ),
        conclusion=Conclusion.TIMED_OUT,
    )
