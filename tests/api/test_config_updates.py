"""Config updates by the API: announcements of CI, reports of targets, and what people read and operators do."""

from __future__ import annotations

import json
import re
from dataclasses import replace

import pytest

from tests.api.calls import config_repository
from tests.api.scenario import Client
from tests.builders import REPOSITORY
from tests.unit.config_updates.verbs import APP_SHA, CONFIGURATION, HEAD, OTHER_SHA, images_of
from tidegate.config.model.file import FILE
from tidegate.config_updates.rules.queue import MOST_OPEN
from tidegate.ports import KnownRepository
from tidegate.web.application import LARGEST_BODY

BASE = f"/api/v1/config-updates/{REPOSITORY}"
STAGING = f"{BASE}/sets/shop/targets/staging-eu"
IMAGES = f"{BASE}/sets/shop/images/{APP_SHA}"
CLAIMS = {
    "repository": "acme/shop",
    "ref": "refs/heads/main",
    "sha": APP_SHA,
    "run_number": "42",
    "event_name": "push",
    "actor": "developer",
}


@pytest.fixture
def entry(wires):
    return config_repository(wires)


@pytest.fixture
def ci(wires, entry):
    """A CI run of the set's application."""
    wires.ci_tokens.tokens["token-of-ci"] = dict(CLAIMS)
    return Client(wires, "token-of-ci")


def put(client, body, path=IMAGES):
    answer = client.send_json("PUT", path, body)
    return answer.status, answer.json if answer.status < 400 else answer.json["error"]


def test_an_announcement_is_accepted_and_a_repetition_told_as_such(ci, wires):
    status, first = put(ci, {"images": images_of(APP_SHA), "run_url": "https://ci.example/42"})
    assert (status, first["state"], first["duplicate"], first["paused"]) == (202, "queued", False, False)
    stored = wires.config_updates.entry(REPOSITORY, first["id"])
    assert (stored.sequence, stored.by, stored.run_url) == (42, "developer", "https://ci.example/42")
    status, again = put(ci, images_of(APP_SHA))
    assert (status, again["id"], again["duplicate"]) == (200, first["id"], True)


def test_the_bare_map_is_a_valid_body_also_with_a_service_of_the_name_images(ci, wires):
    status, made = put(ci, {"images": images_of(APP_SHA)["web"]})
    assert status == 202
    assert b'"images"' in wires.artifacts.get(wires.config_updates.entry(REPOSITORY, made["id"]).images_key)


def test_what_cannot_be_accepted_says_why_in_a_word_for_programs(ci, wires):
    put(ci, {"images": images_of(APP_SHA), "sequence": 42})
    assert put(ci, images_of(APP_SHA, digest="b"))[1]["code"] == "payload_mismatch"
    wires.ci_tokens.tokens["token-of-ci"]["sha"] = "e" * 40
    other = IMAGES.replace(APP_SHA, "e" * 40)
    status, refused = put(ci, {"images": images_of("e" * 40), "sequence": 41}, other)
    assert (status, refused["code"], "older than 42" in refused["message"]) == (409, "superseded", True)
    head = wires.config_updates.head(REPOSITORY)
    wires.config_updates.commit(head, replace(head, waiting=tuple(map(str, range(MOST_OPEN)))))
    assert put(ci, images_of("e" * 40), other)[0] == 429


@pytest.mark.parametrize(
    "body",
    [
        {"images": images_of(APP_SHA), "more": 1},
        {"images": images_of(APP_SHA), "sequence": -1},
        {"images": images_of(APP_SHA), "run_url": "javascript:alert(1)"},
        {"web": {**images_of(APP_SHA)["web"], "Platform": "arm64"}},
        {"a\nb": images_of(APP_SHA)["web"]},
        {"web": {"Tag": "web:latest", "Digest": "web@sha256:12"}},
        images_of(OTHER_SHA),
        {},
    ],
)
def test_case_10_what_is_not_described_is_refused_and_nothing_is_written(ci, wires, body):
    before = wires.config_updates.head(REPOSITORY)
    assert put(ci, body)[0] == 422
    assert wires.config_updates.head(REPOSITORY) == before


@pytest.mark.parametrize(
    ("body", "fields"),
    [
        ({"images": {"web": {"Tag": "x"}}}, ["announcement.images.web.Digest"]),
        ({"images": {"Tag": {}}}, ["announcement.images.Tag.Tag", "announcement.images.Tag.Digest"]),
        ({"web": {"Tag": "x"}}, ["map.web.Digest"]),
        ({"images": {"Tag": "x"}}, ["map.images.Digest"]),
    ],
)
def test_a_refused_announcement_names_fields_of_the_form_that_was_meant(ci, body, fields):
    assert named(put(ci, body)[1]) == fields


