"""The HTTP API's routes: JSON for programs. Each is called only after authorization."""

# ruff: noqa: A002, ARG001  # Arguments are the routes' fields, validated here and used by the authorization.

from __future__ import annotations

import json
from typing import Annotated, Any

from aws_lambda_powertools.event_handler import APIGatewayHttpResolver
from aws_lambda_powertools.event_handler.openapi.params import Body, Path, Query

from tidegate.check_runs.get_deployment import describe_deployment
from tidegate.deploys.cancel_deployment import cancel_deployment
from tidegate.deploys.queue.get_queue import get_queue, search_queues
from tidegate.deploys.queue.lock import lock_queue
from tidegate.deploys.queue.unlock import unlock_queue
from tidegate.deploys.read_log import read_log
from tidegate.deploys.reviews.decide_review import decide_review
from tidegate.deploys.rules.gate import GateAnswer
from tidegate.deploys.rules.locking import asked_lock
from tidegate.deploys.rules.outcome import Unlocking
from tidegate.deploys.rules.query import parse_deployment_query
from tidegate.deploys.rules.review import Answer
from tidegate.deploys.rules.root_query_of_deployments import parse_root_query
from tidegate.deploys.rules.summary import summary_of
from tidegate.deploys.search_deployments import SEARCHED, search_all_deployments, search_deployments
from tidegate.gates.decide_gate import decide_gate
from tidegate.gates.get_change import awaited_by, get_change, replacement_of
from tidegate.gates.stop_wave import continue_wave, stop_wave
from tidegate.ports import Ports
from tidegate.requests.request_deployments import request_deployments
from tidegate.requests.request_rerun import request_rerun
from tidegate.roots.rules.root import MAXIMUM_REPOSITORY, queue_id
from tidegate.rules.errors import NotFound
from tidegate.web import models, request_models
from tidegate.web.answer_size import fitting
from tidegate.web.authorization import Authorization, access_of
from tidegate.web.change_models import ChangeModel
from tidegate.web.parts import unknown_root
from tidegate.web.readable import newest, readable
from tidegate.web.refusals import ensure_done
from tidegate.web.request_models import LAST_PART, MAXIMUM_OWNER, OWNER, REPOSITORY, RootName
from tidegate.web.shapes import Shapes

#: Deployments of one page, by default and at most: a page stays one read.
PAGE, LONGEST_PAGE = 25, 100
#: Repositories that one request searches, those pushed to last: each costs a read.
SEARCHED_REPOSITORIES = 10

_QUERY = (
    f"A tag query (docs/web.md): `stack_name:prod and state:waiting`. One request searches the newest {SEARCHED} "
    "deployments before `after`; continue with `next`"
)
_ROOTS_QUERY = "A tag query (docs/web.md): `stack_name:prod and not team:sre`. By default, all roots"
_Id = Annotated[str, Path(pattern=r"^[A-Za-z0-9-]{1,100}$")]
_Repository = Annotated[
    str, Query(pattern=REPOSITORY, max_length=MAXIMUM_REPOSITORY, description="owner/name, or group/subgroup/name")
]
_Root = Annotated[str, Query(pattern=r"^[A-Za-z0-9_][A-Za-z0-9._-]*(/[A-Za-z0-9_][A-Za-z0-9._-]*)*$", max_length=100)]
OwnerInPath = Annotated[
    str, Path(pattern=OWNER, max_length=MAXIMUM_OWNER, description="The owner; groups in groups with colons between")
]
NameInPath = Annotated[str, Path(pattern=LAST_PART)]


def _refusals(*statuses: int) -> dict[int, Any]:
    words = {
        400: "Malformed request",
        401: "Missing or invalid token",
        403: "You have read permission, but may not do this",
        404: "Not found, or you may not see it",
        409: "Not possible in the current state",
        413: "The body is larger than 256 KiB",
        422: "A field is invalid",
        429: "Too many requests; try again in a second",
        503: "The VCS provider or AWS did not answer; try again after Retry-After seconds",
    }
    content = {"application/json": {"model": models.Refused}}
    return {status: {"description": words[status], "content": content} for status in statuses}


