"""The adapters' neighbours: GitHub as a real HTTP server on this machine, and AWS as moto in this process."""

from __future__ import annotations

import json
import threading
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer

import pytest
from cryptography.hazmat.primitives import serialization
from cryptography.hazmat.primitives.asymmetric import rsa
from moto import mock_aws

from tests.adapters.aws import REGION
from tests.adapters.github_stub import NOW, GitHubStub, Received
from tidegate.vcs.github.forge import AppCredentials, GitHubForge


@pytest.fixture(scope="session")
def private_key():
    key = rsa.generate_private_key(public_exponent=65537, key_size=2048)
    form = serialization.PrivateFormat.TraditionalOpenSSL, serialization.NoEncryption()
    return key.private_bytes(serialization.Encoding.PEM, *form).decode(), key.public_key()


@pytest.fixture
def github():
    stub = GitHubStub()

    class Handler(BaseHTTPRequestHandler):
        protocol_version = "HTTP/1.1"

        def _respond(self):
            length = int(self.headers.get("Content-Length") or 0)
            raw = self.rfile.read(length)
            request = Received(
                self.command, self.path, self.headers.get("Authorization", ""), json.loads(raw) if raw else None
            )
            status, body, headers = stub.answer(request)
            content = body.encode() if isinstance(body, str) else json.dumps(body).encode()
            self.send_response(status)
            for name, value in {"Content-Type": "application/json", **headers}.items():
                self.send_header(name, value)
            self.send_header("Content-Length", str(len(content)))
            self.end_headers()
            self.wfile.write(content)

        do_GET = do_POST = do_PUT = do_PATCH = _respond

        def log_message(self, *arguments):
            pass

    server = ThreadingHTTPServer(("127.0.0.1", 0), Handler)
    server.daemon_threads = True
    stub.url = f"http://127.0.0.1:{server.server_port}"
    thread = threading.Thread(target=server.serve_forever, kwargs={"poll_interval": 0.01}, daemon=True)
    thread.start()
    yield stub
    server.shutdown()
    server.server_close()
    thread.join()


@pytest.fixture
def now():
    return [NOW]


@pytest.fixture
def forge(github, private_key, now):
    app = AppCredentials("123", private_key[0])
    return GitHubForge(lambda: app, url="https://forge.example/", api_url=github.url, now=lambda: now[0])


@pytest.fixture
def cloud(monkeypatch):
    for name in ("AWS_ACCESS_KEY_ID", "AWS_SECRET_ACCESS_KEY", "AWS_SESSION_TOKEN"):
        monkeypatch.setenv(name, "testing")
    monkeypatch.setenv("AWS_DEFAULT_REGION", REGION)
    monkeypatch.delenv("AWS_ENDPOINT_URL", raising=False)
    with mock_aws():
        yield
