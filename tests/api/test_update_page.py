"""The page of a config repository: what runs where, what is on its way, and the operators' buttons."""

from __future__ import annotations

import json
from dataclasses import replace

import pytest

from tests.api.scenario import Client
from tests.builders import REPOSITORY, sha
from tests.instants import utc
from tidegate.config.rules.config_updates import Promote
from tidegate.config_updates.rules.entry import EntryKind, EntryState, UpdateEntry
from tidegate.config_updates.rules.environment import BY_HAND, EnvironmentState, Landed
from tidegate.config_updates.rules.fan_in import TargetReport
from tidegate.config_updates.rules.image_set import identity_of
from tidegate.config_updates.rules.promotion import NextEnvironment, Promotion, Stage
from tidegate.config_updates.rules.queue import JudgedCheck, OnAuto
from tidegate.config_updates.rules.verdicts import Verdict

PAGE = f"/config-updates/{REPOSITORY}"
AT = utc("2026-03-02T07:00")
FILE = b"""\
config_updates:
  required_checks: [{name: check, app: github-actions}]
  sets:
    - name: shop
      app: {repository: acme/shop}
      environments:
        - {name: staging, file: images/staging.json, targets: [{name: eu}, {name: us}]}
        - {name: production, file: images/production.json, targets: [{name: production-eu}]}
"""


def images(tag: str) -> bytes:
    return json.dumps({"web": {"Tag": f"docker.example.com/web:{tag}", "Digest": "sha256:0"}}).encode()


@pytest.fixture
def config(wires):
    """A config repository with an image set in staging, another one on its way there, and nothing in production."""
    branches = wires.ports.config_branches
    branches.heads["main"] = sha(1)
    branches.files[sha(1), "tidegate.yaml"] = FILE
    old, new = images("b" * 40), images("a" * 40)
    branches.files[sha(2), "images/staging.json"], branches.files[sha(3), "images/staging.json"] = new, old
    landed = Landed(sha(2), identity_of(new), AT, "acme-ci", app_sha="a" * 40, entry="landed")
    before = Landed(sha(3), identity_of(old), AT, "acme-ci", app_sha="b" * 40)
    report = TargetReport("eu", identity_of(new), sha(2), succeeded=True, reported_at=AT)
    state = EnvironmentState(REPOSITORY, "shop", "staging", landed=(landed, before), reports=(report,))
    wires.ports.config_updates.save_environment(state)
    entry = UpdateEntry(
        "coming", REPOSITORY, "shop", "staging", EntryKind.ANNOUNCEMENT, AT, "acme-ci", app_sha="c" * 40
    )
    evicted = replace(
        entry, id="evicted", app_sha="d" * 40, state=EntryState.EVICTED, reason="check <b>failed</b>.", ended_at=AT
    )
    head = wires.ports.config_updates.head(REPOSITORY)
    checks = (JudgedCheck("check", Verdict.NONE, "is running"),)
    stacked = replace(head, stack=(OnAuto("coming", sha(4), AT, checks=checks),), base=sha(1), auto=sha(4))
    wires.ports.config_updates.commit(head, stacked, [replace(entry, state=EntryState.TESTING), evicted])
    return wires.ports.config_updates


def entries(config):
    """Return the open entries."""
    return list(config.entries(REPOSITORY, config.head(REPOSITORY).open).values())


def test_one_look_tells_what_runs_where_since_when_and_what_is_on_its_way(config, browser):
    text = browser.get(PAGE).text
    assert "staging aaaaaaa" in text
    assert "1 of 2" in text
    assert "web aaaaaaa was bbbbbbb" in text
    assert "ccccccc" in text
    assert "check is running" in text


def test_what_waits_for_a_person_is_shown_where_it_goes(config, browser):
    state = config.environment(REPOSITORY, "shop", "staging")
    config.save_environment(replace(state, complete=state.newest.identity, complete_at=AT))
    after = NextEnvironment("production", Promote.MANUAL)
    waits = Promotion(REPOSITORY, "landed", 1, "shop", "staging", "", (), 0, following=after, stage=Stage.AFTER)
    config.save_promotion(replace(waits, reason="Somebody must promote it to production."))
    production = browser.get(PAGE).text.partition("production ")[2]
    assert "aaaaaaa Somebody must promote it to production." in production


def test_the_commit_of_images_that_nobody_announced_is_that_of_their_tags(config, browser):
    state = config.environment(REPOSITORY, "shop", "staging")
    by_hand = replace(state.newest, app_sha="", kind=BY_HAND)
    config.save_environment(replace(state, landed=(by_hand, *state.landed[1:])))
    assert "staging aaaaaaa in" in browser.get(PAGE).text


def test_the_applications_commit_is_linked(config, browser):
    assert f'acme/shop/commit/{"a" * 40}"' in browser.get(PAGE).body


def test_somebody_chooses_what_to_go_back_to(config, browser):
    assert f'<option value="{sha(3)}">bbbbbbb' in browser.get(PAGE).body
    what = {"action": "rollback", "set": "shop", "environment": "staging", "to": sha(3)}
    assert browser.post_form(f"{PAGE}/act", csrf=browser.form_token(PAGE), **what).status == 303
    (entry,) = (each for each in entries(config) if each.kind is EntryKind.ROLLBACK)
    assert (entry.source_sha, entry.override) == (sha(3), None)


