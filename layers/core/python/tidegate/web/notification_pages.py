"""Notifications of a repository: the newest messages and what became of them, as a page and by the API."""

# ruff: noqa: ARG001  # Arguments are the routes' fields, validated here and used by the authorization.

from __future__ import annotations

from typing import Annotated, Any

from aws_lambda_powertools.event_handler import APIGatewayHttpResolver, Response
from aws_lambda_powertools.event_handler.openapi.params import Query

from tidegate.ports import Ports
from tidegate.web.api import described
from tidegate.web.notification_models import NotificationList, notification
from tidegate.web.rendering import Rendering
from tidegate.web.request_models import RepositoryName

#: Messages on the page, and in an answer: they are one read.
LISTED = 50


class NotificationPages:
    """Adds the routes of notifications to a resolver."""

    def __init__(self, ports: Ports, rendering: Rendering) -> None:
        self._ports, self._rendering = ports, rendering

    def add_to(self, app: APIGatewayHttpResolver) -> None:
        """Register the routes."""
        hidden: dict[str, Any] = {"include_in_schema": False, "enable_validation": False}
        app.get("/notifications", **hidden)(lambda: self._page(app))

        @app.get(
            "/api/v1/notifications",
            summary=f"The newest {LISTED} notifications of a repository, and what became of them",
            tags=["notifications"],
            responses=described(200, "Notifications", NotificationList, 404),
        )
        def notifications(repository: Annotated[RepositoryName, Query()]) -> NotificationList:
            return self._found(app)[0]

    def _found(self, app: APIGatewayHttpResolver) -> tuple[NotificationList, bool]:
        """Return the newest notifications, and whether anybody is notified."""
        repository = app.context["access"].repository
        found = self._ports.notifications.deliveries(repository, LISTED)
        subscribed = self._ports.notifications.subscriptions(repository).listed
        named = sorted({name for each in subscribed for name in each.destinations})
        problems = (self._ports.declared_destinations.problem(name, repository) for name in named)
        listed = NotificationList(
            repository=repository,
            notifications=[notification(each) for each in found],
            problems=[each for each in problems if each],
        )
        return listed, bool(subscribed)

    def _page(self, app: APIGatewayHttpResolver) -> Response[str]:
        shown, subscribed = self._found(app)
        has_slack = bool(self._ports.slack_apps.names())
        return self._rendering.show(app, "notifications.html", shown=shown, subscribed=subscribed, has_slack=has_slack)
