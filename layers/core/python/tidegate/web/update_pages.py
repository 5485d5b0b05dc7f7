"""Config updates: what runs where, what is on its way, and the buttons of operators."""

from __future__ import annotations

from collections.abc import Callable
from functools import partial
from typing import Any

from aws_lambda_powertools.event_handler import APIGatewayHttpResolver, Response

from tidegate.config_updates.authorize import is_offered
from tidegate.config_updates.evict import evict_entry
from tidegate.config_updates.get_overview import get_overview
from tidegate.config_updates.hold import hold_set, release_set
from tidegate.config_updates.pause import pause_queue, resume_queue
from tidegate.config_updates.promote import promote_to
from tidegate.config_updates.retry import retry_entry
from tidegate.config_updates.roll_back import roll_back
from tidegate.config_updates.rules.entry import EntryState
from tidegate.config_updates.rules.promotion import Stage
from tidegate.config_updates.rules.verdicts import Verdict
from tidegate.config_updates.texts.check_run import subject
from tidegate.config_updates.texts.promotion import waiting_text
from tidegate.deploys.authorize import person_asking
from tidegate.deploys.rules.locking import LONGEST_REASON
from tidegate.ports import Ports
from tidegate.rules.decision import Decision
from tidegate.rules.permission import Permission
from tidegate.web.authorization import Authorization
from tidegate.web.refusals import ensure_done
from tidegate.web.rendering import Rendering, see_other
from tidegate.web.shapes import Shapes

#: How an entry's state reads, and its colour.
ENTRY_STATES: dict[EntryState, tuple[str, str]] = {
    EntryState.QUEUED: ("Queued", "quiet"),
    EntryState.TESTING: ("Testing", "busy"),
    EntryState.LANDED: ("Landed", "good"),
    EntryState.EVICTED: ("Evicted", "bad"),
    EntryState.SUPERSEDED: ("Superseded", "quiet"),
    EntryState.NOOP: ("No changes", "quiet"),
    EntryState.FAILED: ("Failed", "bad"),
}
VERDICTS: dict[Verdict, tuple[str, str]] = {
    Verdict.PASS: ("Passed", "good"),
    Verdict.FAIL: ("Failed", "bad"),
    Verdict.NONE: ("Testing", "busy"),
    Verdict.RETRY: ("Testing", "busy"),
}
STAGES: dict[Stage, str] = {
    Stage.CHECKS: "waits for its required checks",
    Stage.TARGETS: "waits for its targets",
    Stage.SOAK: "soaks",
    Stage.AFTER: "waits for what comes first",
    Stage.ENDED: "ended",
}
#: Characters of an entry's id at most: DynamoDB refuses long keys.
_LONGEST_ID = 40


class UpdatePages:
    """Adds the routes of config updates to a resolver."""

    def __init__(self, ports: Ports, authorization: Authorization, shapes: Shapes, rendering: Rendering) -> None:
        self._ports, self._authorization = ports, authorization
        self._shapes, self._rendering = shapes, rendering

    def add_to(self, app: APIGatewayHttpResolver) -> None:
        """Register the routes."""
        hidden: dict[str, Any] = {"include_in_schema": False, "enable_validation": False}
        app.get("/config-updates/<owner>/<name>", **hidden)(lambda **_: self._page(app))
        app.post("/config-updates/<owner>/<name>/act", **hidden)(lambda **_: self._act(app))

    def _page(self, app: APIGatewayHttpResolver) -> Response[str]:
        access = app.context["access"]
        view = get_overview(self._ports, access.repository)
        asking = person_asking(self._ports, access.repository, access.login, access.permission)
        return self._rendering.show(
            app,
            "updates.html",
            repository=access.repository,
            view=view,
            may_act=access.permission >= Permission.WRITE or view.current.loaded.policies is not None,
            may=partial(is_offered, asking, view.current),
            may_override=self._authorization.operator(access.login, access.repository).done,
            entry_state=ENTRY_STATES,
            verdict=VERDICTS,
            stage=STAGES,
            subject=subject,
            waiting_text=waiting_text,
            commit_url=lambda sha, of=access.repository: self._shapes.commit_url(of, sha),
            now=self._ports.clock.now(),
        )

    def _act(self, app: APIGatewayHttpResolver) -> Response[str]:
        access, fields = app.context["access"], app.context["fields"]
        do = self._actions().get(fields.get("action", ""))
        decision = do(access.repository, fields, access.login) if do else Decision(False, "Unknown action.")
        ensure_done(decision)
        return see_other(f"/config-updates/{access.repository}")

    def _actions(self) -> dict[str, Callable[[str, dict[str, str], str], Decision]]:
        ports = self._ports

        def text(given: dict[str, str], name: str) -> str:
            return given.get(name, "").strip()[:LONGEST_REASON]

        return {
            "pause": lambda where, given, by: pause_queue(ports, where, by, text(given, "reason")),
            "resume": lambda where, _, by: resume_queue(ports, where, by),
            "evict": lambda where, given, by: evict_entry(ports, where, text(given, "entry")[:_LONGEST_ID], by),
            "retry": lambda where, given, by: retry_entry(ports, where, text(given, "entry")[:_LONGEST_ID], by),
            "hold": lambda where, given, by: hold_set(ports, where, text(given, "set"), by, text(given, "reason")),
            "release": lambda where, given, by: release_set(ports, where, text(given, "set"), by),
            "promote": lambda where, given, by: promote_to(
                ports, where, text(given, "set"), text(given, "environment"), by
            ),
            "rollback": lambda where, given, by: roll_back(
                ports,
                where,
                text(given, "set"),
                text(given, "environment"),
                by,
                text(given, "to"),
                override=text(given, "override"),
            ),
        }
