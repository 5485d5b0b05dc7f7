"""A forge of one's own for each test, a receiver of its webhooks, and GitHub's schemas to hold answers against."""

from __future__ import annotations

import hashlib
import hmac
import http.server
import json
import threading
import time
import urllib.error
import urllib.request
from typing import Any

import jwt
import pytest

from tests.forge.published import operation_of, validate
from tidegate_local.forge.client import ForgeClient
from tidegate_local.forge.server import Forge
from tidegate_local.forge.settings import app_key

SECRET = "a webhook secret"
#: Seconds for what takes a few milliseconds on an idle core.
DEADLINE = 60


class Receiver:
    """Takes webhooks as the product would: checks the signature, remembers what came."""

    def __init__(self) -> None:
        self.answer = 202
        self._came: list[dict[str, Any]] = []
        self._news = threading.Condition()
        receiver = self

        class Handler(http.server.BaseHTTPRequestHandler):
            def do_POST(self) -> None:
                body = self.rfile.read(int(self.headers["Content-Length"]))
                receiver._take(dict(self.headers.items()), body)
                self.send_response(receiver.answer)
                self.send_header("Content-Length", "4")
                self.end_headers()
                self.wfile.write(b"done")

            def log_message(self, *_: Any) -> None:
                pass

        self._server = http.server.ThreadingHTTPServer(("127.0.0.1", 0), Handler)
        self.url = f"http://127.0.0.1:{self._server.server_port}/webhook"
        self._thread = threading.Thread(target=self._server.serve_forever, args=(0.05,), daemon=True)
        self._thread.start()

    def _take(self, headers: dict[str, str], body: bytes) -> None:
        digest = hmac.new(SECRET.encode(), body, hashlib.sha256).hexdigest()
        signed = headers["X-Hub-Signature-256"] == f"sha256={digest}"
        with self._news:
            self._came.append({"headers": headers, "signed": signed, "payload": json.loads(body)})
            self._news.notify_all()

    def came(self) -> list[dict[str, Any]]:
        """Return all deliveries so far, in their order."""
        with self._news:
            return list(self._came)

    def wait_for(self, event: str, action: str | None = None, count: int = 1, **fields: Any) -> list[dict[str, Any]]:
        """Return the deliveries of an event, once there are ``count`` of them."""

        def found() -> list[dict[str, Any]]:
            return [
                one
                for one in self._came
                if one["headers"]["X-GitHub-Event"] == event
                and (action is None or one["payload"].get("action") == action)
                and all(one["payload"].get(name) == value for name, value in fields.items())
            ]

        with self._news:
            assert self._news.wait_for(lambda: len(found()) >= count, DEADLINE), f"no {event} {action or ''} came"
            return found()

    def close(self) -> None:
        self._server.shutdown()
        self._server.server_close()
        self._thread.join()


class Api:
    """REST calls with any credentials; every successful answer is held against GitHub's description."""

    def __init__(self, forge: Forge) -> None:
        self._forge = forge

    def app_token(self, lifetime: float = 300, **claims: Any) -> str:
        now = time.time()
        body = {"iss": str(self._forge.settings.app_id), "iat": int(now - 60), "exp": int(now + lifetime), **claims}
        return jwt.encode(body, self._forge.app_private_key, algorithm="RS256")

    def installation_token(self, owner: str = "acme", **wanted: Any) -> str:
        path = f"/app/installations/{self._forge.installation(owner)}/access_tokens"
        return self.call("POST", path, wanted, token=self.app_token())["token"]

    def call(self, method: str, path: str, body: Any = None, *, token: str) -> Any:
        status, _, answer = self.ask(method, path, body, token=token)
        assert status < 300, answer
        schema = operation_of(method, path.partition("?")[0])["responses"].get(str(status))
        assert schema, f"GitHub does not answer {status} to {method} {path}"
        validate(schema, answer)
        return answer

    def ask(self, method: str, path: str, body: Any = None, *, token: str = "") -> tuple[int, Any, Any]:
        """Return status, headers and JSON of a call, whatever they are."""
        request = urllib.request.Request(f"{self._forge.api_url}{path}", method=method)
        if token:
            request.add_header("Authorization", f"Bearer {token}")
        if body is not None:
            request.data = body if isinstance(body, bytes) else json.dumps(body).encode()
        try:
            with urllib.request.urlopen(request, timeout=DEADLINE) as answer:
                return answer.status, answer.headers, json.loads(answer.read() or b"null")
        except urllib.error.HTTPError as error:
            with error:
                return error.code, error.headers, json.loads(error.read() or b"null")


@pytest.fixture(scope="session")
def app_private_key(tmp_path_factory):
    """One key for all forges of a run: making one takes longer than most tests."""
    return app_key(tmp_path_factory.mktemp("app"))


@pytest.fixture
def forge(tmp_path, app_private_key):
    (tmp_path / "forge").mkdir()
    (tmp_path / "forge/app-private-key.pem").write_text(app_private_key)
    with Forge(tmp_path / "forge") as forge:
        yield forge


@pytest.fixture
def receiver(forge):
    receiver = Receiver()
    forge.point_webhook_at(receiver.url, SECRET)
    yield receiver
    receiver.close()


@pytest.fixture
def maintainer(forge):
    return ForgeClient(forge.url)


@pytest.fixture
def api(forge):
    return Api(forge)


@pytest.fixture
def sha(maintainer):
    """A repository acme/infra with one commit on main."""
    return maintainer.push("acme/infra", {"network/main.tf": 'resource "terraform_data" "a" {}\n'}, "Add the network")
