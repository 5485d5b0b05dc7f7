"""Pull requests: lists and single ones, as pages and by the API."""

# ruff: noqa: ARG001  # Arguments are the routes' fields, validated here and used by the authorization.

from __future__ import annotations

from collections.abc import Iterable, Iterator
from http import HTTPStatus
from typing import Annotated, Any

from aws_lambda_powertools.event_handler import APIGatewayHttpResolver, Response
from aws_lambda_powertools.event_handler.openapi.params import Path, Query

from tidegate.deploys.rules.deployment import Deployment
from tidegate.deploys.rules.speculative_plan import LayerState, SpeculativePlan
from tidegate.policies.rules.policy import PolicyFinding, PolicyVerdict
from tidegate.ports import Ports
from tidegate.pull_requests.get_pull_request import (
    FoundPullRequests,
    PullRequestView,
    get_pull_request,
    open_pull_requests,
    search_pull_requests,
)
from tidegate.pull_requests.rules.query import parse_pull_request_query
from tidegate.pull_requests.rules.record import PullRequestRecord
from tidegate.pull_requests.rules.remarks import conflict
from tidegate.pull_requests.rules.tally import tally
from tidegate.roots.rules.query_words import InvalidTagQuery
from tidegate.web.api import NameInPath, OwnerInPath, described
from tidegate.web.authorization import Authorization
from tidegate.web.plan_pages import inline_plans
from tidegate.web.pull_request_models import PullRequestDetails, PullRequestsList, brief, details, refusing_sets
from tidegate.web.readable import readable
from tidegate.web.refusals import Hidden
from tidegate.web.rendering import Rendering
from tidegate.web.request_models import RepositoryName
from tidegate.web.shapes import Shapes

_QUERY = "A tag query (docs/web.md): pull requests that affect a root which matches, such as `stack_name:prod`"
_Number = Annotated[int, Path(ge=1, le=10**15)]
_LONGEST_NUMBER = 15
#: Open pull requests on one page, and characters of where the next one begins.
PAGE, _LONGEST_PLACE = 50, 400
_WITHOUT_PLAN = (LayerState.FAILED, LayerState.REFUSED)
#: Roots without a plan of which the page tells why; nobody reads more, and each has a check of its own.
_FAILURES = 100
#: Deployments of a merge, and of those before it, of which the page tells what became.
_LISTED = 100


