"""Where the command line finds Tidegate, as whom it speaks, and that a token is shown and sent nowhere else."""

from __future__ import annotations

import json
import os
from typing import Any

import httpx
import pytest

from tests.cli.conftest import TOKEN, refused
from tidegate_cli.connection import Connection, connect
from tidegate_cli.problems import NotSignedIn, WrongUsage
from tidegate_local import instances

REMOTE = "https://tidegate.example.com"


def cloud(port: int, **fields: Any) -> None:
    info = {"pid": os.getpid(), "api_url": f"http://127.0.0.1:{port}", "forge_url": f"http://127.0.0.1:{port - 1}"}
    path = instances.write({**info, **fields})
    path.rename(path.with_name(f"{port}.json"))
    os.utime(path.with_name(f"{port}.json"), (port, port))


def test_the_option_goes_before_the_environment():
    environ = {"TIDEGATE_URL": "https://other.example.com", "TIDEGATE_TOKEN": TOKEN}
    assert connect(REMOTE + "/", None, environ).url == REMOTE


@pytest.mark.parametrize(
    ("environ", "source"),
    [
        ({"TIDEGATE_TOKEN": TOKEN, "GITHUB_TOKEN": "other"}, "TIDEGATE_TOKEN"),
        ({"GITHUB_TOKEN": TOKEN}, "GITHUB_TOKEN"),
        ({"TIDEGATE_TOKEN": "  ", "GITHUB_TOKEN": TOKEN}, "GITHUB_TOKEN"),
    ],
)
def test_the_token_is_taken_from_the_environment(environ, source):
    found = connect(REMOTE, None, environ)
    assert (found.token, found.token_from) == (TOKEN, source)


def test_a_token_is_in_no_representation_of_the_connection():
    assert TOKEN not in repr(Connection(REMOTE, TOKEN, "TIDEGATE_TOKEN"))


def test_without_a_token_it_says_which_variable_to_set():
    with pytest.raises(NotSignedIn, match="TIDEGATE_TOKEN"):
        connect(REMOTE, None, {})


def test_without_an_address_and_a_local_cloud_it_says_what_to_set():
    with pytest.raises(WrongUsage) as problem:
        connect(None, None, {})
    assert "TIDEGATE_URL" in problem.value.hint


def test_a_running_local_cloud_is_used_as_its_maintainer():
    cloud(5001)
    found = connect(None, None, {"TIDEGATE_TOKEN": TOKEN, "GITHUB_TOKEN": TOKEN})
    assert (found.url, found.token, found.is_local) == ("http://127.0.0.1:5001", "maintainer", True)


def test_another_person_of_the_local_forge_can_be_chosen():
    cloud(5001)
    assert connect(None, "reviewer", {}).token == "reviewer"
    assert connect("http://localhost:5001", "reviewer", {"TIDEGATE_TOKEN": TOKEN}).token == "reviewer"


def test_of_several_local_clouds_the_newest_is_used_and_that_is_said():
    cloud(5001)
    cloud(6001)
    found = connect(None, None, {})
    assert found.url == "http://127.0.0.1:6001"
    assert "http://127.0.0.1:5001" in found.note


def test_a_local_cloud_with_the_real_forge_needs_a_real_token():
    cloud(5001, forge_url="")
    assert connect(None, None, {"GITHUB_TOKEN": TOKEN}).token == TOKEN
    with pytest.raises(NotSignedIn):
        connect(None, None, {})


def test_nobody_can_be_chosen_at_a_real_installation():
    with pytest.raises(WrongUsage, match="--as"):
        connect(REMOTE, "maintainer", {"TIDEGATE_TOKEN": TOKEN})


@pytest.mark.parametrize(
    "url",
    [
        "http://tidegate.example.com",
        "ftp://x",
        "tidegate.example.com",
        f"https://me:{TOKEN}@x",
        "https://[",
        "https://x?a",
    ],
)
def test_an_address_that_a_token_must_not_be_sent_to_is_refused(url):
    with pytest.raises(WrongUsage) as problem:
        connect(url, None, {"TIDEGATE_TOKEN": TOKEN})
    assert TOKEN not in f"{problem.value} {problem.value.hint}"


@pytest.mark.parametrize("token", [f"{TOKEN}\nX-Admin: 1", f"{TOKEN} x", f"{TOKEN}ö"])
def test_a_token_that_cannot_be_sent_is_refused_without_showing_it(tidegate, token):
    result = tidegate("status", TIDEGATE_TOKEN=token)
    assert result.exit_code == 2
    assert "TIDEGATE_TOKEN" in result.stderr


