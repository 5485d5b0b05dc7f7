"""The page of a change: a diagram of its stacks, its deployments by stack, and the forms of gates."""

from __future__ import annotations

from typing import Any
from urllib.parse import quote

from aws_lambda_powertools.event_handler import APIGatewayHttpResolver, Response

from tidegate.deploys.rules.gate import GateAnswer
from tidegate.deploys.rules.overview import awaited, is_done, needed, overview
from tidegate.gates.decide_gate import decide_gate
from tidegate.gates.get_change import get_change
from tidegate.ports import Ports
from tidegate.web.picture import picture
from tidegate.web.refusals import Hidden, InvalidRequest, ensure_done
from tidegate.web.rendering import STATES, Rendering, address, see_other
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

    def __init__(self, ports: Ports, shapes: Shapes, rendering: Rendering) -> None:
        self._ports, self._shapes, self._rendering = ports, shapes, rendering

    def add_to(self, app: APIGatewayHttpResolver) -> None:
        """Register the routes."""
        hidden: dict[str, Any] = {"include_in_schema": False, "enable_validation": False}
        app.get("/changes/<id>", **hidden)(lambda **path: self._page(app, path["id"]))
        app.post("/deployments/<id>/gate", **hidden)(lambda **_: self._gate(app))

    def _page(self, app: APIGatewayHttpResolver, change: str) -> Response[str]:
        view = get_change(self._ports, change)
        stacks, one = overview(view.deployments), view.deployments[0]
        return self._rendering.show(
            app,
            "change.html",
            change=change,
            one=one,
            stacks=stacks,
            needed=needed(stacks),
            picture=picture(stacks, STATES),
            awaited={member.id: awaited(member, view.deployments) for member in view.deployments},
            done=sum(map(is_done, view.deployments)),
            count=len(view.deployments),
            replacements=view.replacements,
            left_out=view.left_out,
            over=view.is_over,
            commit_url=self._shapes.commit_url(one.repository, one.revision.sha),
            pull_request_url=self._shapes.pull_request_url(one.repository, one.request.pull_request),
        )

    def _gate(self, app: APIGatewayHttpResolver) -> Response[str]:
        access, decision = app.context["access"], app.context["fields"].get("decision", "")
        if decision not in set(GateAnswer):
            raise InvalidRequest("'decision' must be retry, reject, approve or override.")
        if access.deployment is None:
            raise Hidden
        identifier = access.deployment.id
        at, reason = self._ports.clock.now(), app.context["fields"].get("reason", "")
        answer = decide_gate(self._ports, identifier, GateAnswer(decision), access.login, at, reason)
        ensure_done(answer)
        target = address(f"/deployments/{quote(identifier)}", done=_DONE[GateAnswer(decision)])
        return see_other(target)
