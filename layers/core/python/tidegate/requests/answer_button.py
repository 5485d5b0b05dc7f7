"""Process a button of a check run: decide about a deployment, cancel it, unlock its queue, or refuse.

Every refusal is shown on the check run.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, replace
from datetime import datetime

from tidegate.config_updates.answer_entry_button import answer_entry_button
from tidegate.config_updates.texts.check_run import CHECK_RUN, entry_of
from tidegate.deploys.authorize import may_act
from tidegate.deploys.cancel_deployment import cancel_deployment
from tidegate.deploys.queue.unlock import unlock_queue
from tidegate.deploys.reviews.decide_review import decide_review
from tidegate.deploys.rules.deployment import Deployment
from tidegate.deploys.rules.gate import WAITING, GateAnswer
from tidegate.deploys.rules.outcome import Unlocking
from tidegate.deploys.rules.review import Answer, Followup, check_click
from tidegate.deploys.rules.state import State
from tidegate.deploys.rules.waiting import AfterGate
from tidegate.deploys.texts.advice import advice_on
from tidegate.deploys.texts.text import check_run_name, render_continued, render_foreign
from tidegate.gates.decide_gate import decide_gate
from tidegate.ports import Ports
from tidegate.rules.access import Action
from tidegate.rules.errors import NotFound
from tidegate.vcs.rules.check_run import Button

#: What the button ``Approve`` was before: check runs that wait may still show it.
_RENAMED = {"Confirm": Button.APPROVE}
#: Actions of buttons.
_ACTIONS = {
    Button.APPROVE: Action.REVIEW,
    Button.REJECT: Action.REVIEW,
    Button.RETRY: Action.APPLY,
    Button.UNLOCK: Action.UNLOCK,
    Button.CANCEL: Action.REVIEW,
}
_ANSWERS: Mapping[str, Answer] = {Button.APPROVE: Answer.APPROVE, Button.REJECT: Answer.REJECT}
_GATE_ANSWERS: Mapping[str, GateAnswer] = {
    Button.RETRY: GateAnswer.RETRY,
    Button.REJECT: GateAnswer.REJECT,
    Button.APPROVE: GateAnswer.APPROVE,
}
_DONE = {GateAnswer.RETRY: "retried", GateAnswer.REJECT: "rejected", GateAnswer.APPROVE: "approved"}


@dataclass(frozen=True, slots=True)
class ButtonClick:
    """A click of a button: on which check run, by whom, and when it was received."""

    repository: str
    check_run: int
    name: str
    sha: str
    external_id: str
    identifier: str
    by: str
    at: datetime


def answer_button(ports: Ports, click: ButtonClick) -> str:
    """Do the button's action, or refuse. Return the result, in a few words, for the log."""
    if click.name == CHECK_RUN and (entry := entry_of(click.external_id)):
        return answer_entry_button(ports, click.repository, entry, click.identifier, click.by)
    click = replace(click, identifier=_RENAMED.get(click.identifier, click.identifier))
    deployment = _deployment(ports, click)
    if deployment is None:
        return _refuse_foreign(ports, click)
    if _decided_by(click, deployment):
        return _decide(ports, click, deployment)
    shown = ports.check_runs.published(deployment.id)
    if shown is not None and shown.id != click.check_run:
        return _refuse_outdated(ports, click, deployment, shown.id)
    return _answer(ports, click, deployment)


def _answer(ports: Ports, click: ButtonClick, deployment: Deployment) -> str:
    """Do the action of a button on the deployment's newest check run, if it exists and the person may."""
    if _is_of_requirements(click, deployment):  # Whose approval is required is checked when it is given.
        return _decide_gate(ports, click, deployment)
    if click.identifier not in _ACTIONS:
        return _refuse(ports, deployment, f"Unknown button {click.identifier!r}.")
    judged = may_act(ports, deployment, _ACTIONS[Button(click.identifier)], click.by)
    if not judged.done:
        return _refuse(ports, deployment, judged.reason)
    if click.identifier in {Button.UNLOCK, Button.CANCEL}:
        act = _unlock if click.identifier == Button.UNLOCK else _cancel
        return act(ports, click, deployment)
    if click.identifier == Button.RETRY or (click.identifier == Button.REJECT and _is_at_gate(deployment)):
        return _decide_gate(ports, click, deployment)
    return _decide(ports, click, deployment)