def described(success: int, what: str, model: type, *refused: int) -> dict[int, Any]:
    """Return what a route answers, for the description: ``model``, and the refusals of all routes and its own."""
    content = {"application/json": {"model": model}}
    return {success: {"description": what, "content": content}, **_refusals(400, 401, 422, 429, 503, *refused)}


class Api:
    """Adds the routes to a resolver."""

    def __init__(self, ports: Ports, authorization: Authorization, shapes: Shapes) -> None:
        self._ports, self._authorization, self._shapes = ports, authorization, shapes

    def add_to(self, app: APIGatewayHttpResolver) -> None:
        """Register all routes."""
        self._people(app)
        self._queues(app)
        self._deployments(app)
        self._reviews(app)
        self._requests(app)
        self._changes(app)
        self._jobs(app)

    def _people(self, app: APIGatewayHttpResolver) -> None:
        ports, shapes = self._ports, self._shapes

        @app.get("/api/v1/me", summary="Who you are", tags=["people"], responses=described(200, "You", models.Me))
        def me() -> models.Me:
            return models.Me(login=access_of(app).login)

        @app.get(
            "/api/v1/repositories",
            summary="The repositories that you may read",
            tags=["repositories"],
            responses=described(200, "The repositories", models.Repositories),
        )
        def repositories() -> models.Repositories:
            found = readable(ports.repository_index, self._authorization, access_of(app).login)
            listed = [shapes.repository(known) for known in found.repositories]
            return models.Repositories(repositories=listed, unchecked=found.unchecked)

    def _queues(self, app: APIGatewayHttpResolver) -> None:
        ports, shapes = self._ports, self._shapes

        @app.get(
            "/api/v1/repositories/<owner>/<name>/roots",
            summary="The roots of a repository with their deployed, running and waiting deployments; `query` "
            "filters them",
            tags=["repositories"],
            responses=described(200, "The roots", models.Roots, 404),
        )
        def roots(
            owner: OwnerInPath,
            name: NameInPath,
            query: Annotated[str, Query(description=_ROOTS_QUERY)] = "",
            after: Annotated[str, Query(max_length=100, description="The `next` of the page before")] = "",
        ) -> models.Roots:
            repository = access_of(app).repository
            found = search_queues(ports, repository, parse_root_query(query), after)
            listed = [shapes.root(repository, view) for view in found.roots]
            locks = shapes.locks(found.locks)
            return models.Roots(repository=repository, roots=listed, next=found.next, locks=locks, hint=found.hint)

        @app.get(
            "/api/v1/queue",
            summary="A root's queue: its lock, the running deployment and the waiting ones",
            tags=["queues"],
            responses=described(200, "The queue", models.QueueModel, 404),
        )
        def queue(repository: _Repository, root: _Root) -> models.QueueModel:
            name = access_of(app).repository
            view = get_queue(ports, queue_id(name, root))
            if not view.head.version:
                raise unknown_root(ports, name, root)
            return shapes.queue(name, root, view)

        @app.post(
            "/api/v1/queue/lock",
            summary="Lock a queue: merges wait until somebody unlocks it",
            tags=["queues"],
            responses=described(200, "The lock", models.Locked, 403, 404, 409),
        )
        def lock(asked: Annotated[request_models.LockRequest, Body()]) -> models.Locked:
            access = access_of(app)
            name = queue_id(access.repository, asked.root)
            locking = asked_lock(access.login, ports.clock.now(), asked.reason, asked.duration)
            decision = lock_queue(ports, name, locking)
            ensure_done(decision)
            return models.Locked(message=decision.reason)

        @app.post(
            "/api/v1/queue/unlock",
            summary="Unlock a queue",
            tags=["queues"],
            responses=described(200, "The result", models.Unlocked, 403, 404, 409),
        )
        def unlock(asked: Annotated[request_models.QueueName, Body()]) -> models.Unlocked:
            access = access_of(app)
            name = queue_id(access.repository, asked.root)
            decision = unlock_queue(ports, name, Unlocking(access.login, ports.clock.now()))
            return models.Unlocked(unlocked=decision.done, message=decision.reason)

    def _deployments(self, app: APIGatewayHttpResolver) -> None:
        ports, shapes = self._ports, self._shapes

        @app.get(
            "/api/v1/deployments",
            summary=(
                "Deployments of a repository or a root, newest first; `query` filters them, also across all "
                "repositories"
            ),
            tags=["deployments"],
            responses=described(200, "Deployments", models.DeploymentsPage, 404),
        )
        def deployments(
            repository: _Repository | None = None,
            root: Annotated[RootName | None, Query()] = None,
            limit: Annotated[int, Query(ge=1, le=LONGEST_PAGE)] = PAGE,
            after: Annotated[str | None, Query(max_length=400)] = None,
            query: Annotated[str | None, Query(description=_QUERY)] = None,
        ) -> models.DeploymentsPage:
            name = access_of(app).repository
            if not name:
                return self._everywhere(access_of(app).login, query, limit, after)
            if query:
                asked = parse_deployment_query(query)
                return shapes.found(search_deployments(ports, name, asked, limit, root=root, after=after))
            if root is None:
                return shapes.history(ports.repository_index.of_repository(name, limit, after))
            return shapes.history(ports.repository_index.of_queue(queue_id(name, root), limit, after))

        @app.get(
            "/api/v1/deployments/<id>",
            summary="Everything about a deployment",
            tags=["deployments"],
            responses=described(200, "The deployment", models.DeploymentDetails, 404),
        )
        def deployment(id: _Id) -> models.DeploymentDetails:
            one = access_of(app).deployment_read
            return shapes.details(describe_deployment(ports, one), awaited_by(ports, one), replacement_of(ports, one))

    def _reviews(self, app: APIGatewayHttpResolver) -> None:
        ports, shapes = self._ports, self._shapes

        @app.post(
            "/api/v1/deployments/<id>/review",
            summary="Approve or reject a plan that waits for review",
            tags=["deployments"],
            responses=described(200, "The result", models.Decided, 403, 404, 409),
        )
        def review(id: _Id, answer: Annotated[request_models.ReviewAnswer, Body()]) -> models.Decided:
            by, at = access_of(app).login, ports.clock.now()
            decision = decide_review(
                ports,
                id,
                Answer(answer.decision),
                by,
                at,
                answer.plan_digest,
                reason=answer.reason,
                destroys=answer.destroys,
            )
            ensure_done(decision)
            return models.Decided(message=decision.reason, deployment=shapes.brief(ports.deployments.get(id)))

        @app.post(
            "/api/v1/deployments/<id>/cancel",
            summary="Cancel a deployment that waits or plans, or interrupt its apply if you say so",
            tags=["deployments"],
            responses=described(200, "The result", models.Decided, 403, 404, 409),
        )
        def cancel(id: _Id, asked: Annotated[request_models.CancelRequest, Body()]) -> models.Decided:
            decision = cancel_deployment(ports, id, access_of(app).login, ports.clock.now(), is_apply=asked.apply)
            ensure_done(decision)
            return models.Decided(message=decision.reason, deployment=shapes.brief(ports.deployments.get(id)))

    def _everywhere(self, login: str, query: str | None, limit: int, after: str | None) -> models.DeploymentsPage:
        """Search the repositories that somebody may read, those that something happened in last."""
        asked, ports = parse_deployment_query(query or ""), self._ports
        allowed = readable(ports.repository_index, self._authorization, login)
        last = summary_of(ports.deployments.get(after)) if after else None
        if last is not None and last.repository not in {known.name for known in allowed.repositories}:
            raise NotFound("deployment", last.id)  # As if it did not exist, for who may not read it.
        searched = newest(allowed.repositories, SEARCHED_REPOSITORIES)
        found = search_all_deployments(ports, [known.name for known in searched], asked, limit, last)
        left = allowed.unchecked + len(allowed.repositories) - len(searched)
        return self._shapes.found(found, left)

    def _requests(self, app: APIGatewayHttpResolver) -> None:
        ports, shapes = self._ports, self._shapes

        @app.post(
            "/api/v1/deployments",
            summary="Deploy the default branch's head to roots, or destroy their resources (operators only)",
            tags=["deployments"],
            status_code=202,
            responses=described(202, "The stored request", models.Accepted, 403, 404, 409),
        )
        def request(asked: Annotated[request_models.DeployRequest, Body()]) -> models.Accepted:
            access = access_of(app)
            wish = asked.model_dump(include={"force", "destroy", "directories", "query"})
            made = request_deployments(ports, access.repository, asked.roots, access.login, **wish)
            return models.Accepted(request=made)

        @app.post(
            "/api/v1/deployments/<id>/rerun",
            summary="Run a deployment that failed again",
            tags=["deployments"],
            status_code=202,
            responses=described(202, "The stored request", models.Accepted, 403, 404),
        )
        def rerun(id: _Id) -> models.Accepted:
            return models.Accepted(request=request_rerun(ports, id, access_of(app).login))

        @app.get(
            "/api/v1/requests/<id>",
            summary="The result of a request for deployments",
            tags=["deployments"],
            responses=described(200, "The request", models.RequestOutcome, 404),
        )
        def outcome(id: _Id) -> models.RequestOutcome:
            found = ports.deliveries.outcome(id)
            if found is None:
                return models.RequestOutcome(request=id, outcome=None, deployments=[])
            known = ports.deployments.many(found.deployments)
            listed = [known[one] for one in found.deployments if one in known]
            return models.RequestOutcome(request=id, outcome=found.text, deployments=shapes.briefs(listed))

    def _changes(self, app: APIGatewayHttpResolver) -> None:
        ports, shapes = self._ports, self._shapes

        @app.get(
            "/api/v1/changes/<id>",
            summary="A change: its stacks, their progress, and what each deployment waits for",
            tags=["changes"],
            responses=described(200, "The change", ChangeModel, 404),
        )
        def change(id: _Id) -> ChangeModel:
            return shapes.change(access_of(app).change_read)

        @app.post(
            "/api/v1/changes/<id>/stop",
            summary="Stop a stack of a change: reject what has not begun its apply",
            tags=["changes"],
            responses=described(200, "The result", ChangeModel, 404, 409),
        )
        def stop(id: _Id, asked: Annotated[request_models.WaveStop, Body()]) -> ChangeModel:
            access = access_of(app)
            ensure_done(stop_wave(ports, id, asked.stack, access.login, ports.clock.now(), access.permission))
            return shapes.change(get_change(ports, id))

        @app.post(
            "/api/v1/changes/<id>/continue",
            summary="Let a stack of a change continue in spite of its failures (operators)",
            tags=["changes"],
            responses=described(200, "The result", ChangeModel, 403, 404, 409),
        )
        def go_on(id: _Id, asked: Annotated[request_models.WaveContinuation, Body()]) -> ChangeModel:
            by, at = access_of(app).login, ports.clock.now()
            ensure_done(continue_wave(ports, id, asked.stack, by, at, asked.reason))
            return shapes.change(get_change(ports, id))

        @app.post(
            "/api/v1/deployments/<id>/gate",
            summary=(
                "Answer a deployment that waits: retry failed dependencies, approve it, override its requirements, "
                "or reject it"
            ),
            tags=["changes"],
            responses=described(200, "The result", models.Decided, 403, 404, 409),
        )
        def gate(id: _Id, answer: Annotated[request_models.GateAnswer, Body()]) -> models.Decided:
            by, at = access_of(app).login, ports.clock.now()
            decision = decide_gate(ports, id, GateAnswer(answer.decision), by, at, answer.reason)
            ensure_done(decision)
            return models.Decided(message=decision.reason, deployment=shapes.brief(ports.deployments.get(id)))

    def _jobs(self, app: APIGatewayHttpResolver) -> None:
        ports, shapes = self._ports, self._shapes

        @app.get(
            "/api/v1/jobs/<id>",
            summary="A job",
            tags=["jobs"],
            responses=described(200, "The job", models.JobModel, 404),
        )
        def job(id: _Id) -> models.JobModel:
            subject = access_of(app).job_subject
            return shapes.job(id, subject, read_log(ports, subject, id, 0))

        @app.get(
            "/api/v1/jobs/<id>/log",
            summary="Lines of a job's log after line number `after`",
            tags=["jobs"],
            responses=described(200, "Lines", models.LogLines, 404),
        )
        def log(id: _Id, after: Annotated[int, Query(ge=0, le=10**9)] = 0) -> models.LogLines:
            page = read_log(ports, access_of(app).job_subject, id, after)
            return fitting(page, shapes.log_lines, lambda lines: json.dumps(lines.model_dump()))
