"""Clusters: the list of a repository's, and a page for each with its workflow, and the forms of operators."""

from __future__ import annotations

from datetime import timedelta
from typing import Any

from aws_lambda_powertools.event_handler import APIGatewayHttpResolver, Response

from tidegate.clusters.get_cluster import ClusterView, get_cluster, get_clusters
from tidegate.clusters.operate import release_cluster
from tidegate.clusters.rules.audit import ClusterOperation, OperatedCluster
from tidegate.clusters.rules.overview import ClusterState, PartState
from tidegate.ports import Ports
from tidegate.requests.resume_cluster import resume_cluster
from tidegate.roots.rules.root import queue_id
from tidegate.rules.decision import Decision
from tidegate.texts.durations import duration
from tidegate.web.authorization import Access, Authorization, access_of
from tidegate.web.nested import in_path
from tidegate.web.notices import cluster_notice
from tidegate.web.refusals import InvalidRequest, ensure_done
from tidegate.web.rendering import Rendering, see_other
from tidegate.web.shapes import Shapes
from tidegate.web.workflow_picture import PARTS, workflow_picture

#: How a cluster's state reads, and its colour.
CLUSTER_STATES: dict[ClusterState, tuple[str, str]] = {
    ClusterState.READY: ("Ready", "good"),
    ClusterState.WORKING: ("Workflow running", "busy"),
    ClusterState.RELEASING: ("Being released", "busy"),
    ClusterState.FAILED: ("Failed", "bad"),
    ClusterState.INCOMPLETE: ("Incomplete", "attention"),
    ClusterState.ABSENT: ("Deleted", "quiet"),
}
#: States in which a page changes by itself.
_MOVING = frozenset({ClusterState.WORKING, ClusterState.RELEASING})


class ClusterPages:
    """Adds the routes of clusters to a resolver."""

    def __init__(self, ports: Ports, authorization: Authorization, shapes: Shapes, rendering: Rendering) -> None:
        self._ports, self._authorization = ports, authorization
        self._shapes, self._rendering = shapes, rendering

    def add_to(self, app: APIGatewayHttpResolver) -> None:
        """Register the routes."""
        hidden: dict[str, Any] = {"include_in_schema": False, "enable_validation": False}
        one = "/clusters/<owner>/<name>/<cluster>"
        app.get("/clusters/<owner>/<name>", **hidden)(lambda **_: self._list(app))
        app.get(one, **hidden)(lambda **_: self._page(app))
        app.post(f"{one}/resume", **hidden)(lambda **_: self._resume(app))
        app.post(f"{one}/release", **hidden)(lambda **_: self._release(app))

    def _notice(self, view: ClusterView, done: str) -> str:
        """Return what became of an action on a cluster; its queue is read only after a resume."""
        if done != "resume":
            return cluster_notice(view, done, is_queued=False)
        head, _ = self._ports.queues.read(queue_id(view.record.repository, view.record.name))
        return cluster_notice(view, done, is_queued=bool(head.in_flight or head.length))

    def _list(self, app: APIGatewayHttpResolver) -> Response[str]:
        repository = access_of(app).repository
        return self._rendering.show(
            app,
            "clusters.html",
            repository=repository,
            clusters=get_clusters(self._ports, repository),
            cluster_state=CLUSTER_STATES,
        )

    def _page(self, app: APIGatewayHttpResolver) -> Response[str]:
        access, name = access_of(app), app.context["fields"]["cluster"]
        view = get_cluster(self._ports, access.repository, name)
        return self._rendering.show(
            app,
            "cluster.html",
            notice=self._notice(view, app.context["fields"].get("done", "")),
            repository=access.repository,
            view=view,
            run=view.record.run,
            moving=view.state in _MOVING,
            cluster_state=CLUSTER_STATES,
            part_state=PARTS,
            picture=workflow_picture(view.workflow) if view.workflow else None,
            took=lambda part: _took(part.took(self._ports.clock.now())),
            failed=PartState.FAILED,
            resume=self._offer(access, view, ClusterOperation.RESUME, view.resume),
            release=self._offer(access, view, ClusterOperation.RELEASE, view.release),
        )

    def _offer(self, access: Access, view: ClusterView, operation: ClusterOperation, possible: Decision) -> Decision:
        """Return whether to offer something: only what is possible, to whom may do it."""
        if not possible.done:
            return Decision(False, "")
        cluster = OperatedCluster(access.repository, view.record.name, operation)
        return self._authorization.shown(operation.action, access.login, access.repository, cluster)

    def _resume(self, app: APIGatewayHttpResolver) -> Response[str]:
        access, name = access_of(app), app.context["fields"]["cluster"]
        ensure_done(resume_cluster(self._ports, access.repository, name, access.login))
        return _to_page(access.repository, name, "resume")

    def _release(self, app: APIGatewayHttpResolver) -> Response[str]:
        access, fields = access_of(app), app.context["fields"]
        reason = fields.get("reason", "").strip()
        if not reason or fields.get("confirm") != "yes":
            raise InvalidRequest("Say why, and confirm that the workflow is given up.")
        ensure_done(release_cluster(self._ports, access.repository, fields["cluster"], access.login, reason))
        return _to_page(access.repository, fields["cluster"], "release")


def _took(took: timedelta | None) -> str:
    return "" if took is None else duration(took)


def _to_page(repository: str, name: str, done: str) -> Response[str]:
    return see_other(f"/clusters/{in_path(repository)}/{name}?done={done}")