def named(refused):
    """Return the fields of the body that a refusal names."""
    return re.findall(r"body\.([\w.]+):", refused["message"])


def test_a_body_that_is_too_large_is_refused(ci):
    assert put(ci, {"images": {"web": "x" * LARGEST_BODY}})[0] == 413


@pytest.mark.parametrize(
    ("claims", "told"),
    [
        ({"repository": "evil/shop"}, "evil/shop may not announce"),
        ({"ref": "refs/heads/feature"}, "refs/heads/feature"),
        ({"sha": OTHER_SHA}, f"not for {APP_SHA}"),
    ],
)
def test_case_11_a_run_that_may_not_announce_this_is_refused(ci, wires, claims, told):
    wires.ci_tokens.tokens["token-of-ci"] = {**CLAIMS, **claims}
    before = wires.config_updates.head(REPOSITORY)
    status, refused = put(ci, images_of(APP_SHA))
    assert (status, refused["code"], told in refused["message"]) == (403, "not_allowed", True)
    assert wires.config_updates.head(REPOSITORY) == before


def test_case_11_a_forged_token_and_one_of_a_person_announce_nothing(entry, wires, reviewer):
    for client in (reviewer, Client(wires), Client(wires, "forged")):
        assert put(client, images_of(APP_SHA))[0] == 401


def test_a_paused_queue_and_a_held_set_store_what_is_announced(ci, reviewer):
    assert reviewer.post_json(f"{BASE}/queue/pause", {"reason": "Black Friday"}).status == 200
    status, made = put(ci, images_of(APP_SHA))
    assert (status, made["state"], made["paused"]) == (202, "queued", True)
    assert "reviewer has paused" in made["message"]
    shown = reviewer.get(f"{BASE}/queue").json
    assert (shown["paused"]["by"], shown["paused"]["reason"], len(shown["entries"])) == ("reviewer", "Black Friday", 2)
    assert "reviewer has paused" in shown["entries"][1]["waits_for"]
    assert reviewer.post_json(f"{BASE}/queue/pause", {}).status == 409
    assert reviewer.post_json(f"{BASE}/queue/resume", {}).status == 200


def test_a_target_reports_with_its_own_token_only(entry, wires, reviewer):
    path, report = f"{BASE}/sets/shop/targets/staging-eu", {"config_sha": HEAD, "result": "succeeded"}
    assert Client(wires, "x").post_json(f"{path}/deployed", report).status == 401
    made = reviewer.post_json(f"{path}/token", {}).json["token"]
    assert made not in json.dumps(reviewer.get(f"{BASE}/sets/shop").json)
    assert Client(wires, made).post_json(f"{path}/deployed", report).status == 202
    for other in ("production-eu", "none"):
        refused = Client(wires, made).post_json(f"{BASE}/sets/shop/targets/{other}/deployed", report)
        assert (refused.status, refused.headers["www-authenticate"][:6]) == (401, "Bearer")
    assert Client(wires, made).post_json(f"{path}/deployed", {**report, "result": "maybe"}).status == 422
    again = reviewer.post_json(f"{path}/token", {}).json["token"]
    assert Client(wires, made).post_json(f"{path}/deployed", report).status == 401
    assert Client(wires, again).post_json(f"{path}/deployed", {**report, "result": "failed"}).status == 202
    unknown = reviewer.post_json(f"{BASE}/sets/shop/targets/none/token", {})
    assert (unknown.status, unknown.json["error"]["code"]) == (404, "unknown_target")


@pytest.fixture
def staging(entry, wires, reviewer):
    """The target of staging, with its token."""
    made = reviewer.post_json(f"{STAGING}/token", {}).json["token"]
    return Client(wires, made)


def test_an_event_of_flux_reports_what_it_applied(staging, wires):
    about = {"apiVersion": "kustomize.toolkit.fluxcd.io/v1", "kind": "Kustomization", "name": "shop"}
    event = {
        "involvedObject": about,
        "metadata": {"kustomize.toolkit.fluxcd.io/revision": f"main@sha1:{HEAD}"},
        "severity": "info",
        "reason": "ReconciliationSucceeded",
        "message": "Reconciliation finished in 1.4s, next run in 10m0s",
        "reportingController": "kustomize-controller",
        "timestamp": "2026-03-02T09:00:00Z",
    }
    for no_report in (
        {**event, "reason": "Progressing"},
        {**event, "involvedObject": {**about, "kind": "HelmRelease"}},
        {**event, "metadata": None},
    ):
        answer = staging.post_json(f"{STAGING}/deployed", no_report)
        assert (answer.status, answer.json["rollout"]) == (200, None)
    assert wires.config_updates.environment(REPOSITORY, "shop", "staging").reports == ()
    assert staging.post_json(f"{STAGING}/deployed", event).status == 202
    (report,) = wires.config_updates.environment(REPOSITORY, "shop", "staging").reports
    assert (report.config_sha, report.succeeded) == (HEAD, True)
    failed = {**event, "severity": "error", "reason": "HealthCheckFailed"}
    assert staging.post_json(f"{STAGING}/deployed", failed).status == 202
    assert staging.post_json(f"{STAGING}/deployed", {"reason": "ReconciliationSucceeded"}).status == 422


