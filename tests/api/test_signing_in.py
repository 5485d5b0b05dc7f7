"""Signing in with an account of the forge, what a session is, and how it ends."""

from __future__ import annotations

import re

import pytest

from tests.api.scenario import Client, WebScenario
from tidegate.rules.errors import ForgeUnavailable
from tidegate.web.session import Sessions
from tidegate.web.signing_in import local_path


def begin(client, target="/"):
    answer = client.get(f"/login?next={target}")
    return re.search(r"state=([^&]+)", answer.headers["location"]).group(1)


def test_a_visitor_comes_back_to_the_page_that_was_asked_for(wires):
    client = Client(wires)
    asked = client.get("/queue?repository=acme/infra&root=network")
    assert asked.headers["location"] == "/login?next=%2Fqueue%3Frepository%3Dacme%2Finfra%26root%3Dnetwork"
    begun = client.get(asked.headers["location"])
    assert begun.headers["location"].startswith("https://github.com/login/oauth/authorize?")
    assert "redirect_uri=https%3A%2F%2Ftidegate.example%2Flogin%2Fcallback" in begun.headers["location"]
    wires.accounts.tokens["t"], wires.accounts.codes["c"] = "reader", "t"
    state = re.search(r"state=([^&]+)", begun.headers["location"]).group(1)
    ended = client.get(f"/login/callback?code=c&state={state}")
    assert (ended.status, ended.headers["location"]) == (303, "/queue?repository=acme/infra&root=network")
    assert client.get("/").status == 200


def test_who_came_by_another_name_signs_in_where_the_provider_sends_people_back_to(wires):
    moved = Client(wires, domain="abc123.execute-api.eu-west-1.amazonaws.com").get(
        "/login?next=/queue%3Froot%3Dnetwork"
    )
    assert moved.headers["location"] == "https://tidegate.example/login?next=%2Fqueue%3Froot%3Dnetwork&moved=1"
    assert not moved.cookies
    begun = Client(wires).get(moved.headers["location"].removeprefix("https://tidegate.example"))
    assert begun.headers["location"].startswith("https://github.com/")


def test_behind_a_proxy_a_sign_in_moves_only_once(wires):
    begun = Client(wires, domain="abc123.execute-api.eu-west-1.amazonaws.com").get("/login?next=/&moved=1")
    assert begun.headers["location"].startswith("https://github.com/")


def test_the_session_cookie_is_out_of_reach_of_scripts_and_other_sites(wires):
    client = Client(wires)
    client.sign_in("reader")
    wires.accounts.codes["c"] = "token-of-reader"
    cookies = client.get(f"/login/callback?code=c&state={begin(client)}").cookies
    (session,) = [cookie for cookie in cookies if cookie.startswith("__Host-tidegate=")]
    assert {"Path=/", "HttpOnly", "Secure", "SameSite=Lax", "Max-Age=28800"} <= set(session.split("; "))
    assert "Domain" not in session


def test_the_forges_token_is_nowhere_in_the_session(wires, browser):
    assert not any("oauth-of-reviewer" in value for value in browser.cookies.values())


@pytest.mark.parametrize("state", ["", "guessed", "é"])
def test_a_sign_in_that_this_browser_did_not_begin_is_refused(wires, state):
    client = Client(wires)
    begin(client)
    wires.accounts.codes["c"] = "token-of-reader"
    answer = client.get(f"/login/callback?code=c&state={state}")
    assert (answer.status, "another browser" in answer.text) == (400, True)
    assert client.get("/").status == 303


def test_the_state_of_one_browser_is_none_of_another(wires):
    wires.accounts.codes["c"] = "token-of-reader"
    state = begin(Client(wires))
    other = Client(wires)
    begin(other)
    assert other.get(f"/login/callback?code=c&state={state}").status == 400


