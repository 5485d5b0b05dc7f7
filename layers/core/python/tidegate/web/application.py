"""One function's HTTP application: it authorizes and answers every request, and sets common headers."""

from __future__ import annotations

import base64
import json
from collections.abc import Callable, Mapping
from http import HTTPStatus
from typing import Any
from urllib.parse import urlencode

from aws_lambda_powertools.event_handler import APIGatewayHttpResolver, Response
from aws_lambda_powertools.event_handler.exceptions import NotFoundError
from aws_lambda_powertools.event_handler.openapi.exceptions import RequestValidationError
from aws_lambda_powertools.event_handler.openapi.models import HTTPBearer, Server
from pydantic import BaseModel

from tidegate.ports import Ports
from tidegate.rules.errors import TidegateError
from tidegate.telemetry import logger
from tidegate.web import models
from tidegate.web.answer_size import fits
from tidegate.web.api import Api
from tidegate.web.api_reference import named_models, operations
from tidegate.web.authorization import Access, Authorization
from tidegate.web.change_pages import ChangePages
from tidegate.web.cluster_api import ClusterApi
from tidegate.web.cluster_pages import ClusterPages
from tidegate.web.compression import compressed
from tidegate.web.drift_pages import DriftPages
from tidegate.web.forms import form_of
from tidegate.web.inbox_pages import InboxPages
from tidegate.web.insight_pages import InsightPages
from tidegate.web.lock_pages import LockPages
from tidegate.web.log_pages import LogPages
from tidegate.web.nested import flattened_event
from tidegate.web.notification_pages import NotificationPages
from tidegate.web.openid import OpenId
from tidegate.web.pages import Pages
from tidegate.web.plan_pages import PlanPages
from tidegate.web.problems import Answered, answered
from tidegate.web.pull_request_pages import PullRequestPages
from tidegate.web.refusals import (
    BodyTooLarge,
    ForgedRequest,
    Hidden,
    InvalidRequest,
    MethodNotAllowed,
    NotSignedIn,
    SignInFirst,
    TooLarge,
)
from tidegate.web.rendering import Rendering, see_other
from tidegate.web.review_pages import ReviewPages
from tidegate.web.rules import RULES, Right, Rule
from tidegate.web.session import Session
from tidegate.web.setup_pages import SetupPages
from tidegate.web.shapes import Shapes
from tidegate.web.signing_in import SigningIn
from tidegate.web.slack_pages import SlackPages
from tidegate.web.update_api import CI, TARGET, UpdatesApi
from tidegate.web.update_pages import UpdatePages

_JSON = "application/json"
#: Rights that need no account of a person.
_NOBODYS = frozenset({Right.PUBLIC, Right.CI, Right.TARGET, Right.SLACK})
_UPDATES = "/api/v1/config-updates/"
#: Bytes of a body about config updates: 300 services of usual names need a third of it.
LARGEST_BODY = 256 * 1024
_API = "/api/"
_HEADERS = {
    "X-Content-Type-Options": "nosniff",
    "X-Frame-Options": "DENY",
    # Not "no-referrer": forms would be sent without their origin, which is checked.
    "Referrer-Policy": "same-origin",
    "Cross-Origin-Opener-Policy": "same-origin",
}
_SECURE = {"Strict-Transport-Security": "max-age=31536000"}
_ABOUT = """Read and control deployments, as the web pages and the command line do.

Send a token of your VCS provider (a personal access token needs no scope) as `Authorization: Bearer TOKEN`. Your
permission on each repository decides what you may do: read permission to read, write permission to act, unless
the root's access control says otherwise.
"""


def policy(pictures: str) -> str:
    """Return what pages may load: only our own scripts, styles, forms and frames, no inline ones, and our own images.

    ``pictures`` is the origin of the pictures of accounts.
    """
    return (
        f"default-src 'none'; script-src 'self'; style-src 'self'; img-src 'self' {pictures}; connect-src 'self'; "
        "form-action 'self'; base-uri 'none'; frame-ancestors 'none'"
    )