def test_a_refused_report_names_fields_of_the_form_that_was_meant(staging):
    for body, field in (
        ({"config_sha": HEAD, "result": "maybe"}, "report.result"),
        ({"involvedObject": {}}, "flux.involvedObject.kind"),
    ):
        assert named(staging.post_json(f"{STAGING}/deployed", body).json["error"]) == [field]


def test_reports_of_one_commit_are_ordered_by_their_operations(staging, wires):
    def report(result, operation, minute):
        times = {"operation_id": operation, "finished_at": f"2026-03-02T09:0{minute}:00Z"}
        return staging.post_json(f"{STAGING}/deployed", {"config_sha": HEAD, "result": result, **times}).status

    assert report("failed", "one", 1) == 202
    assert report("succeeded", "two", 3) == 202
    assert report("failed", "one", 1) == 200
    assert report("failed", "two", 4) == 200
    (kept,) = wires.config_updates.environment(REPOSITORY, "shop", "staging").reports
    assert (kept.succeeded, kept.operation_id) == (True, "two")


@pytest.mark.parametrize(
    "at", ["2026-03-02T09:00:00", "9999-12-31T23:59:59-23:59", "0001-01-01T00:00:00+23:59", "yesterday"]
)
def test_a_report_tells_its_end_as_an_instant_that_can_be_stored(staging, wires, at):
    report = {"config_sha": HEAD, "result": "succeeded", "finished_at": at}
    assert staging.post_json(f"{STAGING}/deployed", report).status == 422
    assert wires.config_updates.environment(REPOSITORY, "shop", "staging").reports == ()


def test_an_entry_is_shown_evicted_and_retried(entry, reviewer, reader):
    shown = reader.get(f"{BASE}/entries/{entry}").json
    assert (shown["position"], shown["state"], shown["verdict"], shown["by"]) == (1, "queued", None, "developer")
    evicted = reviewer.post_json(f"{BASE}/entries/{entry}/evict", {}).json
    assert (evicted["entry"]["state"], evicted["entry"]["position"]) == ("evicted", None)
    assert [each["id"] for each in reader.get(f"{BASE}/queue").json["recent"]] == [entry]
    assert reviewer.post_json(f"{BASE}/entries/{entry}/evict", {}).status == 409
    assert reviewer.post_json(f"{BASE}/entries/{entry}/retry", {}).json["entry"]["attempt"] == 2
    assert reader.get(f"{BASE}/entries/none").status == 404


def test_sets_are_shown_as_they_are_declared_and_held_and_released(entry, reviewer, reader):
    shop, blog = reader.get(f"{BASE}/sets").json["sets"]
    assert (shop["app"], shop["sequence"], [each["name"] for each in shop["environments"]]) == (
        "acme/shop",
        1,
        ["staging", "production"],
    )
    assert (blog["held"], shop["environments"][1]["promote"], shop["environments"][0]["newest"]) == (
        None,
        "manual",
        None,
    )
    assert [each["target"] for each in shop["environments"][1]["targets"]] == ["production-eu", "production-us"]
    coming = [[each["id"] for each in environment["coming"]] for environment in shop["environments"]]
    assert (coming, [each["waits_for"] for each in shop["environments"]]) == ([[entry], []], ["", ""])
    assert reviewer.post_json(f"{BASE}/sets/shop/hold", {"reason": "Broken."}).status == 200
    assert reader.get(f"{BASE}/sets/shop").json["held"]["reason"] == "Broken."
    assert reviewer.post_json(f"{BASE}/sets/shop/release", {}).status == 200
    assert reader.get(f"{BASE}/sets/none").json["error"]["code"] == "unknown_set"
    assert reviewer.post_json(f"{BASE}/sets/shop/environments/none/promote", {}).json["error"]["code"] == (
        "unknown_environment"
    )


def test_a_promotion_or_rollback_of_nothing_is_refused_with_its_reason(entry, reviewer):
    for path, body in (("staging/rollback", {}), ("staging/rollback", {"to": "1" * 40}), ("production/promote", {})):
        refused = reviewer.post_json(f"{BASE}/sets/shop/environments/{path}", body)
        assert (refused.status, refused.json["error"]["code"]) == (409, "not_possible")


