"""Forms that decide about plans: of one deployment, or of several of a change, with a second question."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any
from urllib.parse import quote

from aws_lambda_powertools.event_handler import APIGatewayHttpResolver, Response

from tidegate.deploys.authorize import person_asking
from tidegate.deploys.reviews.decide_many import MOST_AT_ONCE, ManyAnswer, decide_many
from tidegate.deploys.reviews.decide_review import decide_review
from tidegate.deploys.rules.deployment import Deployment
from tidegate.deploys.rules.review import Answer, Followup, asks_twice, check_click, destruction_of
from tidegate.deploys.rules.state import State
from tidegate.gates.get_change import ChangeView
from tidegate.ports import Ports
from tidegate.rules.access import Action
from tidegate.rules.decision import Decision
from tidegate.rules.timestamp import LONG_AGO
from tidegate.web.authorization import Access, Authorization
from tidegate.web.refusals import InvalidRequest, ensure_done
from tidegate.web.rendering import Rendering, address, see_other

#: Between the id of a deployment and the SHA-256 of its plan, in the value of a checkbox.
_SEPARATOR = ":"


@dataclass(frozen=True, slots=True)
class Choice:
    """A plan that waits for its review, as a page offers it. ``refusal`` is why this person may not approve it;
    without a ``value`` they may not decide at all.
    """

    value: str
    refusal: str
    asks_twice: bool


def choices(authorization: Authorization, access: Access, view: ChangeView) -> dict[str, Choice]:
    """Return the plans of a change that wait for their review, by their deployments' ids. Raise ForgeUnavailable."""
    found = {}
    for each in view.deployments:
        plan = each.planned.plan
        if each.state is not State.AWAITING_REVIEW or each.review is None or plan is None:
            continue
        may = authorization.shown(Action.REVIEW, access.login, access.repository, each)
        verdict = check_click(each, Answer.APPROVE, access.login, LONG_AGO)
        refusal = verdict.reason if verdict.followup is Followup.REFUSE else ""
        value = f"{each.id}{_SEPARATOR}{plan.file.sha256}" if may.done else ""
        found[each.id] = Choice(value, refusal if may.done else may.reason, asks_twice(each))
    return found


class ReviewPages:
    """Adds the routes of reviews to a resolver."""

    def __init__(self, ports: Ports, authorization: Authorization, rendering: Rendering) -> None:
        self._ports, self._authorization, self._rendering = ports, authorization, rendering

    def add_to(self, app: APIGatewayHttpResolver) -> None:
        """Register the routes."""
        hidden: dict[str, Any] = {"include_in_schema": False, "enable_validation": False}
        app.post("/deployments/<id>/review", **hidden)(lambda **_: self._review(app))
        app.post("/changes/<id>/review", **hidden)(lambda **path: self._review_many(app, path["id"]))

    def _review(self, app: APIGatewayHttpResolver) -> Response[str]:
        access, fields = app.context["access"], app.context["fields"]
        deployment = access.deployment_read
        answer, seen, destroys = _answer(app), fields.get("plan_digest", ""), _destroys(app)
        path = f"/deployments/{quote(deployment.id)}"
        if answer is Answer.APPROVE and asks_twice(deployment) and not destroys:
            return self._ask(app, [deployment], f"{path}/review", path, {"plan_digest": [seen]})
        decision = decide_review(
            self._ports,
            deployment.id,
            answer,
            access.login,
            self._ports.clock.now(),
            seen,
            reason=fields.get("reason", ""),
            destroys=destroys,
        )
        ensure_done(decision)
        return see_other(address(path, done=answer.value))

    def _review_many(self, app: APIGatewayHttpResolver, change: str) -> Response[str]:
        access, answer, values = app.context["access"], _answer(app), app.context["form"].get("plan", [])
        path = f"/changes/{quote(change)}"
        chosen = self._chosen(change, values)
        asked = [each for each, _ in chosen if answer is Answer.APPROVE and asks_twice(each)]
        if asked and not _destroys(app):
            return self._ask(app, asked, f"{path}/review", path, {"plan": values})
        reason, now = app.context["fields"].get("reason", ""), self._ports.clock.now()
        given = ManyAnswer(answer, access.login, now, reason, _destroys(app))
        results = self._decided(access, chosen, given)
        return self._rendering.show(
            app,
            "decided.html",
            results=results,
            done=sum(decision.done for _, decision in results),
            answer=answer,
            back=path,
        )

    def _decided(
        self, access: Access, chosen: Sequence[tuple[Deployment, str]], given: ManyAnswer
    ) -> list[tuple[Deployment, Decision]]:
        """Decide, and return what became of each. Who was refused within this minute is not asked about again."""
        shown = {
            each.id: self._authorization.shown(Action.REVIEW, access.login, access.repository, each)
            for each, _ in chosen
        }
        refused = [(each, shown[each.id]) for each, _ in chosen if not shown[each.id].done]
        asking = person_asking(self._ports, access.repository, access.login)
        return [*decide_many(self._ports, asking, [one for one in chosen if shown[one[0].id].done], given), *refused]

    def _chosen(self, change: str, values: Sequence[str]) -> list[tuple[Deployment, str]]:
        """Return the deployments that a form names, each with the plan that it showed. Raise InvalidRequest."""
        if not values:
            raise InvalidRequest("Select at least one plan.")
        if len(values) > MOST_AT_ONCE:
            raise InvalidRequest(f"Select at most {MOST_AT_ONCE} plans. Decide the others afterwards.")
        seen = dict(value.partition(_SEPARATOR)[::2] for value in values)
        members = {each.deployment for each in self._ports.change_sets.deployments(change)}
        known = self._ports.deployments.many([each for each in seen if each in members])
        if len(known) < len(seen):
            raise InvalidRequest("A selected plan was replaced, or is not of this change. Reload the page.")
        return [(known[each], digest) for each, digest in seen.items()]

    def _ask(
        self,
        app: APIGatewayHttpResolver,
        asked: Sequence[Deployment],
        action: str,
        back: str,
        again: dict[str, list[str]],
    ) -> Response[str]:
        """Return the page of the second question; its form sends ``again`` what the first one sent."""
        reason = app.context["fields"].get("reason", "")
        destructions = {each.id: destruction_of(each.planned.plan) for each in asked if each.planned.plan}
        return self._rendering.show(
            app,
            "confirm.html",
            asked=asked,
            destructions=destructions,
            action=action,
            back=back,
            again={**again, "reason": [reason], "decision": [Answer.APPROVE.value]},
        )


def _answer(app: APIGatewayHttpResolver) -> Answer:
    decision = app.context["fields"].get("decision", "")
    if decision not in set(Answer):
        raise InvalidRequest("'decision' must be approve or reject.")
    return Answer(decision)


def _destroys(app: APIGatewayHttpResolver) -> bool:
    return bool(app.context["fields"].get("destroys") == "yes")
