"""A client of Tidegate's HTTP API: one method for each route, answers by attributes, refusals as problems."""

from __future__ import annotations

import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from typing import TYPE_CHECKING, Any, Self, cast
from urllib.parse import quote

import httpx

from tidegate_cli import refusals
from tidegate_cli.answer import CHECK_INSTALLATION, Answer, as_json
from tidegate_cli.connection import Connection, is_loopback
from tidegate_cli.problems import Unavailable

if TYPE_CHECKING:
    from tidegate.web.change_models import ChangeModel
    from tidegate.web.cluster_models import ClusterDetails, ClusterDone, ClusterList
    from tidegate.web.drift_models import DriftList, Looking
    from tidegate.web.insight_models import InsightsModel
    from tidegate.web.models import (
        Accepted,
        Decided,
        DeploymentBrief,
        DeploymentDetails,
        DeploymentsPage,
        JobModel,
        Locked,
        LogLines,
        Me,
        QueueModel,
        Repositories,
        RepositoryModel,
        RequestOutcome,
        RootModel,
        Roots,
        Unlocked,
    )
    from tidegate.web.notification_models import NotificationList
    from tidegate.web.pull_request_models import PullRequestDetails, PullRequestsList
    from tidegate.web.update_models import (
        AnnouncedModel,
        ImageSetsModel,
        TargetToken,
        UpdateDone,
        UpdateEntryModel,
        UpdatesQueueModel,
    )

_API = "/api/v1"
#: A repeated request of these has no other effect: what is announced has its own URL.
_IDEMPOTENT = frozenset({"GET", "PUT"})
#: A Lambda function behind API Gateway answers within 30 s, or never.
_ANSWER_SECONDS = 35.0
_CONNECT_SECONDS = 5.0
#: Pauses between retries; together they outlast a cold start and short throttling.
PAUSES = (0.5, 1.0, 2.0, 4.0, 8.0)
#: The longest Retry-After that is obeyed; beyond, the person is told.
_LONGEST_PAUSE = 30.0

Waiting = Callable[[str, float], None]
"""Receives why a request waits, and for how many seconds; it does the waiting."""


