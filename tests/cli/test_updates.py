"""``tidegate announce`` and ``tidegate updates``: config updates for CI, people and scripts."""

from __future__ import annotations

import json

import pytest

from tests.cli.conftest import NOW, SHA, TOKEN, refused

BASE = "/api/v1/config-updates/acme/config"
IMAGES = {"web": {"Tag": f"r.example/web:{SHA}", "Digest": "r.example/web@sha256:" + "a" * 64}}
ENTRY = {
    "id": "entry0123456789",
    "repository": "acme/config",
    "image_set": "shop",
    "environment": "staging",
    "kind": "announcement",
    "state": "testing",
    "position": 1,
    "verdict": "pass",
    "requested_at": NOW,
    "by": "developer",
    "app_sha": SHA,
    "sequence": 42,
    "attempt": 1,
}
PROMOTION = {
    **ENTRY,
    "id": "entry9876543210",
    "environment": "production",
    "kind": "promotion",
    "state": "queued",
    "verdict": None,
    "source_sha": "f" * 40,
    "source_environment": "staging",
    "waits_for": "It waits until somebody releases shop, which operator holds: [red]Broken",
}
ENDED = {**ENTRY, "id": "entry5555555555", "state": "evicted", "position": None, "ended_at": NOW, "kind": "rollback"}
LANDED = {"commit": "1" * 40, "identity": "i", "at": NOW, "by": "developer", "kind": "announcement", "app_sha": SHA}
TARGET = {"target": "staging-eu", "config_sha": "1" * 40, "succeeded": True, "reported_at": NOW, "current": True}
ENVIRONMENTS = [
    {
        "name": "staging",
        "promote": "auto",
        "newest": LANDED,
        "complete": True,
        "targets": [TARGET],
        "waits_for": "Somebody must promote it to production.",
    },
    {
        "name": "production",
        "promote": "manual",
        "newest": LANDED,
        "targets": [
            {**TARGET, "target": "production-eu", "succeeded": False, "current": False, "failed": True},
            {**TARGET, "target": "failed-before", "succeeded": False, "current": False, "failed": False},
        ],
        "coming": [{**PROMOTION, "app_sha": "c" * 40, "waits_for": ""}, PROMOTION],
    },
]
SHOP = {"name": "shop", "app": "acme/shop", "sequence": 42, "environments": ENVIRONMENTS}
BLOG = {"name": "blog", "app": "acme/blog", "environments": [{"name": "staging", "promote": "auto", "newest": None}]}


@pytest.fixture
def images(tmp_path):
    file = tmp_path / "images.json"
    file.write_text(json.dumps(IMAGES))
    return str(file)


ANNOUNCED = {"id": "entry0123456789", "state": "queued", "message": "It is in the queue."}
PUT = f"PUT {BASE}/sets/shop/images/{SHA}"


def test_a_job_of_gitlab_announces_with_its_token(api, tidegate, images):
    api.answers[PUT] = ANNOUNCED
    variables = {
        "TIDEGATE_CI_TOKEN": "token-of-ci",
        "CI_COMMIT_SHA": SHA,
        "CI_PIPELINE_URL": "https://gitlab.example/p/1",
    }
    result = tidegate("announce", "acme/config", "--set", "shop", "--images", images, **variables)
    assert (result.exit_code, "It is in the queue." in result.stdout) == (0, True), result.output
    asked = api.asked[-1]
    assert (asked.token, asked.body) == ("token-of-ci", {"images": IMAGES, "run_url": "https://gitlab.example/p/1"})


def test_a_job_of_github_gets_a_token_for_the_installation(api, tidegate, images):
    api.answers[PUT] = (202, ANNOUNCED)
    api.answers["GET /token"] = {"value": "token-of-actions"}
    variables = {
        "ACTIONS_ID_TOKEN_REQUEST_URL": f"{api.url}/token?api-version=2.0",
        "ACTIONS_ID_TOKEN_REQUEST_TOKEN": "request-token",
        "GITHUB_SHA": SHA,
        "GITHUB_SERVER_URL": "https://github.com",
        "GITHUB_REPOSITORY": "acme/shop",
        "GITHUB_RUN_ID": "77",
    }
    arguments = ("announce", "acme/config", "--set", "shop", "--images", images, "--sequence", "7", "--json")
    result = tidegate(*arguments, **variables)
    assert json.loads(result.stdout)["id"] == "entry0123456789"
    asked, announced = api.asked
    assert (asked.token, asked.query) == ("request-token", {"api-version": "2.0", "audience": api.url})
    assert (announced.token, announced.body["sequence"]) == ("token-of-actions", 7)
    assert announced.body["run_url"] == "https://github.com/acme/shop/actions/runs/77"


def test_an_announcement_is_repeated_while_the_installation_is_busy(api, tidegate, images, monkeypatch):
    monkeypatch.setattr("tidegate_cli.api_client.PAUSES", (0.0, 0.0))
    api.answers[PUT] = [refused(503, "cloud_unavailable", "Later."), (503, {"message": "gateway"}), ANNOUNCED]
    result = tidegate(
        "announce", "acme/config", "--set", "shop", "--sha", SHA, "--images", images, TIDEGATE_CI_TOKEN="t"
    )
    assert (result.exit_code, len(api.asked)) == (0, 3)