@pytest.mark.parametrize(
    ("content", "status", "code"),
    [
        (b"version: 1\n", 404, "no_config_updates"),
        (b"config_updates: {}\n", 409, "invalid_configuration"),
    ],
)
def test_a_repository_without_valid_config_updates_says_so(entry, wires, reader, content, status, code):
    wires.config_branches.heads["main"] = "9" * 40
    wires.config_branches.files["9" * 40, FILE] = content
    refused = reader.get(f"{BASE}/sets")
    assert (refused.status, refused.json["error"]["code"]) == (status, code)
    queue = reader.get(f"{BASE}/queue").json
    assert ([each["id"] for each in queue["entries"]], queue["problem"]) == ([entry], refused.json["error"]["message"])


def test_the_queue_of_a_valid_configuration_has_no_problem(entry, reader):
    assert reader.get(f"{BASE}/queue").json["problem"] == ""


def test_repositories_in_nested_groups_are_found(entry, wires, reader):
    wires.repository_index.remember(KnownRepository("a/b/c", "main", HEAD, wires.clock.now()))
    for path in ("queue", "sets", "sets/shop"):
        assert reader.get(f"/api/v1/config-updates/a/b/c/{path}").status == 200
    assert reader.get("/api/v1/config-updates/a/b/c/entries/none").status == 404
    assert put(Client(wires), {}, IMAGES.replace(REPOSITORY, "a/b/c"))[0] == 422


# Access control

OPERATIONS = {
    "entries/{entry}/evict": "review",
    "entries/{entry}/retry": "apply",
    "sets/shop/environments/production/promote": "apply",
    "sets/shop/environments/staging/rollback": "apply",
    "sets/shop/targets/staging-eu/token": "apply",
    "sets/shop/hold": "unlock",
    "sets/shop/release": "unlock",
    "queue/pause": "unlock",
    "queue/resume": "unlock",
}


def guarded(wires, *policies):
    """Give the default branch's file an ``access_control`` with these policies."""
    file = f"{CONFIGURATION}access_control: {json.dumps({'policies': policies})}\n"
    wires.config_branches.heads["main"] = "8" * 40
    wires.config_branches.files["8" * 40, FILE] = file.encode()


@pytest.mark.parametrize(("path", "right"), OPERATIONS.items())
def test_access_control_says_who_may_operate_and_refuses_others_as_for_roots(
    entry, wires, reviewer, reader, path, right
):
    lists = {each: [] for each in ("plan", "apply", "review", "unlock")}
    guarded(wires, {"tag_query": "", **lists, right: ["user:reader"]})
    url = f"{BASE}/{path.format(entry=entry)}"
    refused = reviewer.post_json(url, {})
    assert (refused.status, refused.json["error"]["code"]) == (403, "not_allowed")
    assert refused.json["error"]["message"].startswith("Only user:reader can ")
    assert "environment shop/" in refused.json["error"]["message"]
    assert reader.post_json(url, {}).status in {200, 409}


@pytest.mark.parametrize("path", OPERATIONS)
def test_without_access_control_who_may_write_may_operate(entry, reader, path):
    refused = reader.post_json(f"{BASE}/{path.format(entry=entry)}", {})
    assert (refused.status, "needs write access" in refused.json["error"]["message"]) == (403, True)


def test_the_first_policy_that_matches_the_environment_counts(entry, wires, reviewer):
    guarded(wires, {"tag_query": "environment:production", "apply": []}, {"tag_query": "name:shop/staging"})
    told = [
        reviewer.post_json(f"{BASE}/sets/shop/environments/{name}", {}).json["error"]["message"]
        for name in ("staging/rollback", "production/promote")
    ]
    assert "no earlier image set" in told[0]
    assert told[1].startswith("Nobody can deploy environment shop/production")
    refused = reviewer.post_json(f"{BASE}/queue/pause", {}).json["error"]["message"]
    assert refused.startswith(
        "Nobody can unlock the queue of environment blog/live: no policy of 'access_control' matches"
    )


def test_fields_beside_an_operation_do_not_choose_what_is_checked(entry, wires, reviewer):
    guarded(wires, {"tag_query": "environment:production", "apply": []}, {"tag_query": ""})
    path = "sets/shop/environments/production/promote"
    refused = reviewer.post_json(f"{BASE}/{path}?entry={entry}&id={entry}&environment=staging", {})
    assert refused.status == 403


def test_only_operators_override_what_a_rollback_waits_for(entry, wires, reviewer):
    path = f"{BASE}/sets/shop/environments/staging/rollback"
    wires.forge.teams["acme/operators"] = {"somebody-else"}
    refused = reviewer.post_json(path, {"override": "Production is down."})
    assert (refused.status, "operators_team" in refused.json["error"]["message"]) == (403, True)
    assert reviewer.post_json(path, {"override": " "}).status == 409
