"""Answer a click on Approve or Reject in Slack, with the rights of the account that the user is linked to."""

from __future__ import annotations

from contextlib import suppress
from urllib.parse import urlencode

from tidegate.deploys.authorize import may_act
from tidegate.deploys.reviews.decide_review import decide_review
from tidegate.deploys.rules.state import State
from tidegate.notifications.rules.outgoing import NotDelivered
from tidegate.notifications.rules.slack_account import acts_as
from tidegate.notifications.rules.slack_interaction import Click, without_buttons
from tidegate.notifications.texts.slack import decided_message, link_reply, reply
from tidegate.ports import Ports
from tidegate.rules.access import Action
from tidegate.rules.decision import Decision
from tidegate.rules.errors import TidegateError

_ANOTHER_PLAN = "This message is about another plan, so nothing was decided. Open the deployment's page."


def answer_click(ports: Ports, click: Click) -> str:
    """Decide the review, or say why not. Return what became of the click. A repeated click decides nothing more.

    Raise CloudUnavailable if the link of the user cannot be read. Every other refusal is a reply in Slack.
    """
    login = acts_as(ports.slack_accounts.link(click.user), ports.seconds())
    if not login:
        token = ports.sessions.slack_link(click.user, click.name, click.workspace)
        url = f"{ports.web_url}/account/slack?{urlencode({'request': token})}"
        _reply(ports, click, link_reply(url, ports.sessions.slack_code(token)))
        return "The user is not linked to an account."
    decision = _decide(ports, click, login)
    _reply(ports, click, _said(ports, click, decision))
    return decision.reason


def _decide(ports: Ports, click: Click, login: str) -> Decision:
    try:
        deployment = ports.deployments.get(click.deployment)
        may = may_act(ports, deployment, Action.REVIEW, login)
        if not may.done:
            return may
        plan, review = deployment.planned.plan, deployment.review
        if plan is None or review is None or review.id != click.review:
            return Decision(False, _ANOTHER_PLAN)
        now, seen = ports.clock.now(), plan.file.sha256
        return decide_review(ports, deployment.id, click.answer, login, now, seen, reason=click.reason)
    except TidegateError as error:
        return Decision(False, str(error))


def _said(ports: Ports, click: Click, decision: Decision) -> bytes:
    """Return the reply: what the channel sees once the review is decided, what the person sees otherwise."""
    if not decision.done or ports.deployments.get(click.deployment).state is State.AWAITING_REVIEW:
        return reply(decision.reason)
    return decided_message(without_buttons(click), decision.reason)


def _reply(ports: Ports, click: Click, body: bytes) -> None:
    """Reply. What was decided stays decided if Slack does not take it."""
    with suppress(NotDelivered):
        ports.slack_apps.reply(click.response_url, body)