def _deployment(ports: Ports, click: ButtonClick) -> Deployment | None:
    """Return the deployment that the check run shows, if it is one of ours."""
    try:
        deployment = ports.deployments.get(click.external_id)
    except NotFound:
        return None
    ours = (deployment.repository, deployment.revision.sha)
    is_ours = ours == (click.repository, click.sha)
    return deployment if is_ours and click.name == check_run_name(deployment) else None


def _decide(ports: Ports, click: ButtonClick, deployment: Deployment) -> str:
    decision = decide_review(ports, deployment.id, _ANSWERS[click.identifier], click.by, click.at)
    if decision.done:
        return "decided"
    return _refuse(ports, deployment, decision.reason)


def _decide_gate(ports: Ports, click: ButtonClick, deployment: Deployment) -> str:
    answer = _GATE_ANSWERS[click.identifier]
    decision = decide_gate(ports, deployment.id, answer, click.by, click.at)
    if decision.done:
        return _DONE[answer]
    return _refuse(ports, deployment, decision.reason)


def _unlock(ports: Ports, click: ButtonClick, deployment: Deployment) -> str:
    decision = unlock_queue(ports, deployment.queue, Unlocking(click.by, click.at))
    if decision.done:
        return "unlocked"
    return _refuse(ports, deployment, decision.reason)


def _cancel(ports: Ports, click: ButtonClick, deployment: Deployment) -> str:
    decision = cancel_deployment(ports, deployment.id, click.by, click.at)
    return "cancelled" if decision.done else _refuse(ports, deployment, decision.reason)


def _refuse(ports: Ports, deployment: Deployment, reason: str) -> str:
    """Publish the refusal with the check run's next update."""
    ports.event_publisher.answered(deployment.id, reason)
    return f"refused: {reason}"


def _refuse_outdated(ports: Ports, click: ButtonClick, deployment: Deployment, newest: int) -> str:
    url = ports.addresses.check_run_url(click.repository, newest)
    check_run = render_continued(deployment, url, _why_outdated(click, deployment))
    ports.check_run_publisher.update_check_run(click.repository, click.check_run, check_run)
    return "refused: outdated"


def _refuse_foreign(ports: Ports, click: ButtonClick) -> str:
    problem = "Tidegate has no deployment for this button, so nothing was done."
    check_run = render_foreign(click.name, click.sha, click.external_id, problem)
    ports.check_run_publisher.update_check_run(click.repository, click.check_run, check_run)
    return "refused: foreign"


def _why_outdated(click: ButtonClick, deployment: Deployment) -> str:
    """Return why a button on an outdated check run has no effect: who decided before, if a review was decided."""
    answer = _ANSWERS.get(click.identifier)
    if answer is not None and deployment.review is not None and not _is_of_requirements(click, deployment):
        verdict = check_click(deployment, answer, click.by, click.at)
        if verdict.followup is Followup.REFUSE:
            return f"{verdict.reason} {advice_on(deployment)}".rstrip()
    return "This check is outdated. Use the newer one."


def _is_of_requirements(click: ButtonClick, deployment: Deployment) -> bool:
    """Tell whether an approval is for the deployment's requirements, also if it is delivered again."""
    given = any((each.by, each.at) == (click.by, click.at) for each in deployment.requirements.approved_here)
    return click.identifier == Button.APPROVE and (given or deployment.state is State.AWAITING_REQUIREMENTS)


def _is_at_gate(deployment: Deployment) -> bool:
    """Tell whether a rejection is for the deployment's gate, also if it is delivered again."""
    gate = deployment.gate
    return deployment.state in {*WAITING, State.AWAITING_REQUIREMENTS} or (
        gate is not None and gate.next is AfterGate.REJECTED
    )


def _decided_by(click: ButtonClick, deployment: Deployment) -> bool:
    """Tell whether this click was saved before: its first delivery may have died before settling the token.

    That also holds on an outdated check run, because the decision may have created a newer one.
    """
    answer = _ANSWERS.get(click.identifier)
    return answer is not None and check_click(deployment, answer, click.by, click.at).followup is Followup.SETTLE_AGAIN
