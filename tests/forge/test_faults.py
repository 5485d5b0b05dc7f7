"""Faults on demand, from inside and over HTTP."""

from __future__ import annotations

import http.client
import time
import urllib.error

import pytest

from tidegate_local.forge.client import ForgeAnswered
from tidegate_local.forge.faults import Fault

IN = "/repos/acme/infra"
RUNS = r"/api/v3/repos/[^/]+/[^/]+/check-runs.*"


@pytest.mark.parametrize(
    ("kind", "status", "header"),
    [
        ("secondary_limit", 403, "7"),
        ("primary_limit", 429, "7"),
        ("server_error", 500, None),
        ("bad_credentials", 401, None),
    ],
)
def test_the_next_matching_calls_fail_and_then_no_more(api, forge, sha, *, kind, status, header):
    token = api.installation_token()
    forge.inject(Fault(kind, "POST", RUNS, times=2, seconds=7))
    body = {"name": "x", "head_sha": sha}
    assert api.ask("GET", IN, token=token)[0] == 200
    for _ in range(2):
        answered, headers, _ = api.ask("POST", f"{IN}/check-runs", body, token=token)
        assert (answered, headers["Retry-After"]) == (status, header)
    assert api.ask("POST", f"{IN}/check-runs", body, token=token)[0] == 201


def test_a_call_can_take_effect_although_its_answer_fails(api, maintainer, sha):
    token = api.installation_token()
    maintainer.inject("server_error", method="POST", path=RUNS, after=True)
    assert api.ask("POST", f"{IN}/check-runs", {"name": "x", "head_sha": sha}, token=token)[0] == 500
    assert [run["name"] for run in maintainer.check_runs("acme/infra", sha)] == ["x"]


def test_a_connection_can_be_closed_without_an_answer(api, maintainer, sha):
    maintainer.inject("close", path="/api/v3/user")
    with pytest.raises((urllib.error.URLError, http.client.HTTPException, ConnectionError)):
        api.ask("GET", "/user", token="maintainer")
    assert api.ask("GET", "/user", token="maintainer")[0] == 200


def test_a_call_can_hang_before_its_connection_is_closed(forge, api, maintainer, sha):
    maintainer.inject("hang", path="/api/v3/user", seconds=0.05)
    started = time.monotonic()
    with pytest.raises((urllib.error.URLError, http.client.HTTPException, ConnectionError)):
        api.ask("GET", "/user", token="maintainer")
    assert time.monotonic() - started >= 0.05


def test_git_fails_too_when_asked(maintainer, sha):
    maintainer.inject("server_error", path=r"/acme/infra\.git/.*", times=1)
    with pytest.raises(ForgeAnswered, match="500"):
        maintainer.push("acme/infra", {"a": "a"}, "Try", branch="new", base="main")


def test_faults_can_be_taken_back(api, maintainer, sha):
    maintainer.inject("server_error", times=9)
    maintainer.clear_faults()
    assert api.ask("GET", "/user", token="maintainer")[0] == 200


def test_webhooks_are_pointed_elsewhere_over_http(forge, maintainer):
    maintainer.point_webhook_at("http://127.0.0.1:9/hook", "secret")
    assert forge.hosting.webhooks.url == "http://127.0.0.1:9/hook"
    maintainer.point_webhook_at(None, "")
    assert forge.hosting.webhooks.url is None
    with pytest.raises(ForgeAnswered, match="422"):
        maintainer.send("PUT", "/_local/webhook", {}, {"url": 7, "secret": "x"})


def test_a_page_of_another_site_cannot_use_the_switches(maintainer):
    with pytest.raises(ForgeAnswered, match="415"):
        maintainer.send("POST", "/_local/faults", {}, b"kind=hang")


def test_the_forge_tells_which_calls_programs_made(api, maintainer, sha):
    maintainer.page("/acme/infra")
    api.ask("GET", "/user", token="maintainer")
    maintainer.push("acme/infra", {"a": "a"}, "More")
    calls = [(call["method"], call["path"]) for call in maintainer.calls()]
    rest = calls.index(("GET", "/api/v3/user"))
    assert ("POST", "/acme/infra.git/git-receive-pack") in calls[rest:]
    assert all("/_local/" not in path and path != "/acme/infra" for _, path in calls)
    assert all(call["agent"] and call["at"] > 0 for call in maintainer.calls())


