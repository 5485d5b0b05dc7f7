"""The HTTP API and the pages on adapters in memory, called as API Gateway calls them."""

from __future__ import annotations

import json
import re
from dataclasses import dataclass, field, replace
from html import unescape
from urllib.parse import unquote_plus, urlencode, urlsplit

from tests.builders import REPOSITORY, amended, any_deployment, any_lock, any_queue
from tests.fakes.accounts import MemoryAccounts
from tests.functions.wires import Context, Wires
from tests.instants import utc
from tidegate.ports import Enrolled, KnownRepository
from tidegate.web.application import WebApplication

URL = "https://tidegate.example"
TEAM = "acme/operators"
QUEUE = f"/queue?repository={REPOSITORY}&root=network"


class WebScenario(Wires):
    """Everything in memory but ``given`` ports.

    ``seconds`` is the time of sessions, ``secret`` what is stored of the App.
    """

    def __init__(self, settings=None, **given):
        self.now, self.secret = 1_800_000_000.0, {"client_id": "client", "client_secret": "client secret"}
        accounts = MemoryAccounts(
            tokens={"token-of-reviewer": "reviewer", "token-of-reader": "reader", "token-of-visitor": "visitor"}
        )
        settings = {"TIDEGATE_WEB_URL": URL, "TIDEGATE_OPERATORS_TEAM": TEAM, **(settings or {})}
        super().__init__(
            settings, accounts=accounts, app_secret=self, seconds=lambda: self.now, public_keys=None, **given
        )
        self.forge.readers |= {"reader"}
        self.forge.teams[TEAM] = {"reviewer"}
        self.repository_index.remember(KnownRepository(REPOSITORY, "main", "0" * 40, utc("2026-03-02T08:00")))

    def current(self):
        """Return the App's secret, as it is stored now."""
        return self.secret

    @property
    def web(self):
        """The application on the ports as they are."""
        made = vars(self).get("_web")
        if made is None or made[0] is not self.ports:
            made = self._web = self.ports, WebApplication(self.ports)
        return made[1]

    def deployed(self, deployment=None):
        """Store a deployment as its queue would, and return it."""
        one = deployment or any_deployment()
        self.queues.enqueue(one)
        return self.deployments.get(one.id)

    def changed(self, *deployments, change="c-1"):
        """Store deployments as one change, and return them."""
        made = [amended(one, change_set=change) for one in deployments]
        self.change_sets.enroll(change, [Enrolled(one.root.name, one.stack, one.id, one.request.at) for one in made])
        return [self.deployed(one) for one in made]


@dataclass
class Answer:
    """What API Gateway passes on."""

    status: int
    headers: dict
    cookies: list
    body: str

    @property
    def json(self):
        return json.loads(self.body)

    @property
    def text(self):
        """Return what a reader sees of a page, roughly."""
        return " ".join(unescape(re.sub(r"<[^>]*>", " ", self.body)).split())


@dataclass
class Client:
    """Sends requests as API Gateway does; keeps cookies as a browser does."""

    wires: WebScenario
    token: str = ""
    cookies: dict = field(default_factory=dict)
    domain: str = "tidegate.example"

    def get(self, path, **headers):
        return self.send("GET", path, headers=headers)

    def post_json(self, path, body, **headers):
        return self.send_json("POST", path, body, **headers)

    def send_json(self, method, path, body, **headers):
        return self.send(method, path, json.dumps(body), {"content-type": "application/json", **headers})

    def post_form(self, path, headers=None, **fields):
        sent = {"content-type": "application/x-www-form-urlencoded", "origin": URL, **(headers or {})}
        return self.send("POST", path, urlencode(fields, doseq=True), sent)

    def send(self, method, path, body=None, headers=None):
        answer = self.wires.web.answer(self.event(method, path, body, headers or {}), Context())
        for cookie in answer.get("cookies") or []:
            name, _, value = cookie.partition(";")[0].partition("=")
            self.cookies[name] = value
        headers = {name.lower(): value for name, value in answer["headers"].items()}
        return Answer(answer["statusCode"], headers, answer.get("cookies") or [], answer["body"])

    def event(self, method, path, body, headers):
        parts = urlsplit(path)
        query = dict(pair.partition("=")[::2] for pair in parts.query.split("&") if pair)
        sent = {
            "host": "tidegate.example",
            **{name.lower().replace("_", "-"): str(value) for name, value in headers.items()},
        }
        if self.token:
            sent["authorization"] = f"Bearer {self.token}"
        return {
            "version": "2.0",
            "routeKey": "$default",
            "rawPath": parts.path,
            "rawQueryString": parts.query,
            "headers": sent,
            "cookies": [f"{name}={value}" for name, value in self.cookies.items()],
            "queryStringParameters": {name: unquote_plus(value) for name, value in query.items()},
            "requestContext": {
                "http": {"method": method, "path": parts.path, "protocol": "HTTP/1.1", "sourceIp": "192.0.2.1"},
                "requestId": "request-1",
                "stage": "$default",
                "domainName": self.domain,
            },
            "body": body,
            "isBase64Encoded": False,
        }

    def sign_in(self, login):
        """Let a person sign in at the forge and come back."""
        self.wires.accounts.tokens[f"oauth-of-{login}"] = login
        self.wires.accounts.codes[f"code-of-{login}"] = f"oauth-of-{login}"
        begun = self.get("/login?next=/")
        state = re.search(r"state=([^&]+)", begun.headers["location"]).group(1)
        ended = self.get(f"/login/callback?code=code-of-{login}&state={state}")
        assert ended.status == 303, ended.text
        return self

    def form_token(self, path="/"):
        """Return the hidden token of the forms on a page."""
        return re.search(r'name="csrf" value="([\w-]+)"', self.get(path).body).group(1)


def lock(wires, **fields):
    head, _ = wires.queues.read(any_queue())
    wires.queues.commit(head, replace(head, lock=any_lock(**fields)))
