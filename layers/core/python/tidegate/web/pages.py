"""The pages: repositories, roots, queues, deployments. Rendered on the server, usable without scripts."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from contextlib import suppress
from datetime import datetime
from http import HTTPStatus
from typing import Any
from urllib.parse import quote

from aws_lambda_powertools.event_handler import APIGatewayHttpResolver, Response

from tidegate.check_runs.get_deployment import PlanText, describe_deployment
from tidegate.config.rules.drift import DriftFinding, DriftState
from tidegate.deploys.cancel_deployment import cancel_deployment
from tidegate.deploys.queue.get_queue import FoundRoots, get_queue, page_of_roots, search_queues
from tidegate.deploys.queue.unlock import unlock_queue
from tidegate.deploys.rules import requirements_gate
from tidegate.deploys.rules.cancelling import APPLY_WARNING
from tidegate.deploys.rules.deployment import Deployment
from tidegate.deploys.rules.gate import WAITING
from tidegate.deploys.rules.outcome import Unlocking
from tidegate.deploys.rules.phases import phases
from tidegate.deploys.rules.query import parse_deployment_query
from tidegate.deploys.rules.root_query_of_deployments import parse_root_query
from tidegate.deploys.rules.state import State, is_final
from tidegate.deploys.rules.summary import DeploymentSummary, summary_of
from tidegate.deploys.search_deployments import Found, search_deployments
from tidegate.deploys.texts.advice import advice_on
from tidegate.gates.get_change import awaited_by, replaced_by, replacement_of
from tidegate.ports import HistoryPage, Ports
from tidegate.requests.request_rerun import RERUN, request_rerun
from tidegate.roots.rules.query_words import InvalidTagQuery
from tidegate.roots.rules.root import queue_id, root_name
from tidegate.rules.errors import NotFound
from tidegate.rules.permission import Permission
from tidegate.web.authorization import Authorization, access_of
from tidegate.web.glance import glances
from tidegate.web.grouping import by_change, is_resting
from tidegate.web.inbox import get_open_work
from tidegate.web.live_log import live_log
from tidegate.web.notices import deployment_notice, lock_notice
from tidegate.web.offers import offers, unlocking
from tidegate.web.parts import unknown_root
from tidegate.web.plan_pages import plan_lines, shown_plan
from tidegate.web.plan_view import PlanView
from tidegate.web.readable import readable
from tidegate.web.refusals import ensure_done
from tidegate.web.rendering import Rendering, address, see_other
from tidegate.web.root_grid import root_grid
from tidegate.web.shapes import Shapes
from tidegate.web.static_files import static_file

#: Roots on one page of a repository; deployments that are read for its history, and changes that this shows.
ROOTS_LISTED, CHANGES_READ, CHANGES_LISTED = 100, 60, 12
#: Deployments on one page of a list.
LISTED = 30
#: Rows of a plan on the page of a deployment, which is read again while something happens; all are a link away.
FIRST_ROWS = 200


class Pages:
    """Adds the routes of the pages to a resolver."""

    def __init__(self, ports: Ports, authorization: Authorization, shapes: Shapes, rendering: Rendering) -> None:
        self._ports, self._authorization = ports, authorization
        self._shapes, self._rendering = shapes, rendering

    def add_to(self, app: APIGatewayHttpResolver) -> None:
        """Register all routes."""
        hidden: dict[str, Any] = {"include_in_schema": False, "enable_validation": False}
        app.get("/repositories", **hidden)(lambda: self._repositories(app))
        app.get("/static/<file>", **hidden)(static_file)
        app.get("/repositories/<owner>/<name>", **hidden)(lambda **_: self._repository(app))
        app.get("/repositories/<owner>/<name>/deployments", **hidden)(lambda **_: self._deployments(app))
        app.get("/queue", **hidden)(lambda: self._queue(app))
        app.post("/queue/unlock", **hidden)(lambda: self._unlock(app))
        app.get("/deployments/<id>", **hidden)(lambda **_: self._deployment(app))
        app.post("/deployments/<id>/cancel", **hidden)(lambda **_: self._cancel(app))
        app.post("/deployments/<id>/rerun", **hidden)(lambda **_: self._rerun(app))

    def _repositories(self, app: APIGatewayHttpResolver) -> Response[str]:
        found = readable(self._ports.repository_index, self._authorization, app.context["access"].login)
        work = get_open_work(self._ports, {known.name for known in found.repositories})
        return self._rendering.show(
            app,
            "repositories.html",
            repositories=found.repositories,
            unchecked=found.unchecked,
            glances=glances(self._ports.repository_index.names(), work, self._ports.clock.now()),
            has_more=work.has_more,
        )

    def _repository(self, app: APIGatewayHttpResolver) -> Response[str]:
        repository, fields = access_of(app).repository, app.context["fields"]
        query, after, problem, found = fields.get("query", "").strip(), fields.get("after", ""), "", FoundRoots([])
        try:
            if query:
                found = search_queues(self._ports, repository, parse_root_query(query), after)
            else:
                found = page_of_roots(self._ports, repository, ROOTS_LISTED, after)
        except InvalidTagQuery as error:
            problem = str(error)
        recent = HistoryPage(()) if query else self._ports.repository_index.of_repository(repository, CHANGES_READ)
        drifted, now = self._drifted(repository), self._ports.clock.now()
        return self._rendering.show(
            app,
            "repository.html",
            HTTPStatus.BAD_REQUEST if problem else HTTPStatus.OK,
            notice=lock_notice(fields.get("done", ""), locked=bool(found.locks.locks)),
            repository=repository,
            query=query,
            found=found,
            locks=found.locks.locks,
            may_lock=access_of(app).permission >= Permission.WRITE,
            problem=problem,
            roots=found.roots,
            after=after,
            active=root_grid([view for view in found.roots if not is_resting(view, now)], drifted),
            resting=root_grid([view for view in found.roots if is_resting(view, now)], drifted),
            changes=by_change(recent.deployments, is_cut=recent.next is not None)[:CHANGES_LISTED],
            replaced=replaced_by(self._ports, recent.deployments),
            has_updates=bool(self._ports.config_updates.head(repository).version),
            has_clusters=bool(self._ports.clusters.clusters(repository)),
        )

    def _drifted(self, repository: str) -> list[DriftFinding]:
        """Return what drift detection last found to have drifted in a repository."""
        return [finding for record in self._ports.drifts.of(repository) for finding in record.of(DriftState.DRIFTED)]

    def _deployments(self, app: APIGatewayHttpResolver) -> Response[str]:
        repository, fields = access_of(app).repository, app.context["fields"]
        root, after, query = fields.get("root") or None, fields.get("after") or None, fields.get("query", "").strip()
        name = root_name(root) if root else None
        shown: dict[str, Any] = {"repository": repository, "root": name, "after": after, "query": query, "problem": ""}
        if query:
            return self._search(app, query, shown)
        if name is None:
            page = self._ports.repository_index.of_repository(repository, LISTED, after)
        else:
            page = self._ports.repository_index.of_queue(queue_id(repository, name), LISTED, after)
        return self._list(app, page, shown)

    def _search(self, app: APIGatewayHttpResolver, query: str, shown: Mapping[str, Any]) -> Response[str]:
        """Return what matches; the problem of an invalid query is below its box."""
        try:
            asked = parse_deployment_query(query)
        except InvalidTagQuery as error:
            nothing = {**shown, "problem": str(error), "page": HistoryPage(()), "locked": (), "replaced": {}}
            return self._rendering.show(app, "deployments.html", HTTPStatus.BAD_REQUEST, **nothing)
        found = search_deployments(
            self._ports, shown["repository"], asked, LISTED, root=shown["root"], after=shown["after"]
        )
        return self._list(app, found, shown)

    def _list(self, app: APIGatewayHttpResolver, page: HistoryPage | Found, shown: Mapping[str, Any]) -> Response[str]:
        locked = self._locked(shown["repository"], page.deployments)
        replaced = replaced_by(self._ports, page.deployments)
        return self._rendering.show(app, "deployments.html", page=page, locked=locked, replaced=replaced, **shown)

    def _locked(self, repository: str, shown: Iterable[DeploymentSummary]) -> set[str]:
        """Return the roots whose queue's lock holds back what is shown; nothing is read if nothing waits."""
        shown = [one for one in shown if one.state is State.QUEUED]
        if not shown:
            return set()
        heads = self._ports.queues.many({queue_id(repository, one.root.name) for one in shown})
        return {head.root_name for head in heads.values() if head.lock}

    def _queue(self, app: APIGatewayHttpResolver) -> Response[str]:
        access = access_of(app)
        root = root_name(app.context["fields"].get("root", ""))
        name = queue_id(access.repository, root)
        view = get_queue(self._ports, name)
        recent = self._ports.repository_index.of_queue(name, 10)
        if view.head.version == 0 and not recent.deployments:
            raise unknown_root(self._ports, access.repository, root)
        return self._rendering.show(
            app,
            "queue.html",
            notice=lock_notice(app.context["fields"].get("done", ""), locked=view.head.lock is not None),
            repository=access.repository,
            root=root,
            view=view,
            recent=recent,
            replaced=replaced_by(self._ports, recent.deployments),
            may_unlock=unlocking(self._authorization, access, view.head),
            may_lock=access.permission >= Permission.WRITE,
        )

    def _unlock(self, app: APIGatewayHttpResolver) -> Response[str]:
        access, root = access_of(app), root_name(app.context["fields"].get("root", ""))
        unlocking = Unlocking(access.login, self._ports.clock.now())
        decision = unlock_queue(self._ports, queue_id(access.repository, root), unlocking)
        done = "unlocked" if decision.done else "not-locked"
        return see_other(address("/queue", repository=access.repository, root=root, done=done))

    def _deployment(self, app: APIGatewayHttpResolver) -> Response[str]:
        access = access_of(app)
        deployment = access.deployment_read
        view = describe_deployment(self._ports, deployment)
        told, is_asked = self._asked_again(deployment, app.context["fields"].get("request", ""))
        return self._rendering.show(
            app,
            "deployment.html",
            notice=told or deployment_notice(deployment, app.context["fields"].get("done", ""), access.login),
            is_asked=is_asked,
            one=deployment,
            view=view,
            jobs=[self._shapes.job_link(job) for job in view.jobs],
            log=live_log(self._ports, deployment),
            phases=phases(deployment.timeline, self._ports.clock.now()),
            older=self._older(deployment),
            newer=self._ports.repository_index.newer(summary_of(deployment)),
            plan=list(plan_lines(view.plan)),
            rows=self._rows(deployment, view.plan),
            warning=APPLY_WARNING,
            may=offers(self._authorization, access, deployment, view.head),
            asks=deployment.state is State.AWAITING_REVIEW,
            gated=deployment.state in WAITING,
            lacks=requirements_gate.waits(deployment),
            expires=_until(deployment),
            awaited=awaited_by(self._ports, deployment),
            pull_request_url=self._shapes.pull_request_url(deployment.repository, deployment.request.pull_request),
            over=is_final(deployment.state),
            advice=advice_on(deployment),
            has_cluster=self._has_cluster(deployment),
            replacement=replacement_of(self._ports, deployment),
            commit_url=self._shapes.commit_url(deployment.repository, deployment.revision.sha),
            execution_url=self._shapes.execution_url(deployment.id) if deployment.history[1:] else None,
        )

    def _older(self, deployment: Deployment) -> DeploymentSummary | None:
        """Return the deployment of the same root that was requested before this one."""
        index = self._ports.repository_index
        after = index.after(deployment.queue, summary_of(deployment))
        return next(iter(index.of_queue(deployment.queue, 1, after).deployments), None)

    def _rows(self, deployment: Deployment, text: PlanText | None) -> PlanView | None:
        """Return the first rows of a plan, unless its text was altered: then nothing of it is shown."""
        plan = deployment.planned.plan
        return None if plan is None or (text and text.altered) else shown_plan(self._ports, plan, most=FIRST_ROWS)

    def _has_cluster(self, deployment: Deployment) -> bool:
        """Tell whether a deployment is of a cluster that a workflow has worked on."""
        cluster = deployment.settings.run.cluster
        return cluster is not None and self._ports.clusters.cluster(deployment.repository, cluster.name) is not None

    def _cancel(self, app: APIGatewayHttpResolver) -> Response[str]:
        access = access_of(app)
        identifier, is_apply = access.deployment_read.id, app.context["fields"].get("apply") == "yes"
        decision = cancel_deployment(self._ports, identifier, access.login, self._ports.clock.now(), is_apply=is_apply)
        ensure_done(decision)
        return see_other(address(f"/deployments/{quote(identifier)}", done="cancelled"))

    def _rerun(self, app: APIGatewayHttpResolver) -> Response[str]:
        access = access_of(app)
        identifier = access.deployment_read.id
        request = request_rerun(self._ports, identifier, access.login)
        return see_other(address(f"/deployments/{quote(identifier)}", request=request))

    def _asked_again(self, deployment: Deployment, request: str) -> tuple[str, bool]:
        """Return what became of a request to run a deployment again, and whether it is still being worked on."""
        with suppress(NotFound):
            asked = self._ports.deliveries.get(request)
            if asked.event == RERUN and asked.fields.get("external_id") == deployment.id:
                outcome = self._ports.deliveries.outcome(request)
                return (outcome.text, False) if outcome else ("The re-run is requested.", True)
        return "", False


def _until(deployment: Deployment) -> datetime | None:
    """Return until when a deployment waits for its requirements, if it does."""
    gate = deployment.gate
    return requirements_gate.expires_at(gate) if gate else None
