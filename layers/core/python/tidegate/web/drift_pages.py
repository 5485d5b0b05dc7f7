"""Drift: results of repositories' schedules, as a page and by the API."""

# ruff: noqa: ARG001  # Arguments are the routes' fields, validated here and used by the authorization.

from __future__ import annotations

import uuid
from collections.abc import Callable
from typing import Annotated, Any

from aws_lambda_powertools.event_handler import APIGatewayHttpResolver, Response
from aws_lambda_powertools.event_handler.openapi.params import Body, Query

from tidegate.config.rules.drift import DriftRecord
from tidegate.drift.detect_drift_now import start_drift
from tidegate.drift.get_drift import DriftPage, get_drift
from tidegate.ports import Ports
from tidegate.rules.decision import Decision
from tidegate.rules.errors import NotFound
from tidegate.rules.permission import Permission
from tidegate.web.api import described
from tidegate.web.authorization import Authorization
from tidegate.web.drift_models import DriftList, Looking, drift_schedule
from tidegate.web.notices import drift_notice
from tidegate.web.readable import readable
from tidegate.web.refusals import UnknownSchedule, ensure_done
from tidegate.web.rendering import Rendering, address, see_other
from tidegate.web.request_models import RepositoryName, ScheduleName
from tidegate.web.shapes import Shapes

#: Characters of where a page begins.
_LONGEST_PLACE = 400


class DriftPages:
    """Adds the routes of drift to a resolver."""

    def __init__(self, ports: Ports, authorization: Authorization, shapes: Shapes, rendering: Rendering) -> None:
        self._ports, self._authorization = ports, authorization
        self._shapes, self._rendering = shapes, rendering

    def add_to(self, app: APIGatewayHttpResolver) -> None:
        """Register the routes."""
        hidden: dict[str, Any] = {"include_in_schema": False, "enable_validation": False}
        app.get("/drift", **hidden)(lambda: self._page(app))
        app.post("/drift/look", **hidden)(lambda: self._run(app))

        @app.get(
            "/api/v1/drift",
            summary="Drift detection schedules of a repository, or of all that you may read, and their results",
            tags=["drift"],
            responses=described(200, "Schedules", DriftList, 404),
        )
        def drift(
            repository: Annotated[RepositoryName | None, Query()] = None,
            after: Annotated[str, Query(max_length=_LONGEST_PLACE, description="The `next` of the page before")] = "",
        ) -> DriftList:
            found, unchecked = self._found(app, after)
            schedules = [drift_schedule(self._shapes, each) for each in found.views]
            return DriftList(schedules=schedules, next=found.next, unchecked=unchecked)

        @app.post(
            "/api/v1/drift/look",
            summary="Start drift detection now, without waiting for the schedule",
            tags=["drift"],
            status_code=202,
            responses=described(202, "The run started", Looking, 403, 404, 409),
        )
        def look(asked: Annotated[ScheduleName, Body()]) -> Looking:
            decision = self._started(app, asked.schedule)
            ensure_done(decision)
            return Looking(message=decision.reason)

    def _run(self, app: APIGatewayHttpResolver) -> Response[str]:
        decision = self._started(app, app.context["fields"].get("schedule", ""))
        done = "started" if decision.done else "already-running"
        return see_other(address("/drift", repository=app.context["access"].repository, done=done))

    def _started(self, app: APIGatewayHttpResolver, schedule: str) -> Decision:
        repository = app.context["access"].repository
        try:
            return start_drift(self._ports, repository, schedule, str(uuid.uuid4()))
        except NotFound as error:
            known = [view.record.entry.name for view in get_drift(self._ports, [repository]).views]
            raise UnknownSchedule(schedule, known) from error

    def _found(self, app: APIGatewayHttpResolver, after: str) -> tuple[DriftPage, int]:
        """Return the schedules that are asked for, and how many repositories are not checked yet."""
        access = app.context["access"]
        if access.repository:
            return get_drift(self._ports, [access.repository], after=after), 0
        allowed = readable(self._ports.repository_index, self._authorization, access.login)
        return get_drift(self._ports, [known.name for known in allowed.repositories], after=after), allowed.unchecked

    def _page(self, app: APIGatewayHttpResolver) -> Response[str]:
        after = app.context["fields"].get("after", "")
        found, unchecked = self._found(app, after)
        return self._rendering.show(
            app,
            "drift.html",
            notice=drift_notice(found.views, app.context["fields"].get("done", "")),
            schedules=found.views,
            after=after,
            following=found.next,
            repository=app.context["access"].repository,
            unchecked=unchecked,
            issue_url=self._shapes.issue_url,
            may_run=self._may_run(app),
        )

    def _may_run(self, app: APIGatewayHttpResolver) -> Callable[[DriftRecord], bool]:
        """Return what tells whether to offer somebody to run a schedule."""
        login = app.context["access"].login

        def may_run(record: DriftRecord) -> bool:
            permission = self._authorization.permission(login, record.repository)
            return not record.execution and permission >= Permission.WRITE

        return may_run
