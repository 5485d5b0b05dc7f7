"""The page of a change: a diagram of its stacks, its deployments by stack, and the forms of gates."""

from __future__ import annotations

from typing import Any
from urllib.parse import quote

from aws_lambda_powertools.event_handler import APIGatewayHttpResolver, Response

from tidegate.deploys.reviews.decide_many import MOST_AT_ONCE
from tidegate.deploys.rules.gate import GateAnswer
from tidegate.deploys.rules.overview import awaited, is_done, naming, needed, overview
from tidegate.deploys.rules.state import State, is_final
from tidegate.gates.decide_gate import decide_gate
from tidegate.gates.get_change import ChangeView
from tidegate.gates.stop_wave import continue_wave, stop_wave
from tidegate.ports import Ports
from tidegate.rules.access import Action
from tidegate.web.authorization import Access, Authorization
from tidegate.web.notices import change_notice
from tidegate.web.picture import picture
from tidegate.web.plan_pages import inline_plans
from tidegate.web.refusals import InvalidRequest, ensure_done
from tidegate.web.rendering import STATES, Rendering, address, see_other
from tidegate.web.review_pages import choices
from tidegate.web.shapes import Shapes

#: What a page says about the answer that was given.
_DONE = {
    GateAnswer.RETRY: "retried",
    GateAnswer.REJECT: "gate-rejected",
    GateAnswer.APPROVE: "approved-here",
    GateAnswer.OVERRIDE: "overridden",
}


class ChangePages:
    """Adds the routes of changes to a resolver."""

    def __init__(self, ports: Ports, authorization: Authorization, shapes: Shapes, rendering: Rendering) -> None:
        self._ports, self._authorization = ports, authorization
        self._shapes, self._rendering = shapes, rendering

    def add_to(self, app: APIGatewayHttpResolver) -> None:
        """Register the routes."""
        hidden: dict[str, Any] = {"include_in_schema": False, "enable_validation": False}
        app.get("/changes/<id>", **hidden)(lambda **path: self._page(app, path["id"]))
        app.post("/changes/<id>/stop", **hidden)(lambda **path: self._stop(app, path["id"]))
        app.post("/changes/<id>/continue", **hidden)(lambda **path: self._continue(app, path["id"]))
        app.post("/deployments/<id>/gate", **hidden)(lambda **_: self._gate(app))

    def _page(self, app: APIGatewayHttpResolver, change: str) -> Response[str]:
        access = app.context["access"]
        view = access.change_read
        stacks, one = overview(view.deployments), naming(view.deployments)
        offered = choices(self._authorization, access, view)
        return self._rendering.show(
            app,
            "change.html",
            notice=change_notice(view, app.context["fields"].get("done", ""), access.login),
            change=change,
            waves=view.waves,
            may_stop=self._stoppable(access, view),
            operates=self._authorization.operator(access.login, access.repository).done,
            one=one,
            stacks=stacks,
            needed=needed(stacks),
            picture=picture(stacks, STATES),
            plans=inline_plans(self._ports, [each.planned.plan for each in view.deployments if each.planned.plan]),
            awaited={member.id: awaited(member, view.deployments) for member in view.deployments},
            choices=offered,
            decidable=[name for name, choice in offered.items() if choice.value],
            MOST_AT_ONCE=MOST_AT_ONCE,
            done=sum(map(is_done, view.deployments)),
            count=len(view.deployments),
            replacements=view.replacements,
            left_out=view.left_out,
            over=view.is_over,
            commit_url=self._shapes.commit_url(one.repository, one.revision.sha),
            pull_request_url=self._shapes.pull_request_url(one.repository, one.request.pull_request),
        )

    def _stoppable(self, access: Access, view: ChangeView) -> set[str]:
        """Return the stacks that the person may be offered to stop. Each root is judged when they do."""
        first = {
            each.stack: each
            for each in view.deployments
            if not is_final(each.state) and each.state is not State.APPLYING and each.stack in view.waves
        }
        return {
            stack
            for stack, each in first.items()
            if view.waves[stack].wave.stopped is None
            and self._authorization.shown(Action.REVIEW, access.login, access.repository, each).done
        }

    def _stop(self, app: APIGatewayHttpResolver, change: str) -> Response[str]:
        access, stack = app.context["access"], app.context["fields"].get("stack", "")
        now = self._ports.clock.now()
        ensure_done(stop_wave(self._ports, change, stack, access.login, now, access.permission))
        return see_other(address(f"/changes/{quote(change)}", done="stopped"))

    def _continue(self, app: APIGatewayHttpResolver, change: str) -> Response[str]:
        fields, now = app.context["fields"], self._ports.clock.now()
        stack, reason = fields.get("stack", ""), fields.get("reason", "")
        ensure_done(continue_wave(self._ports, change, stack, app.context["access"].login, now, reason))
        return see_other(address(f"/changes/{quote(change)}", done="continued"))

    def _gate(self, app: APIGatewayHttpResolver) -> Response[str]:
        access, decision = app.context["access"], app.context["fields"].get("decision", "")
        if decision not in set(GateAnswer):
            raise InvalidRequest("'decision' must be retry, reject, approve or override.")
        identifier = access.deployment_read.id
        at, reason = self._ports.clock.now(), app.context["fields"].get("reason", "")
        answer = decide_gate(self._ports, identifier, GateAnswer(decision), access.login, at, reason)
        ensure_done(answer)
        target = address(f"/deployments/{quote(identifier)}", done=_DONE[GateAnswer(decision)])
        return see_other(target)
