"""Faults on demand, from inside and over HTTP."""

from __future__ import annotations

import http.client
import time
import urllib.error

import pytest

from local.forge.client import ForgeAnswered
from local.forge.faults import Fault

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
    maintainer.inject("close", path="/api/v3/rate_limit")
    with pytest.raises((urllib.error.URLError, http.client.HTTPException, ConnectionError)):
        api.ask("GET", "/rate_limit", token="maintainer")
    assert api.ask("GET", "/rate_limit", token="maintainer")[0] == 200


def test_a_call_can_hang_before_its_connection_is_closed(forge, api, maintainer, sha):
    maintainer.inject("hang", path="/api/v3/rate_limit", seconds=0.05)
    started = time.monotonic()
    with pytest.raises((urllib.error.URLError, http.client.HTTPException, ConnectionError)):
        api.ask("GET", "/rate_limit", token="maintainer")
    assert time.monotonic() - started >= 0.05


def test_git_fails_too_when_asked(maintainer, sha):
    maintainer.inject("server_error", path=r"/acme/infra\.git/.*", times=1)
    with pytest.raises(ForgeAnswered, match="500"):
        maintainer.push("acme/infra", {"a": "a"}, "Try", branch="new", base="main")


def test_faults_can_be_taken_back(api, maintainer, sha):
    maintainer.inject("server_error", times=9)
    maintainer.clear_faults()
    assert api.ask("GET", "/rate_limit", token="maintainer")[0] == 200


def test_webhooks_are_pointed_elsewhere_over_http(forge, maintainer):
    maintainer.point_webhook_at("http://127.0.0.1:9/hook", "secret")
    assert forge.hosting.webhooks.url == "http://127.0.0.1:9/hook"
    maintainer.point_webhook_at(None, "")
    assert forge.hosting.webhooks.url is None
    with pytest.raises(ForgeAnswered, match="422"):
        maintainer._send("PUT", "/_local/webhook", {}, {"url": 7, "secret": "x"})


def test_a_page_of_another_site_cannot_use_the_switches(maintainer):
    with pytest.raises(ForgeAnswered, match="415"):
        maintainer._send("POST", "/_local/faults", {}, b"kind=hang")


def test_an_unknown_fault_is_refused(maintainer):
    for wrong in ({"kind": "earthquake"}, {"kind": "hang", "path": "("}):
        with pytest.raises(ForgeAnswered, match="422"):
            maintainer.inject(**wrong)