def test_an_unknown_fault_is_refused(maintainer):
    for wrong in ({"kind": "earthquake"}, {"kind": "hang", "path": "("}):
        with pytest.raises(ForgeAnswered, match="422"):
            maintainer.inject(**wrong)


class TestWebhooksThatGoWrong:
    @pytest.fixture(autouse=True)
    def begun(self, receiver, sha):
        """The webhooks of the first push have come."""
        receiver.wait_for("push")
        receiver.wait_for("check_suite", "requested")

    def test_a_lost_webhook_is_recorded_as_failed_and_comes_when_it_is_asked_for(self, api, maintainer, receiver):
        maintainer.lose_webhooks("push")
        after = maintainer.push("acme/infra", {"b": "b"}, "Lost")
        maintainer.push("acme/infra", {"c": "c"}, "Kept")
        kept = receiver.wait_for("push", before=after)
        assert len(kept) == 1
        (failed,) = recorded(api, "push", 502, 1)
        assert (failed["event"], failed["status_code"]) == ("push", 502)
        api.call("POST", f"/app/hook/deliveries/{failed['id']}/attempts", token=api.app_token())
        (again,) = receiver.wait_for("push", after=after)
        assert again["headers"]["X-GitHub-Delivery"] == failed["guid"]

    def test_a_webhook_whose_answer_is_lost_has_come_and_counts_as_failed(self, api, maintainer, receiver):
        maintainer.lose_webhook_answers("push")
        after = maintainer.push("acme/infra", {"b": "b"}, "Unanswered")
        receiver.wait_for("push", after=after)
        (failed,) = recorded(api, "push", 504, 1)
        assert (failed["status_code"], failed["redelivery"]) == (504, False)

    def test_a_doubled_webhook_comes_twice_under_one_guid(self, maintainer, receiver):
        maintainer.duplicate_webhooks("push")
        after = maintainer.push("acme/infra", {"b": "b"}, "Twice")
        first, second = receiver.wait_for("push", count=2, after=after)
        assert first["headers"]["X-GitHub-Delivery"] == second["headers"]["X-GitHub-Delivery"]

    def test_a_delayed_webhook_comes_later(self, maintainer, receiver):
        maintainer.delay_webhooks("push", seconds=0.3)
        started = time.monotonic()
        after = maintainer.push("acme/infra", {"b": "b"}, "Late")
        receiver.wait_for("push", after=after)
        assert time.monotonic() - started >= 0.3

    def test_webhook_faults_are_of_one_event_and_action_and_are_taken_back(self, maintainer, receiver):
        maintainer.lose_webhooks("check_suite", action="completed", times=3)
        after = maintainer.push("acme/infra", {"b": "b"}, "Kept")
        receiver.wait_for("check_suite", "requested", count=2)
        maintainer.lose_webhooks(times=9)
        maintainer.clear_faults()
        assert maintainer.send("GET", "/_local/webhook-faults", {}, None) == '{"left": 0}'
        receiver.wait_for("push", after=after)

    @pytest.mark.parametrize("wrong", [{"kind": "tear"}, {"kind": "lose", "times": 0}, {"kind": "lose", "age": 3}, {}])
    def test_an_unknown_webhook_fault_is_refused(self, maintainer, wrong):
        with pytest.raises(ForgeAnswered, match="422"):
            maintainer.send("POST", "/_local/webhook-faults", {}, wrong)


def _head(one):
    return one["payload"].get("check_suite", {}).get("head_sha")


def recorded(api, event, code, count):
    """Return the recorded deliveries of an event with a status, once there are ``count`` of them."""
    deadline = time.monotonic() + 60
    while time.monotonic() < deadline:
        listed = api.call("GET", "/app/hook/deliveries?per_page=100", token=api.app_token())
        found = [one for one in listed if (one["event"], one["status_code"]) == (event, code)]
        if len(found) >= count:
            return found
    raise AssertionError(f"no {code} of {event}")
