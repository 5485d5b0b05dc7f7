"""The pages over all repositories that somebody may read: the inbox, searches, and what the bar at the top leads to."""

from __future__ import annotations

from typing import Any

from aws_lambda_powertools.event_handler import APIGatewayHttpResolver, Response

from tidegate.clusters.get_cluster import ClusterView, get_clusters
from tidegate.deploys.rules.deployment import Deployment
from tidegate.gates.get_change import replaced_by
from tidegate.ports import Ports
from tidegate.web.authorization import Authorization
from tidegate.web.cluster_pages import CLUSTER_STATES
from tidegate.web.inbox import deciding_action, get_inbox
from tidegate.web.readable import Readable, newest, readable
from tidegate.web.rendering import Rendering
from tidegate.web.search import LONGEST_SEARCH, search

#: Repositories, those pushed to last, whose newest deployments, clusters or environments are listed: each is a read.
LISTED_REPOSITORIES = 10
#: Deployments that are listed.
LISTED = 40


class InboxPages:
    """Adds the routes to a resolver."""

    def __init__(self, ports: Ports, authorization: Authorization, rendering: Rendering) -> None:
        self._ports, self._authorization, self._rendering = ports, authorization, rendering

    def add_to(self, app: APIGatewayHttpResolver) -> None:
        """Register the routes."""
        hidden: dict[str, Any] = {"include_in_schema": False, "enable_validation": False}
        app.get("/", **hidden)(lambda: self._inbox(app))
        app.get("/search", **hidden)(lambda: self._search(app))
        app.get("/deployments", **hidden)(lambda: self._deployments(app))
        app.get("/clusters", **hidden)(lambda: self._clusters(app))
        app.get("/environments", **hidden)(lambda: self._environments(app))

    def _inbox(self, app: APIGatewayHttpResolver) -> Response[str]:
        allowed, login = self._readable(app), app.context["access"].login

        def decides(deployment: Deployment) -> bool:
            action = deciding_action(deployment)
            return self._authorization.shown(action, login, deployment.repository, deployment).done

        inbox = get_inbox(self._ports, allowed.repositories, decides, login)
        now = self._ports.clock.now()
        return self._rendering.show(app, "inbox.html", inbox=inbox, now=now, allowed=allowed)

    def _search(self, app: APIGatewayHttpResolver) -> Response[str]:
        text = app.context["fields"].get("q", "").strip()[:LONGEST_SEARCH]
        allowed = self._readable(app)
        found = search(self._ports, allowed.repositories, text)
        return self._rendering.show(app, "search.html", text=text, found=found, allowed=allowed)

    def _deployments(self, app: APIGatewayHttpResolver) -> Response[str]:
        allowed, index = self._readable(app), self._ports.repository_index
        shown = newest(allowed.repositories, LISTED_REPOSITORIES)
        every = [one for each in shown for one in index.of_repository(each.name, LISTED).deployments]
        every = sorted(every, key=lambda one: (one.request.at, one.id), reverse=True)[:LISTED]
        return self._rendering.show(
            app,
            "all_deployments.html",
            deployments=every,
            replaced=replaced_by(self._ports, every),
            allowed=allowed,
            left_out=len(allowed.repositories) - len(shown),
            now=self._ports.clock.now(),
        )

    def _clusters(self, app: APIGatewayHttpResolver) -> Response[str]:
        """Show the clusters of repositories that declare some, or that were not pushed to since names are kept."""
        allowed = self._readable(app)
        known = {each.repository: each for each in self._ports.repository_index.names()}
        asked = [each for each in allowed.repositories if each.name not in known or known[each.name].clusters]
        shown = newest(asked, LISTED_REPOSITORIES)
        found: list[tuple[str, list[ClusterView]]] = []
        for each in shown:
            clusters = list(get_clusters(self._ports, each.name))
            if clusters:
                found.append((each.name, clusters))
        return self._rendering.show(
            app,
            "all_clusters.html",
            found=found,
            cluster_state=CLUSTER_STATES,
            allowed=allowed,
            left_out=len(asked) - len(shown),
        )

    def _environments(self, app: APIGatewayHttpResolver) -> Response[str]:
        allowed = self._readable(app)
        names = {each.name for each in allowed.repositories}
        configured = sorted(name for name in self._ports.config_updates.repositories() if name in names)
        shown = configured[:LISTED_REPOSITORIES]
        return self._rendering.show(
            app,
            "environments.html",
            found=[(name, self._ports.config_updates.environments(name)) for name in shown],
            allowed=allowed,
            left_out=configured[LISTED_REPOSITORIES:],
        )

    def _readable(self, app: APIGatewayHttpResolver) -> Readable:
        return readable(self._ports.repository_index, self._authorization, app.context["access"].login)