class WebApplication:
    """Answers API Gateway's requests (HTTP API, payload 2.0)."""

    def __init__(self, ports: Ports) -> None:
        self._url = ports.web_url
        self._ports = ports
        self._authorization = Authorization(ports)
        shapes = Shapes(ports.web_url, ports.web_links)
        pictures = ports.addresses.picture_origin()
        self._policy = policy(pictures)
        self._rendering = Rendering(ports.web_url, ports.clock.now, ports.web_links.terms, pictures)
        self._signing_in = SigningIn(ports, self._rendering)
        self.app = APIGatewayHttpResolver(enable_validation=True)
        self.app.use([self._guard])
        self.app.exception_handler([TidegateError])(self._refused)
        self.app.exception_handler([RequestValidationError])(self._invalid)
        self.app.exception_handler([NotFoundError])(self._no_route)
        Api(ports, self._authorization, shapes).add_to(self.app)
        UpdatesApi(ports).add_to(self.app)
        ClusterApi(ports, shapes).add_to(self.app)
        ClusterPages(ports, self._authorization, shapes, self._rendering).add_to(self.app)
        UpdatePages(ports, self._authorization, shapes, self._rendering).add_to(self.app)
        Pages(ports, self._authorization, shapes, self._rendering).add_to(self.app)
        InboxPages(ports, self._authorization, self._rendering).add_to(self.app)
        InsightPages(ports, self._authorization, self._rendering).add_to(self.app)
        LogPages(ports, shapes, self._rendering).add_to(self.app)
        PlanPages(ports, shapes, self._rendering).add_to(self.app)
        ChangePages(ports, self._authorization, shapes, self._rendering).add_to(self.app)
        ReviewPages(ports, self._authorization, self._rendering).add_to(self.app)
        LockPages(ports).add_to(self.app)
        PullRequestPages(ports, self._authorization, shapes, self._rendering).add_to(self.app)
        DriftPages(ports, self._authorization, shapes, self._rendering).add_to(self.app)
        NotificationPages(ports, self._rendering).add_to(self.app)
        SlackPages(ports, self._rendering).add_to(self.app)
        self._signing_in.add_to(self.app)
        SetupPages(ports, self._rendering, self._policy).add_to(self.app)
        OpenId(ports).add_to(self.app)
        self.app.get("/api/v1/openapi.json", include_in_schema=False, enable_validation=False)(self._description)
        self.app.get("/api", include_in_schema=False, enable_validation=False)(self._reference)
        self._described = ""

    def answer(self, event: Mapping[str, Any], context: Any) -> dict[str, Any]:
        """Answer one request. It never raises: internal errors are logged and answered with status 500."""
        event = flattened_event(event)
        http = event["requestContext"]["http"]
        method, path = str(http["method"]), str(event["rawPath"])
        answer = self._answer(_as_get(event) if method == "HEAD" else event, path, context)
        secure = _SECURE if self._url.startswith("https:") else {}
        answer["headers"] = {**secure, **_HEADERS, "Content-Security-Policy": self._policy, **answer["headers"]}
        if method == "HEAD":
            answer["body"], answer["isBase64Encoded"] = "", False
        logger.info("answered", extra={"method": method, "path": path, "status": answer["statusCode"]})
        return answer

    def _answer(self, event: Mapping[str, Any], path: str, context: Any) -> dict[str, Any]:
        try:
            _check_body(event, path)
            answer: dict[str, Any] = compressed(self.app.resolve(dict(event), context), event.get("headers", {}))
            if not fits(answer["body"] or ""):
                return _plain(self._problem(path, answered(TooLarge())))
        except (BodyTooLarge, InvalidRequest) as error:
            return _plain(self._problem(path, answered(error)))
        except Exception:  # noqa: BLE001  # The edge: nothing above would give an answer that people can read.
            logger.exception("failed", extra={"path": path})
            message = (
                "Internal error. Try again. If the error persists, ask an operator to check the logs of the "
                "Lambda function 'api'."
            )
            return _plain(self._problem(path, Answered(HTTPStatus.INTERNAL_SERVER_ERROR, "fault", message)))
        answer["headers"] = {
            "Cache-Control": "no-store",
            **{
                name: ",".join(value) if isinstance(value, list) else value for name, value in answer["headers"].items()
            },
        }
        return answer

    def _guard(self, app: APIGatewayHttpResolver, following: Callable[..., Response[Any]]) -> Response[Any]:
        """Authorize a request by its route's rule: all routes pass here."""
        route = app.context["_route"]
        rule = RULES.get(f"{route.method} {route.path}")
        if rule is None:
            raise NotFoundError
        if rule.right in _NOBODYS:
            app.context.update(access=Access())
            return following(app)
        if route.path.startswith(_API):
            login = self._token_owner(app)
            app.context.update(access=self._authorization.authorize(rule, login, _validated(app)))
            return following(app)
        return self._guard_page(app, rule, route.method, following)

    def _guard_page(
        self, app: APIGatewayHttpResolver, rule: Rule, method: str, following: Callable[..., Response[Any]]
    ) -> Response[Any]:
        session = self._signing_in.session(app.current_event)
        if session is None:
            if method == "GET" and not app.context["_route"].path.endswith("/lines"):
                return self._to_sign_in(app)
            raise SignInFirst
        form = self._form(app, session) if method == "POST" else {}
        first = {name: values[0] for name, values in form.items()}
        query = app.current_event.query_string_parameters or {}
        fields = {**query, **first, **app.context["_route_args"]}
        access = self._authorization.authorize(rule, session.login, fields)
        form_token = self._ports.sessions.form_token(session)
        app.context.update(access=access, person=session.login, form_token=form_token, fields=fields, form=form)
        return following(app)

    def _token_owner(self, app: APIGatewayHttpResolver) -> str:
        header = app.current_event.headers.get("authorization", "")
        scheme, _, token = header.partition(" ")
        login = self._authorization.login_of(token.strip()) if scheme.lower() == "bearer" and token else None
        if login is None:
            raise NotSignedIn
        return login

    def _form(self, app: APIGatewayHttpResolver, session: Session) -> dict[str, list[str]]:
        """Return a form's values by field. Raise ForgedRequest unless it comes from a page of this session."""
        form = form_of(app.current_event, self._url)
        if not self._ports.sessions.is_form_token(session, form.get("csrf", [""])[0]):
            raise ForgedRequest
        return form

    def _to_sign_in(self, app: APIGatewayHttpResolver) -> Response[str]:
        event = app.current_event
        wanted = event.path + (f"?{event.raw_event['rawQueryString']}" if event.raw_event.get("rawQueryString") else "")
        return see_other(f"/login?{urlencode({'next': wanted})}")

    def _refused(self, error: TidegateError) -> Response[str]:
        return self._problem(self.app.current_event.path, answered(error))

    def _invalid(self, error: RequestValidationError) -> Response[str]:
        problems = [f"{'.'.join(str(part) for part in found['loc'])}: {found['msg']}" for found in error.errors()[:10]]
        message = f"The request does not match /api/v1/openapi.json. {'; '.join(problems)}."
        problem = Answered(HTTPStatus.UNPROCESSABLE_ENTITY, "invalid_field", message)
        return self._problem(self.app.current_event.path, problem)

    def _no_route(self, _: NotFoundError) -> Response[str]:
        event = self.app.current_event
        routes = [*self.app._static_routes, *self.app._dynamic_routes]  # noqa: SLF001  # It has no other way to ask.
        known = [route for route in routes if f"{route.method} {route.path}" in RULES]
        allowed = sorted({str(route.method) for route in known if route.rule.match(event.path)})
        problem = answered(MethodNotAllowed(tuple(allowed)) if allowed else Hidden())
        response = self._problem(event.path, problem)
        if allowed:
            response.headers["Allow"] = ", ".join(allowed)
        return response

    def _problem(self, path: str, problem: Answered) -> Response[str]:
        headers: dict[str, str | list[str]] = {"Cache-Control": "no-store"}
        if problem.retry_after is not None:
            headers["Retry-After"] = str(problem.retry_after)
        if path.startswith(_API) or path.endswith("/lines"):
            if problem.status is HTTPStatus.UNAUTHORIZED:
                headers["WWW-Authenticate"] = 'Bearer realm="tidegate"'
            refused = models.Refused(error=models.Problem(code=problem.code, message=problem.message))
            return Response(problem.status, _JSON, refused.model_dump_json(), headers)
        response = self._rendering.problem(problem, *self._person())
        response.headers.update(headers)
        return response

    def _person(self) -> tuple[str, str]:
        """Return the signed-in person, for the header of a page, and their form token; nobody if unknown."""
        try:
            session = self._signing_in.session(self.app.current_event)
            return (session.login, self._ports.sessions.form_token(session)) if session else ("", "")
        except (TidegateError, AttributeError):
            return "", ""

    def _description(self) -> Response[str]:
        """Answer with the OpenAPI description of the API."""
        return Response(HTTPStatus.OK, _JSON, self._document(), {"Cache-Control": "public, max-age=300"})

    def _reference(self) -> Response[str]:
        """Answer with the same as a page."""
        person, csrf = self._person()
        document = json.loads(self._document())
        return self._rendering.page(
            "api.html",
            operations=operations(document),
            models=named_models(document),
            about=_ABOUT,
            person=person,
            csrf=csrf,
            path="/api",
        )

    def _document(self) -> str:
        if not self._described:
            self._described = self.app.get_openapi_json_schema(
                title="Tidegate",
                version="1",
                description=_ABOUT,
                servers=[Server(url=self._url or "/")],
                security_schemes={
                    "token": HTTPBearer(description="A token of the VCS provider"),
                    CI: HTTPBearer(description="A token of a CI run (OpenID Connect), for this installation"),
                    TARGET: HTTPBearer(description="A target's token"),
                },
                security=[{"token": []}],
            )
        return self._described