class PullRequestPages:
    """Adds the routes of pull requests to a resolver."""

    def __init__(self, ports: Ports, authorization: Authorization, shapes: Shapes, rendering: Rendering) -> None:
        self._ports, self._authorization = ports, authorization
        self._shapes, self._rendering = shapes, rendering

    def add_to(self, app: APIGatewayHttpResolver) -> None:
        """Register the routes."""
        hidden: dict[str, Any] = {"include_in_schema": False, "enable_validation": False}
        app.get("/pulls", **hidden)(lambda: self._list(app))
        app.get("/pulls/<owner>/<name>/<number>", **hidden)(lambda **path: self._page(app, path["number"]))
        self._api(app)

    def _api(self, app: APIGatewayHttpResolver) -> None:
        @app.get(
            "/api/v1/pulls",
            summary="Open pull requests of a repository, or of all that you may read, newest first",
            tags=["pull requests"],
            responses=described(200, "Pull requests", PullRequestsList, 404),
        )
        def pulls(
            repository: Annotated[RepositoryName | None, Query()] = None,
            query: Annotated[str, Query(description=_QUERY)] = "",
            after: Annotated[str, Query(max_length=_LONGEST_PLACE, description="The `next` of the page before")] = "",
        ) -> PullRequestsList:
            found, unchecked = self._opened(app, query, after)
            listed = [brief(self._shapes, record) for record in found.records]
            return PullRequestsList(pull_requests=listed, next=found.next, hint=found.hint, unchecked=unchecked)

        @app.get(
            "/api/v1/pulls/<owner>/<name>/<number>",
            summary="A pull request: its conditions, and the plan of each root that it affects",
            tags=["pull requests"],
            responses=described(200, "The pull request", PullRequestDetails, 404),
        )
        def pull(owner: OwnerInPath, name: NameInPath, number: _Number) -> PullRequestDetails:
            return details(self._shapes, self._look(app, number))

    def _opened(self, app: APIGatewayHttpResolver, query: str, after: str) -> tuple[FoundPullRequests, int]:
        """Return the open ones that match, and how many repositories are not checked yet. Raise InvalidTagQuery."""
        access, ports = app.context["access"], self._ports
        asked, names, unchecked = parse_pull_request_query(query, self._ports.terms), [access.repository], 0
        if not access.repository:
            allowed = readable(self._ports.repository_index, self._authorization, access.login)
            names, unchecked = [known.name for known in allowed.repositories], allowed.unchecked
        if query.strip():
            return search_pull_requests(ports, names, asked, after), unchecked
        return open_pull_requests(ports, names, PAGE, after), unchecked

    def _look(self, app: APIGatewayHttpResolver, number: int) -> PullRequestView:
        return get_pull_request(self._ports, app.context["access"].repository, number)

    def _list(self, app: APIGatewayHttpResolver) -> Response[str]:
        fields = app.context["fields"]
        query, after, problem = fields.get("query", "").strip(), fields.get("after", ""), ""
        try:
            found, unchecked = self._opened(app, query, after)
        except InvalidTagQuery as error:
            found, unchecked, problem = FoundPullRequests([]), 0, str(error)
        return self._rendering.show(
            app,
            "pulls.html",
            HTTPStatus.BAD_REQUEST if problem else HTTPStatus.OK,
            found=found,
            after=after,
            repository=app.context["access"].repository,
            unchecked=unchecked,
            query=query,
            problem=problem,
        )

    def _page(self, app: APIGatewayHttpResolver, number: str) -> Response[str]:
        if not (number.isascii() and number.isdigit() and len(number) <= _LONGEST_NUMBER):
            raise Hidden
        view = self._look(app, int(number))
        sets = refusing_sets(view)
        spec, became = view.record.spec, self._became(view.record)
        plans = [each.plan for each in view.layers if each.plan]
        if not view.record.is_open:
            plans = [each.planned.plan for each in became.values() if each.planned.plan]
        return self._rendering.show(
            app,
            "pull.html",
            one=view.record,
            spec=spec,
            layers=view.layers,
            left_out=view.left_out,
            became=became,
            done=sum(layer.is_done for layer in view.layers),
            tally=tally(view.layers),
            conflict=conflict(view.layers),
            left=[each for each in view.layers if each.leaves_resources],
            failures=[each for each in view.layers if each.state in _WITHOUT_PLAN and not each.conflict][:_FAILURES],
            plans=inline_plans(self._ports, plans),
            findings=list(_findings(view.layers)),
            sets=sets,
            let_pass={each.name for each in sets if not each.blocking},
            forge_url=self._shapes.pull_request_url(spec.repository, spec.number),
            commit_url=self._shapes.commit_url(spec.repository, spec.head_sha),
        )

    def _became(self, record: PullRequestRecord) -> dict[str, Deployment]:
        """Return the deployments of its merge, and those asked for before, by id."""
        named = [*record.deploys[:_LISTED], *record.applies[:_LISTED]]
        return dict(self._ports.deployments.many({each.deployment for each in named if each.deployment}))


def _findings(
    layers: Iterable[SpeculativePlan],
) -> Iterator[tuple[SpeculativePlan, PolicyVerdict, PolicyFinding | None]]:
    """Yield what policy sets say of each layer, what blocks first; without a finding it is the set's own error."""
    every = [(layer, verdict) for layer in layers for verdict in layer.verdicts]
    yield from ((layer, verdict, None) for layer, verdict in every if verdict.error)
    found = [(layer, verdict, one) for layer, verdict in every for one in verdict.findings]
    yield from sorted(found, key=lambda each: not each[2].blocks)