@pytest.mark.parametrize("given", ['{"web": "r.example/web:1"}', '{"web": {"Tag": "r.example/web:1"}}'])
def test_images_of_another_form_are_told_before_anything_is_sent(api, tidegate, tmp_path, given):
    (tmp_path / "images.json").write_text(given)
    asked = ("announce", "acme/config", "--set", "shop", "--sha", SHA, "--images", str(tmp_path / "images.json"))
    result = tidegate(*asked, TIDEGATE_CI_TOKEN="t")
    assert (result.exit_code, "web is no object with Tag and Digest" in " ".join(result.output.split())) == (2, True)
    assert not api.asked


def test_what_the_installation_refuses_is_told_with_an_exit_code(api, tidegate, images):
    arguments = ("announce", "acme/config", "--set", "shop", "--sha", SHA, "--images", images)
    for status, code, exit_code in ((409, "superseded", 1), (422, "invalid_images", 2), (403, "not_allowed", 4)):
        api.answers[PUT] = refused(status, code, "It says why.")
        result = tidegate(*arguments, TIDEGATE_CI_TOKEN="t")
        assert (result.exit_code, "It says why." in result.output) == (exit_code, True)
    api.answers[PUT] = refused(401, "not_signed_in", "its audience must be another")
    result = tidegate(*arguments, TIDEGATE_CI_TOKEN="t")
    assert (result.exit_code, "this CI run" in result.output) == (4, True)


def test_outside_of_ci_and_without_a_commit_or_images_nothing_is_sent(api, tidegate, images, tmp_path):
    arguments = ("announce", "acme/config", "--set", "shop", "--images")
    bad = tmp_path / "bad.json"
    bad.write_text("[]")
    for words, variables, exit_code, told in (
        ((images, "--sha", SHA), {}, 4, "id-token: write"),
        ((images,), {"TIDEGATE_CI_TOKEN": "t"}, 2, "--sha"),
        ((images, "--sha", SHA[:10]), {"TIDEGATE_CI_TOKEN": "t"}, 2, "no whole commit"),
        ((str(bad), "--sha", SHA), {"TIDEGATE_CI_TOKEN": "t"}, 2, "no JSON object"),
        ((str(tmp_path / "none"), "--sha", SHA), {"TIDEGATE_CI_TOKEN": "t"}, 3, "none"),
        ((images, "--sha", SHA), {"TIDEGATE_CI_TOKEN": "a b"}, 2, "TIDEGATE_CI_TOKEN"),
        ((images, "--sha", SHA, "--sequence", "-1"), {"TIDEGATE_CI_TOKEN": "t"}, 2, "sequence"),
    ):
        result = tidegate(*arguments, *words, **variables)
        assert (result.exit_code, told in " ".join(result.output.split())) == (exit_code, True), result.output
    actions = {"ACTIONS_ID_TOKEN_REQUEST_TOKEN": "t", "ACTIONS_ID_TOKEN_REQUEST_URL": f"{api.url}/token"}
    assert tidegate(*arguments, images, "--sha", SHA, **actions).exit_code == 5
    actions["ACTIONS_ID_TOKEN_REQUEST_URL"] = "http://token.example/"
    assert tidegate(*arguments, images, "--sha", SHA, **actions).exit_code == 2
    assert [asked.path for asked in api.asked] == ["/token"]


def test_the_queue_is_shown_with_what_waits_and_what_has_left(api, tidegate):
    api.answers[f"GET {BASE}/queue"] = {
        "repository": "acme/config",
        "paused": {"by": "operator", "at": NOW, "reason": "Black Friday"},
        "blocked": {"reason": "The branch is protected.", "until": NOW},
        "entries": [ENTRY, PROMOTION],
        "recent": [ENDED],
    }
    shown = tidegate("updates", "queue", "acme/config", COLUMNS="200").stdout
    for told in (
        "Paused by operator",
        "Black Friday",
        "tidegate updates resume acme/config",
        "The branch is protected.",
        "testing (checks passed)",
        "shop/staging",
        SHA[:10],
        "from staging ffffffffff",
        "[red]Broken",
        "evicted",
        "back to",
    ):
        assert told in shown, told
    narrow = tidegate("updates", "queue", "acme/config", COLUMNS="110").stdout.splitlines()
    assert any("shop/production" in line and PROMOTION["id"] in line for line in narrow), (
        "A wait makes no column wider."
    )
    assert json.loads(tidegate("updates", "queue", "acme/config", "--json").stdout)["entries"][0]["id"] == ENTRY["id"]
    api.answers[f"GET {BASE}/queue"] = {"repository": "acme/config"}
    assert "The queue is empty." in tidegate("updates", "queue", "acme/config").stdout


