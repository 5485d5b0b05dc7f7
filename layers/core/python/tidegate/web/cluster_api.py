"""The HTTP API's routes of clusters: what each is, how far its workflow is, resume and release."""

# ruff: noqa: ARG001  # Arguments are the routes' fields, validated here and used by the authorization.

from __future__ import annotations

from typing import Annotated, Any

from aws_lambda_powertools.event_handler import APIGatewayHttpResolver
from aws_lambda_powertools.event_handler.openapi.params import Body, Path

from tidegate.clusters.get_cluster import get_cluster, get_clusters
from tidegate.clusters.operate import release_cluster
from tidegate.ports import Ports
from tidegate.requests.resume_cluster import resume_cluster
from tidegate.rules.decision import Decision
from tidegate.web.api import NameInPath, OwnerInPath, described
from tidegate.web.authorization import access_of
from tidegate.web.cluster_models import (
    ClusterDetails,
    ClusterDone,
    ClusterList,
    ReleaseGiven,
    cluster_details,
    cluster_list,
)
from tidegate.web.refusals import ensure_done
from tidegate.web.shapes import Shapes
from tidegate.web.update_models import NothingGiven

_CLUSTERS = "/api/v1/clusters/<owner>/<name>"
_CLUSTER = f"{_CLUSTERS}/<cluster>"
_Name = Annotated[str, Path(pattern=r"^[a-z0-9]([a-z0-9-]{0,61}[a-z0-9])?$")]
_TAGS = ["clusters"]


class ClusterApi:
    """Adds the routes to a resolver."""

    def __init__(self, ports: Ports, shapes: Shapes) -> None:
        self._ports, self._shapes = ports, shapes

    def add_to(self, app: APIGatewayHttpResolver) -> None:
        """Register the routes."""
        ports, shapes = self._ports, self._shapes

        @app.get(
            _CLUSTERS,
            summary="The clusters of a repository that a workflow has ever worked on",
            tags=_TAGS,
            responses=described(200, "The clusters", ClusterList, 404),
        )
        def clusters(owner: OwnerInPath, name: NameInPath) -> ClusterList:
            repository = access_of(app).repository
            return cluster_list(repository, get_clusters(ports, repository), shapes)

        @app.get(
            _CLUSTER,
            summary="A cluster: its versions, who works on it, and each task and hook of its workflow",
            tags=_TAGS,
            responses=described(200, "The cluster", ClusterDetails, 404),
        )
        def one(owner: OwnerInPath, name: NameInPath, cluster: _Name) -> ClusterDetails:
            return cluster_details(get_cluster(ports, access_of(app).repository, cluster), shapes)

        @app.post(f"{_CLUSTER}/resume", summary="Resume a failed workflow, by a new deployment", **_acting())
        def resume(
            owner: OwnerInPath, name: NameInPath, cluster: _Name, given: Annotated[NothingGiven, Body()]
        ) -> ClusterDone:
            access = access_of(app)
            return _done(resume_cluster(ports, access.repository, cluster, access.login))

        @app.post(f"{_CLUSTER}/release", summary="Give back what a failed workflow holds, to start over", **_acting())
        def release(
            owner: OwnerInPath, name: NameInPath, cluster: _Name, given: Annotated[ReleaseGiven, Body()]
        ) -> ClusterDone:
            access = access_of(app)
            return _done(release_cluster(ports, access.repository, cluster, access.login, given.reason.strip()))


def _acting() -> dict[str, Any]:
    return {"tags": _TAGS, "responses": described(200, "The result", ClusterDone, 403, 404, 409)}


def _done(decision: Decision) -> ClusterDone:
    ensure_done(decision)
    return ClusterDone(message=decision.reason)