@pytest.mark.parametrize(
    ("answer", "code", "says"),
    [
        (refused(400, "invalid", "That is no root."), 2, "That is no root."),
        (refused(401, "not_signed_in", "Who are you?"), 4, "TIDEGATE_TOKEN"),
        (refused(403, "not_allowed", "write permission is needed"), 4, "write permission is needed"),
        (refused(404, "not_found", "There is no such thing."), 3, "There is no repository acme/live here"),
        (refused(409, "conflict", "It changed."), 1, "It changed."),
        (refused(422, "invalid", "Names are plain."), 2, "Names are plain."),
        (refused(500, "", "Oh."), 5, "failed (500)"),
        ((502, b"<html>bad gateway</html>"), 5, "502"),
        ((200, b"<html>not Tidegate</html>"), 5, "no JSON object"),
        ((200, b'{"surprise": 1}'), 5, "no field `unlocked`"),
        ((302, b"", {"Location": "https://elsewhere.example.com/login"}), 5, "redirects"),
    ],
)
def test_every_refusal_has_its_exit_code_and_says_what_to_do(api, tidegate, answer, code, says):
    api.answers["POST /api/v1/queue/unlock"] = answer
    api.answers["GET /api/v1/repositories"] = {"repositories": []}
    result = tidegate("unlock", "acme/live", "orders")
    assert result.exit_code == code
    assert says in result.stderr
    as_json = tidegate("unlock", "acme/live", "orders", "--json")
    error = json.loads(as_json.stdout)["error"]
    assert as_json.exit_code == error["exit"] == code
    assert says in f"{error['message']} {error['hint']}"


def test_a_token_is_sent_to_the_installation_only(api, tidegate):
    api.answers["GET /api/v1/repositories"] = (302, b"", {"Location": f"{api.url}/elsewhere"})
    tidegate("status")
    assert [(asked.path, asked.token) for asked in api.asked] == [("/api/v1/repositories", TOKEN)]


def test_an_installation_that_cannot_be_reached_is_unavailable(tidegate):
    result = tidegate("status", TIDEGATE_URL="http://127.0.0.1:9")
    assert result.exit_code == 5
    assert "TIDEGATE_URL" in result.stderr


class Pauses(list):
    def __call__(self, _why: str, seconds: float) -> None:
        self.append(seconds)


@pytest.fixture
def pauses(monkeypatch):
    waited = Pauses()
    monkeypatch.setattr("tidegate_cli.options.wait", waited)
    return waited


def test_a_busy_server_is_asked_again_as_late_as_it_wants(api, tidegate, pauses):
    busy = refused(429, "busy", "Too many.", Retry_After="7")
    api.answers["GET /api/v1/repositories"] = [busy, busy, {"repositories": []}]
    assert tidegate("status").exit_code == 0
    assert pauses == [7, 7]


def test_a_server_that_stays_busy_is_not_asked_for_ever(api, tidegate, pauses):
    api.answers["GET /api/v1/repositories"] = refused(503, "unavailable", "The forge does not answer.")
    result = tidegate("status")
    assert result.exit_code == 5
    assert "The forge does not answer." in result.stderr
    assert 10 < sum(pauses) < 60
    assert pauses == sorted(pauses)


def test_a_server_that_wants_a_long_pause_is_not_waited_for(api, tidegate, pauses):
    api.answers["GET /api/v1/repositories"] = refused(503, "unavailable", "Later.", Retry_After="3600")
    assert tidegate("status").exit_code == 5
    assert pauses == []


def test_an_order_is_not_given_twice_when_the_gateway_gave_up_on_it(api, tidegate, pauses):
    api.answers["POST /api/v1/queue/unlock"] = (503, {"message": "Service Unavailable"})
    assert tidegate("unlock", "acme/live", "orders").exit_code == 5
    assert len(api.bodies("POST /api/v1/queue/unlock")) == 1


def test_an_order_that_was_not_taken_is_given_again(api, tidegate, pauses):
    api.answers["POST /api/v1/queue/unlock"] = [refused(429, "busy", "Too many."), {"unlocked": True, "message": ""}]
    assert tidegate("unlock", "acme/live", "orders").exit_code == 0


def test_a_mistake_of_its_own_is_no_traceback(tidegate, monkeypatch):
    def fail(*_: object, **__: object) -> None:
        raise ValueError(f"this may hold {TOKEN}")

    monkeypatch.setattr(httpx.Client, "request", fail)
    result = tidegate("status")
    assert result.exit_code == 1
    assert "TIDEGATE_DEBUG=1" in result.stderr


def test_a_checkout_does_not_talk_to_the_local_cloud_of_another():
    cloud(6000, checkout="/elsewhere")
    with pytest.raises(WrongUsage) as refused:
        connect(None, None, {})
    assert "/elsewhere (http://127.0.0.1:6000)" in refused.value.hint
    cloud(5000)
    assert connect(None, None, {}).url == "http://127.0.0.1:5000"
    assert connect("http://127.0.0.1:6000", None, {}).token == "maintainer"


def test_a_program_outside_of_a_checkout_finds_any_local_cloud(monkeypatch, tmp_path):
    monkeypatch.setattr("tidegate_local.instances._HERE", tmp_path)
    cloud(6000, checkout="/elsewhere")
    assert connect(None, None, {}).url == "http://127.0.0.1:6000"
