"""Drift: what the schedules of repositories found, as a page and by the API."""

# ruff: noqa: ARG001  # Arguments are the routes' fields, validated here and used by the authorization.

from __future__ import annotations

from collections.abc import Sequence
from typing import Annotated, Any

from aws_lambda_powertools.event_handler import APIGatewayHttpResolver, Response
from aws_lambda_powertools.event_handler.openapi.params import Query

from tidegate.usecases.drift.look_at_drift import DriftView
from tidegate.web.api import described
from tidegate.web.authorization import Authorization
from tidegate.web.drift_models import DriftList, drift_schedule
from tidegate.web.models import RepositoryName
from tidegate.web.parts import Parts
from tidegate.web.readable import readable
from tidegate.web.rendering import Rendering
from tidegate.web.shapes import Shapes


class DriftPages:
    """Adds the routes of drift to a resolver."""

    def __init__(self, parts: Parts, authorization: Authorization, shapes: Shapes, rendering: Rendering) -> None:
        self._parts, self._authorization = parts, authorization
        self._shapes, self._rendering = shapes, rendering

    def add_to(self, app: APIGatewayHttpResolver) -> None:
        """Register the routes."""
        app.get("/drift", include_in_schema=False, enable_validation=False)(lambda: self._page(app))

        @app.get(
            "/api/drift",
            summary="Schedules that look for drift in a repository, or in all that you may read, and what they found",
            tags=["drift"],
            responses=described(200, "Schedules", DriftList, 404),
        )
        def drift(repository: Annotated[RepositoryName | None, Query()] = None) -> DriftList:
            found, unchecked = self._found(app)
            return DriftList(schedules=[drift_schedule(self._shapes, each) for each in found], unchecked=unchecked)

    def _found(self, app: APIGatewayHttpResolver) -> tuple[Sequence[DriftView], int]:
        """Return the schedules that are asked for, and how many repositories are not checked yet."""
        access = app.context["access"]
        if access.repository:
            return self._parts.drift_looker.look([access.repository]), 0
        allowed = readable(self._parts.catalog, self._authorization, access.login)
        return self._parts.drift_looker.look([known.name for known in allowed.repositories]), allowed.unchecked

    def _page(self, app: APIGatewayHttpResolver) -> Response[str]:
        found, unchecked = self._found(app)
        session, repository = app.context["session"], app.context["access"].repository
        values: dict[str, Any] = {"schedules": found, "repository": repository, "unchecked": unchecked}
        form, issue = self._parts.sessions().form_token(session), self._shapes.issue_url
        return self._rendering.page("drift.html", person=session.login, csrf=form, notice="", issue_url=issue, **values)