@pytest.mark.parametrize("code", ["", "wrong"])
def test_a_code_that_is_not_valid_signs_nobody_in(wires, code):
    client = Client(wires)
    answer = client.get(f"/login/callback?code={code}&state={begin(client)}")
    assert (answer.status, "did not say who you are" in answer.text) == (400, True)


def test_a_sign_in_takes_ten_minutes_at_most(wires):
    client = Client(wires)
    state = begin(client)
    wires.accounts.codes["c"] = "token-of-reader"
    wires.now += 601
    assert client.get(f"/login/callback?code=c&state={state}").status == 400


def test_a_session_ends_after_eight_hours(wires, browser):
    wires.now += 8 * 3600 - 1
    assert browser.get("/").status == 200
    wires.now += 2
    assert browser.get("/").headers["location"] == "/login?next=%2F"


def test_signing_out_ends_the_session_for_whoever_has_its_cookie(wires, browser):
    kept = dict(browser.cookies)
    answer = browser.post_form("/logout", csrf=browser.form_token())
    assert (answer.status, "You are signed out" in answer.text) == (200, True)
    browser.cookies.update(kept)
    assert browser.get("/").status == 303


def test_signing_out_leaves_the_other_sessions_of_a_person(wires, browser):
    other = Client(wires).sign_in("reviewer")
    browser.post_form("/logout", csrf=browser.form_token())
    assert other.get("/").status == 200


def test_a_changed_client_secret_ends_all_sessions(wires, browser):
    wires.secret["client_secret"] = "another secret"
    assert browser.get("/").status == 303


@pytest.mark.parametrize("change", ["login", "signature", "kind", "rubbish", "no text", "long", "half"])
def test_a_cookie_that_is_not_ours_is_nobodys(change):
    sessions = Sessions("secret", lambda: 1000.0)
    cookie = sessions.begin("reader")
    body, _, signature = cookie.partition(".")
    _, sign_in = sessions.begin_sign_in("/")
    forged = {
        "login": f"{body[:-4]}AAAA.{signature}",
        "signature": f"{body}.{'B' if signature[0] == 'A' else 'A'}{signature[1:]}",
        "kind": sign_in,
        "rubbish": "é.é",
        "no text": "\ud800.\ud800",
        "long": "a" * 5000,
        "half": body,
    }[change]
    assert sessions.read(cookie).login == "reader"
    assert sessions.read(forged) is None


@pytest.mark.parametrize(
    "target",
    [
        "https://evil.example/",
        "//evil.example/",
        "/\\evil.example",
        "/%0d%0aSet-Cookie:x",
        "javascript:alert(1)",
        "/login?next=/",
        "/logout",
        "/a b",
        "/" + "a" * 2000,
        "",
    ],
)
def test_nobody_is_sent_elsewhere_after_signing_in(target):
    assert local_path(target) in {"/", "/%0d%0aSet-Cookie:x"}


def test_local_pages_are_gone_back_to():
    assert local_path("/jobs/a-plan-1?after=3") == "/jobs/a-plan-1?after=3"


def test_when_the_forge_is_down_signing_in_says_so_and_when_to_try_again(wires):
    client = Client(wires)
    state = begin(client)
    wires.accounts.failures.append(ForgeUnavailable("502", 9))
    answer = client.get(f"/login/callback?code=c&state={state}")
    assert (answer.status, answer.headers["retry-after"]) == (503, "9")
    assert "Try again in 9" in answer.text


def test_an_app_without_a_client_secret_says_what_to_do():
    wires = WebScenario()
    wires.secret.clear()
    answer = Client(wires).get("/login")
    assert (answer.status, "tidegate secret app" in answer.text) == (503, True)


def test_over_plain_http_the_cookie_is_not_marked_secure_so_that_local_clouds_work():
    wires = WebScenario()
    wires.put({"TIDEGATE_WEB_URL": "http://127.0.0.1:8080"})
    cookie = Client(wires, domain="127.0.0.1:8080").get("/login").cookies[0]
    assert cookie.startswith("tidegate-sign-in=")
    assert "Secure" not in cookie