def test_an_empty_queue_says_once_what_is_wrong_with_the_configuration(api, tidegate):
    problem = "tidegate.yaml:2:3: missing key 'sets'."
    for blocked in (None, {"reason": problem, "until": NOW}):
        api.answers[f"GET {BASE}/queue"] = {"repository": "acme/config", "problem": problem, "blocked": blocked}
        shown = tidegate("updates", "queue", "acme/config", COLUMNS="200").stdout
        assert (shown.count("Blocked"), shown.count(problem)) == (1, 1)


def test_an_entry_is_shown_or_where_to_find_one(api, tidegate):
    api.answers[f"GET {BASE}/entries/entry0123456789"] = {**ENTRY, "reason": "It says why.", "ended_at": NOW}
    shown = tidegate("updates", "show", "acme/config", "entry0123456789").stdout
    assert ("It says why." in shown, SHA in shown) == (True, True)
    for words in (("show",), ("evict",), ("retry",)):
        result = tidegate("updates", *words, "acme/config", "none")
        assert (result.exit_code, "tidegate updates queue acme/config" in result.output) == (3, True)


def test_a_rollback_to_what_is_no_commit_is_told_before_anything_is_sent(api, tidegate):
    for given in ("main", "1234", "x" * 40):
        result = tidegate("updates", "rollback", "acme/config", "production", "--to", given)
        assert (result.exit_code, f"'{given}' is no commit" in " ".join(result.output.split())) == (2, True)
    assert not api.asked


def test_sets_are_shown_with_what_is_where(api, tidegate):
    held = {**SHOP, "held": {"by": "operator", "at": NOW, "reason": "Broken."}}
    api.answers[f"GET {BASE}/sets"] = {"repository": "acme/config", "sets": [held, BLOG]}
    shown = tidegate("updates", "sets", "acme/config", COLUMNS="200").stdout
    for told in ("announced by acme/shop", "Held by operator", "tidegate updates release acme/config shop", SHA[:10]):
        assert told in shown, told
    for told in ("1 of 1", "0 of 2, failed: production-eu", "nothing yet", "ccccccc", "promote it to production"):
        assert told in shown, told
    assert "failed-before" not in shown, "It could not deploy an earlier image set."


@pytest.mark.parametrize(
    ("words", "path", "body"),
    [
        (("pause", "--reason", "Why"), "queue/pause", {"reason": "Why"}),
        (("resume",), "queue/resume", {}),
        (("evict", "e1"), "entries/e1/evict", {}),
        (("retry", "e1"), "entries/e1/retry", {}),
        (("hold", "shop", "--reason", "Why"), "sets/shop/hold", {"reason": "Why"}),
        (("release", "shop"), "sets/shop/release", {}),
        (("promote", "production"), "sets/shop/environments/production/promote", {}),
        (("rollback", "staging", "--set", "blog"), "sets/blog/environments/staging/rollback", {}),
        (
            ("rollback", "production", "--to", "1234567"),
            "sets/shop/environments/production/rollback",
            {"to": "1234567"},
        ),
    ],
)
def test_operators_control_the_queue(api, tidegate, words, path, body):
    api.answers[f"GET {BASE}/sets"] = {"repository": "acme/config", "sets": [SHOP, BLOG]}
    api.answers[f"POST {BASE}/{path}"] = {"message": "It is done."}
    result = tidegate("updates", words[0], "acme/config", *words[1:])
    assert (result.exit_code, result.stdout) == (0, "It is done.\n"), result.output
    assert (api.asked[-1].body, api.asked[-1].token) == (body, TOKEN)
    api.answers[f"POST {BASE}/{path}"] = refused(409, "not_possible", "It says why.")
    assert tidegate("updates", words[0], "acme/config", *words[1:]).exit_code == 1


def test_what_somebody_wrote_does_nothing_to_the_terminal(api, tidegate, images):
    hostile = "It waits until somebody releases shop, which operator holds: \x1b]0;owned\x07."
    api.answers[f"POST {BASE}/entries/e1/retry"] = {"message": hostile}
    api.answers[PUT] = {**ANNOUNCED, "message": hostile}
    announced = tidegate(
        "announce", "acme/config", "--set", "shop", "--images", images, "--sha", SHA, TIDEGATE_CI_TOKEN="t"
    )
    for result in (announced, tidegate("updates", "retry", "acme/config", "e1")):
        assert (result.exit_code, "\x1b" in result.output, "owned" in result.output) == (0, False, True)


def test_an_environment_of_several_sets_or_of_none_is_asked_for(api, tidegate):
    api.answers[f"GET {BASE}/sets"] = {"repository": "acme/config", "sets": [SHOP, BLOG]}
    several = tidegate("updates", "rollback", "acme/config", "staging")
    assert (several.exit_code, "--set shop" in several.output) == (2, True)
    none = tidegate("updates", "promote", "acme/config", "none")
    assert (none.exit_code, "production, staging" in none.output) == (3, True)


def test_a_target_s_token_is_printed_alone(api, tidegate):
    api.answers[f"POST {BASE}/sets/shop/targets/eu/token"] = {"token": "tidegate_target_x", "message": "Store it."}
    result = tidegate("updates", "token", "acme/config", "shop", "eu")
    assert (result.stdout, "Store it." in result.stderr) == ("tidegate_target_x\n", True)