def _validated(app: APIGatewayHttpResolver) -> dict[str, str]:
    """Return the fields of a validated request by name, those of its body included."""
    fields: dict[str, str] = {}
    for name, value in app.context["_route_args"].items():
        fields.update(value.model_dump() if isinstance(value, BaseModel) else {name: value})
    return fields


def _check_body(event: Mapping[str, Any], path: str) -> None:
    """Raise InvalidRequest for a body that no route could read, and BodyTooLarge."""
    body = event.get("body")
    if body is None:
        return
    try:
        content = base64.b64decode(body, validate=True) if event.get("isBase64Encoded") else str(body).encode()
        if path.startswith(_UPDATES) and len(content) > LARGEST_BODY:
            raise BodyTooLarge(LARGEST_BODY)
        text = content.decode()
        if not path.startswith(_API):
            return
        kind = str(event.get("headers", {}).get("content-type", _JSON)).partition(";")[0].strip().lower()
        if kind != _JSON:
            raise InvalidRequest(f"The body must be {_JSON}.")
        if not isinstance(json.loads(text), dict):
            raise InvalidRequest("The body must be a JSON object.")
    except (ValueError, RecursionError) as error:
        raise InvalidRequest("The body must be valid JSON in UTF-8.") from error


def _as_get(event: Mapping[str, Any]) -> dict[str, Any]:
    context = event["requestContext"]
    return {**event, "requestContext": {**context, "http": {**context["http"], "method": "GET"}}}


def _plain(response: Response[str]) -> dict[str, Any]:
    headers = {**response.headers, "Content-Type": response.content_type}
    return {
        "statusCode": int(response.status_code),
        "headers": headers,
        "cookies": [],
        "body": response.body,
        "isBase64Encoded": False,
    }
