"""Who somebody is: what is asked of the forge, and what its answers mean."""

from __future__ import annotations

import json
import threading
from http.server import BaseHTTPRequestHandler, HTTPServer
from urllib.parse import parse_qs, urlsplit

import pytest

from tidegate.rules.errors import ForgeUnavailable
from tidegate.vcs.adapters.accounts import GitHubAccounts, OAuthClient


class Forge:
    """Answers every request with what it is told to, and remembers what it was asked."""

    def __init__(self):
        self.status, self.answer, self.headers, self.asked = 200, {"login": "reviewer"}, {}, []
        forge = self

        class Handler(BaseHTTPRequestHandler):
            def do_GET(self):
                size = int(self.headers.get("Content-Length") or 0)
                forge.asked.append((self.path, dict(self.headers), self.rfile.read(size).decode()))
                body = forge.answer if isinstance(forge.answer, bytes) else json.dumps(forge.answer).encode()
                self.send_response(forge.status)
                for name, value in {**forge.headers, "Content-Length": str(len(body))}.items():
                    self.send_header(name, value)
                self.end_headers()
                self.wfile.write(body)

            do_POST = do_GET  # The base class's names.

            def log_message(self, *_):
                pass

        self._server = HTTPServer(("127.0.0.1", 0), Handler)
        self.url = f"http://127.0.0.1:{self._server.server_port}"
        self._thread = threading.Thread(target=self._server.serve_forever, args=(0.02,), daemon=True)
        self._thread.start()

    def close(self):
        self._server.shutdown()
        self._server.server_close()
        self._thread.join()


@pytest.fixture
def forge():
    forge = Forge()
    yield forge
    forge.close()


@pytest.fixture
def accounts(forge):
    return GitHubAccounts(lambda: OAuthClient("Iv1.client", "shh"), url=forge.url, api_url=f"{forge.url}/api/v3/")


def test_a_tokens_owner_is_asked_with_that_token(forge, accounts):
    assert accounts.login_of("gho_abc") == "reviewer"
    path, headers, _ = forge.asked[0]
    assert (path, headers["Authorization"]) == ("/api/v3/user", "Bearer gho_abc")


@pytest.mark.parametrize("status", [401, 403, 404])
def test_a_token_that_is_no_persons_has_no_owner(forge, accounts, status):
    forge.status, forge.answer = status, {"message": "Bad credentials"}
    assert accounts.login_of("gho_abc") is None


@pytest.mark.parametrize("token", ["", "a b", "a\r\nX-Evil: 1", "é", "x" * 3000])
def test_what_no_token_looks_like_is_not_sent_anywhere(forge, accounts, token):
    assert accounts.login_of(token) is None
    assert forge.asked == []


@pytest.mark.parametrize("answer", [{}, [], {"login": 7}, {"login": "<script>"}, {"login": "a/../b"}])
def test_an_owner_that_is_no_login_is_nobody(forge, accounts, answer):
    forge.answer = answer
    assert accounts.login_of("gho_abc") is None


@pytest.mark.parametrize(
    ("status", "headers"),
    [(500, {}), (429, {"Retry-After": "30"}), (403, {"X-RateLimit-Remaining": "0"}), (200, {})],
)
def test_a_forge_that_does_not_answer_is_not_taken_for_a_no(forge, accounts, status, headers):
    forge.status, forge.headers, forge.answer = status, headers, b"<html>"
    with pytest.raises(ForgeUnavailable) as raised:
        accounts.login_of("gho_abc")
    assert raised.value.retry_after == (30 if "Retry-After" in headers else None)


def test_nobody_at_the_forges_address_is_unavailable():
    accounts = GitHubAccounts(lambda: OAuthClient("id", "shh"), url="http://127.0.0.1:1", api_url="http://127.0.0.1:1")
    with pytest.raises(ForgeUnavailable):
        accounts.login_of("gho_abc")


def test_a_code_is_exchanged_for_its_token(forge, accounts):
    forge.answer = {"access_token": "gho_new"}
    assert accounts.exchange("the code", "https://tidegate.example/login/callback") == "gho_new"
    path, _, body = forge.asked[0]
    assert path == "/login/oauth/access_token"
    assert parse_qs(body) == {
        "client_id": ["Iv1.client"],
        "client_secret": ["shh"],
        "code": ["the code"],
        "redirect_uri": ["https://tidegate.example/login/callback"],
    }


def test_a_code_that_is_not_valid_stands_for_nothing(forge, accounts):
    forge.answer = {"error": "bad_verification_code"}
    assert accounts.exchange("wrong", "https://tidegate.example/login/callback") is None


def test_people_sign_in_at_the_forge_and_come_back(forge, accounts):
    address = urlsplit(accounts.authorize_url("nonce", "https://tidegate.example/login/callback"))
    assert f"{address.scheme}://{address.netloc}{address.path}" == f"{forge.url}/login/oauth/authorize"
    assert parse_qs(address.query) == {
        "client_id": ["Iv1.client"],
        "state": ["nonce"],
        "redirect_uri": ["https://tidegate.example/login/callback"],
    }


def test_the_client_secret_is_in_no_representation():
    assert "shh" not in repr(OAuthClient("id", "shh"))