def test_only_operators_let_a_rollback_pass_a_freeze(config, wires, browser):
    what = {"action": "rollback", "set": "shop", "environment": "staging", "to": sha(3), "override": "Down."}
    wires.forge.teams["acme/operators"] = {"somebody-else"}
    assert 'name="override"' not in browser.get(PAGE).body
    refused = browser.post_form(f"{PAGE}/act", csrf=browser.form_token(PAGE), **what)
    assert (refused.status, len(entries(config))) == (403, 1)


def test_an_operators_reason_lets_a_rollback_pass_a_freeze(config, browser):
    what = {"action": "rollback", "set": "shop", "environment": "staging", "to": sha(3), "override": " Down. "}
    assert 'name="override"' in browser.get(PAGE).body
    assert browser.post_form(f"{PAGE}/act", csrf=browser.form_token(PAGE), **what).status == 303
    (entry,) = (each for each in entries(config) if each.kind is EntryKind.ROLLBACK)
    assert (entry.override.by, entry.override.reason) == ("reviewer", "Down.")


def test_a_pause_has_a_reason(config, browser):
    browser.post_form(f"{PAGE}/act", action="pause", reason="Incident.", csrf=browser.form_token(PAGE))
    assert 'name="reason"' in browser.get(PAGE).body
    assert "Incident." in browser.get(PAGE).text


def test_texts_of_programs_are_escaped(config, browser):
    page = browser.get(PAGE)
    assert "check <b>failed</b>." in page.text
    assert "<b>failed</b>" not in page.body


def test_an_operator_evicts_an_entry_on_the_page(config, browser):
    answer = browser.post_form(f"{PAGE}/act", action="evict", entry="coming", csrf=browser.form_token(PAGE))
    assert answer.status == 303
    assert [each.entry for each in config.head(REPOSITORY).evictions] == ["coming"]


def test_an_operator_holds_a_set_with_a_reason(config, browser):
    browser.post_form(f"{PAGE}/act", action="hold", set="shop", reason="Incident.", csrf=browser.form_token(PAGE))
    hold = config.head(REPOSITORY).set_state("shop").hold
    assert (hold.by, hold.reason) == ("reviewer", "Incident.")
    assert "Incident." in browser.get(PAGE).text


def test_only_the_last_attempt_of_an_entry_can_be_retried(config, browser):
    assert "Retry" in browser.get(PAGE).text
    browser.post_form(f"{PAGE}/act", action="retry", entry="evicted", csrf=browser.form_token(PAGE))
    assert config.entry(REPOSITORY, "evicted").attempt == 2
    text = browser.get(PAGE).text
    assert "Evicted" in text
    assert "Retry" not in text


def test_the_queue_says_that_a_hold_keeps_an_entry_waiting(config, browser):
    browser.post_form(f"{PAGE}/act", action="retry", entry="evicted", csrf=browser.form_token(PAGE))
    browser.post_form(f"{PAGE}/act", action="hold", set="shop", reason="Incident.", csrf=browser.form_token(PAGE))
    assert "It waits until somebody releases shop, which reviewer holds: Incident." in browser.get(PAGE).text


@pytest.mark.parametrize("action", ["pause", "evict", "hold", "promote", "rollback", "no-such-action"])
def test_a_reader_sees_the_page_and_changes_nothing(config, wires, action):
    reader = Client(wires).sign_in("reader")
    assert "Evict" not in reader.get(PAGE).text.replace("Evicted", "")
    before = config.head(REPOSITORY)
    answer = reader.post_form(f"{PAGE}/act", action=action, entry="coming", set="shop", csrf=reader.form_token(PAGE))
    assert answer.status in {403, 404}
    assert config.head(REPOSITORY) == before


def test_a_repository_without_config_updates_says_what_to_do(wires, browser):
    branches = wires.ports.config_branches
    branches.heads["main"] = sha(1)
    branches.files[sha(1), "tidegate.yaml"] = b"version: 1\n"
    answer = browser.get(PAGE)
    assert answer.status in {404, 409, 422}
    assert "config_updates" in answer.text


def test_the_repositorys_page_leads_to_it(config, browser):
    assert f'href="{PAGE}"' in browser.get(f"/repositories/{REPOSITORY}").body


def test_what_all_targets_run_can_be_promoted(config, browser):
    assert "Promote" not in browser.get(PAGE).text
    state = config.environment(REPOSITORY, "shop", "staging")
    config.save_environment(replace(state, complete=state.newest.identity, complete_at=AT))
    assert "Promote" in browser.get(PAGE).text


def test_buttons_are_offered_to_whom_access_control_grants_them_and_others_are_refused(config, wires, browser):
    file = (
        FILE
        + b"""\
access_control:
  policies:
    - {tag_query: environment:staging, review: ['user:reader'], apply: ['user:reader']}
    - {tag_query: ''}
"""
    )
    wires.ports.config_branches.files[sha(1), "tidegate.yaml"] = file
    reader = Client(wires).sign_in("reader")
    assert ["Roll back" in each.get(PAGE).text for each in (browser, reader)] == [False, True]
    csrf = browser.form_token(PAGE)
    allowed = {"set": "shop", "environment": "production", "id": "no"}
    refused = browser.post_form(f"{PAGE}/act", action="evict", entry="coming", csrf=csrf, **allowed)
    assert (refused.status, config.head(REPOSITORY).evictions) == (403, ())
    assert "Only user:reader can review plans of environment shop/staging" in refused.text
    done = reader.post_form(f"{PAGE}/act", action="evict", entry="coming", csrf=reader.form_token(PAGE))
    assert (done.status, len(config.head(REPOSITORY).evictions)) == (303, 1)
    assert "Done" not in reader.get(f"{PAGE}?done=done").text