class ApiClient:
    """Calls the API at ``connection``. All methods raise the problems of tidegate_cli.problems.

    Reads are retried if the server is busy; actions only if the server says that it did nothing.
    """

    def __init__(self, connection: Connection, waiting: Waiting | None = None) -> None:
        self._connection = connection
        self._waiting = waiting if waiting is not None else _sleep
        self._http = httpx.Client(
            base_url=f"{connection.url}{_API}",
            headers={"Authorization": f"Bearer {connection.token}", "Accept": "application/json"},
            timeout=httpx.Timeout(_ANSWER_SECONDS, connect=_CONNECT_SECONDS),
            follow_redirects=False,
            trust_env=not is_loopback(connection.url),  # No proxy stands between this machine and itself.
        )

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self._http.close()

    @property
    def url(self) -> str:
        """The address of the installation."""
        return self._connection.url

    def me(self) -> Me:
        """Return the token's owner."""
        return cast("Me", self._get("/me"))

    def repositories(self) -> list[RepositoryModel]:
        """Return the repositories that we may read."""
        return cast("Repositories", self._get("/repositories")).repositories

    def roots(self, repository: str) -> list[RootModel]:
        """Return the roots of a repository with their queues' states."""
        return self.search_roots(repository, "").roots

    def search_roots(self, repository: str, query: str) -> Roots:
        """Return the roots of a repository that match a tag query, all if it is empty."""
        return cast("Roots", self._whole(f"/repositories/{_path(repository, '/')}/roots", "roots", query=query))

    def pulls(self, repository: str | None, query: str = "") -> PullRequestsList:
        """Return open pull requests that match, newest first: of a repository, or of all that we may read."""
        return cast(
            "PullRequestsList", self._whole("/pulls", "pull_requests", repository=repository or "", query=query)
        )

    def pull(self, repository: str, number: int) -> PullRequestDetails:
        """Return a pull request with its layers."""
        return cast("PullRequestDetails", self._get(f"/pulls/{_path(repository, '/')}/{number}"))

    def drift(self, repository: str | None) -> DriftList:
        """Return results of drift schedules: of a repository, or of all that we may read."""
        return cast("DriftList", self._whole("/drift", "schedules", repository=repository or ""))

    def notifications(self, repository: str) -> NotificationList:
        """Return the newest notifications of a repository."""
        return cast("NotificationList", self._get("/notifications", {"repository": repository}))

    def insights(self, repository: str | None, span: str) -> InsightsModel:
        """Return figures of deployments: of a repository, or of all that we may read."""
        asked = {"span": span, **({"repository": repository} if repository else {})}
        return cast("InsightsModel", self._get("/insights", asked))

    def detect_drift(self, repository: str, schedule: str) -> str:
        """Start a schedule's drift detection now; return a message about it."""
        asked = {"repository": repository, "schedule": schedule}
        return cast("Looking", self._post("/drift/look", asked)).message

    def queue(self, repository: str, root: str) -> QueueModel:
        """Return a root's queue."""
        return cast("QueueModel", self._get("/queue", {"repository": repository, "root": root}))

    def lock(self, repository: str, root: str, reason: str, duration: str = "") -> Locked:
        """Lock a root's queue."""
        asked = {"repository": repository, "root": root, "reason": reason}
        return cast("Locked", self._post("/queue/lock", asked | ({"duration": duration} if duration else {})))

    def lock_many(self, repository: str, stack: str, reason: str, duration: str) -> Locked:
        """Lock all roots of a stack, or of the repository if that is empty."""
        asked = {"repository": repository, "stack": stack, "reason": reason, "duration": duration}
        return cast("Locked", self._post("/locks", asked))

    def unlock_many(self, repository: str, stack: str) -> Unlocked:
        """Unlock a stack, or the repository if that is empty."""
        return cast("Unlocked", self._post("/locks/remove", {"repository": repository, "stack": stack}))

    def unlock(self, repository: str, root: str) -> Unlocked:
        """Unlock a root's queue."""
        return cast("Unlocked", self._post("/queue/unlock", {"repository": repository, "root": root}))

    def deployments(self, repository: str, root: str | None = None, limit: int = 20) -> list[DeploymentBrief]:
        """Return deployments, newest first."""
        query = {"repository": repository, "limit": str(limit)} | ({"root": root} if root else {})
        return cast("DeploymentsPage", self._get("/deployments", query)).deployments

    def search_deployments(self, repository: str | None, root: str | None, query: str, limit: int) -> DeploymentsPage:
        """Return the newest deployments that match: of a root, a repository, or all repositories that we may read."""
        given = {"repository": repository, "root": root, "query": query, "limit": str(limit)}
        return cast("DeploymentsPage", self._get("/deployments", {name: one for name, one in given.items() if one}))

    def deployment(self, deployment: str) -> DeploymentDetails:
        """Return one deployment."""
        return cast("DeploymentDetails", self._get(f"/deployments/{_path(deployment)}"))

    def change(self, change: str) -> ChangeModel:
        """Return one change."""
        return cast("ChangeModel", self._get(f"/changes/{_path(change)}"))

    def stop_stack(self, change: str, stack: str) -> ChangeModel:
        """Stop a stack of a change."""
        return cast("ChangeModel", self._post(f"/changes/{_path(change)}/stop", {"stack": stack}))

    def continue_stack(self, change: str, stack: str, reason: str) -> ChangeModel:
        """Let a stack of a change continue in spite of its failures."""
        asked = {"stack": stack, "reason": reason}
        return cast("ChangeModel", self._post(f"/changes/{_path(change)}/continue", asked))

    def deploy(self, repository: str, roots: Sequence[str], **how: Any) -> str:
        """Request a deploy of the default branch's head to these roots; return the request's id.

        ``how`` may have ``force``, ``directories`` and a tag ``query`` that also select roots, or ``destroy`` to
        destroy their resources.
        """
        more = {"roots": list(roots), **how}
        asked = {"repository": repository, **{word: value for word, value in more.items() if value}}
        return cast("Accepted", self._post("/deployments", asked)).request

    def rerun(self, deployment: str) -> str:
        """Request that a deployment runs again; return the request's id."""
        return cast("Accepted", self._post(f"/deployments/{_path(deployment)}/rerun", {})).request

    def request(self, request: str) -> RequestOutcome:
        """Return the result of a request."""
        return cast("RequestOutcome", self._get(f"/requests/{_path(request)}"))

    def review(
        self, deployment: str, decision: str, plan_digest: str | None, reason: str = "", *, destroys: bool = False
    ) -> Decided:
        """Answer a plan review: ``approve``, which needs the plan's digest, or ``reject``.

        ``destroys`` confirms what the plan destroys in a protected stack.
        """
        given = {"plan_digest": plan_digest, "reason": reason, "destroys": destroys}
        answer = {"decision": decision, **{name: value for name, value in given.items() if value}}
        return cast("Decided", self._post(f"/deployments/{_path(deployment)}/review", answer))

    def gate(self, deployment: str, decision: str, reason: str = "") -> Decided:
        """Answer for a deployment that waits at a gate.

        ``retry`` what failed of others, ``approve`` it, ``override`` what it requires for a ``reason``, or ``reject``.
        """
        told = {"decision": decision, **({"reason": reason} if reason else {})}
        return cast("Decided", self._post(f"/deployments/{_path(deployment)}/gate", told))

    def cancel(self, deployment: str, *, is_apply: bool) -> Decided:
        """Cancel a deployment; ``is_apply`` interrupts its apply, too."""
        return cast("Decided", self._post(f"/deployments/{_path(deployment)}/cancel", {"apply": is_apply}))

    def updates_queue(self, repository: str) -> UpdatesQueueModel:
        """Return the queue of a config repository."""
        return cast("UpdatesQueueModel", self._get(f"{_updates(repository)}/queue"))

    def update_entry(self, repository: str, entry: str) -> UpdateEntryModel:
        """Return an entry of a config repository's queue."""
        return cast("UpdateEntryModel", self._get(f"{_updates(repository)}/entries/{_path(entry)}"))

    def image_sets(self, repository: str) -> ImageSetsModel:
        """Return the image sets of a config repository."""
        return cast("ImageSetsModel", self._get(f"{_updates(repository)}/sets"))

    def control_updates(self, repository: str, path: str, body: Mapping[str, Any]) -> UpdateDone:
        """Do what a path below a config repository says, such as ``queue/pause``; names in it are quoted."""
        return cast("UpdateDone", self._post(f"{_updates(repository)}/{path}", body))

    def target_token(self, repository: str, image_set: str, target: str) -> TargetToken:
        """Make a new token of a target."""
        path = f"sets/{_path(image_set)}/targets/{_path(target)}/token"
        return cast("TargetToken", self._post(f"{_updates(repository)}/{path}", {}))

    def announce(self, repository: str, image_set: str, sha: str, body: Mapping[str, Any]) -> AnnouncedModel:
        """Announce the images of a commit."""
        path = f"{_updates(repository)}/sets/{_path(image_set)}/images/{_path(sha)}"
        return cast("AnnouncedModel", self._ask("PUT", path, None, body))

    def clusters(self, repository: str) -> ClusterList:
        """Return the clusters of a repository."""
        return cast("ClusterList", self._get(_clusters(repository)))

    def cluster(self, repository: str, name: str) -> ClusterDetails:
        """Return a cluster, and its workflow."""
        return cast("ClusterDetails", self._get(f"{_clusters(repository)}/{_path(name)}"))

    def control_cluster(self, repository: str, name: str, what: str, body: Mapping[str, Any]) -> ClusterDone:
        """``resume`` a cluster's failed workflow, or ``release`` what it holds."""
        return cast("ClusterDone", self._post(f"{_clusters(repository)}/{_path(name)}/{what}", body))

    def job(self, job: str) -> JobModel:
        """Return one job."""
        return cast("JobModel", self._get(f"/jobs/{_path(job)}"))

    def log(self, job: str, after: int) -> LogLines:
        """Return lines of a job's log from position ``after`` on."""
        return cast("LogLines", self._get(f"/jobs/{_path(job)}/log", {"after": str(after)}))

    def _get(self, path: str, query: Mapping[str, str] | None = None) -> Answer:
        return self._ask("GET", path, query, None)

    def _whole(self, path: str, items: str, **given: str) -> Answer:
        """Return the last page of a list, with the items of all pages."""
        pages: list[Any] = [{"next": ""}]
        while (after := pages[-1].get("next")) is not None:
            query = {name: value for name, value in (*given.items(), ("after", after)) if value}
            pages.append(as_json(self._get(path, query or None)))
        return Answer({**pages[-1], items: [each for page in pages[1:] for each in page[items]]})

    def _post(self, path: str, body: Mapping[str, Any]) -> Answer:
        return self._ask("POST", path, None, body)

    def _ask(self, method: str, path: str, query: Mapping[str, str] | None, body: Any) -> Answer:
        pauses = iter(PAUSES)
        while True:
            response = self._send(method, path, query, body, pauses)
            if response.status_code not in refusals.BUSY or not _may_repeat(method, response):
                break
            pause = _pause(response, pauses)
            if pause is None:
                break
            self._waiting(f"{self.url} is busy ({response.status_code}).", pause)
        if not response.is_success:
            raise refusals.problem(self._connection, response)
        document = refusals.document(response)
        if not document:
            raise Unavailable(f"{self.url} returned no JSON object for {path}.", CHECK_INSTALLATION)
        return Answer(document)

    def _send(
        self, method: str, path: str, query: Mapping[str, str] | None, body: Any, pauses: Iterator[float]
    ) -> httpx.Response:
        while True:
            try:
                return self._http.request(method, path, params=query, json=body)
            except httpx.ConnectError as error:
                raise refusals.unreachable(self._connection) from error
            except httpx.HTTPError as error:
                pause = next(pauses, None) if method in _IDEMPOTENT else None
                if pause is None:
                    raise refusals.broken(self.url, method, error) from error
                self._waiting(f"{self.url} did not answer.", pause)


def _sleep(_why: str, seconds: float) -> None:
    time.sleep(seconds)


def _path(text: str, safe: str = "") -> str:
    return quote(text, safe=safe)


def _updates(repository: str) -> str:
    return f"/config-updates/{_path(repository, '/')}"


def _clusters(repository: str) -> str:
    return f"/clusters/{_path(repository, '/')}"


def _may_repeat(method: str, response: httpx.Response) -> bool:
    """Tell whether a retry cannot repeat an effect: API Gateway answers 503 also for a request in progress."""
    return method in _IDEMPOTENT or response.status_code == httpx.codes.TOO_MANY_REQUESTS or refusals.is_ours(response)


def _pause(response: httpx.Response, pauses: Iterator[float]) -> float | None:
    """Return the delay before a retry; None to tell the person instead."""
    pause = next(pauses, None)
    wanted = response.headers.get("Retry-After", "")
    if pause is None or not wanted.isascii() or not wanted.isdigit():
        return pause
    return float(wanted) if float(wanted) <= _LONGEST_PAUSE else None
