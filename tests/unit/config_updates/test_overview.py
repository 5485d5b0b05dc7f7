"""What people read of a config repository: its environments, its image sets and its queue."""

from __future__ import annotations

import json
from dataclasses import replace
from datetime import timedelta

import pytest

from tests.instants import utc
from tests.unit.config_updates.verbs import APP_SHA, OTHER_SHA, REPOSITORY, updates_ports
from tidegate.config_updates.get_entries import get_entry, get_set, get_sets, get_update_queue
from tidegate.config_updates.get_overview import ServiceImage, get_overview
from tidegate.config_updates.rules.entry import EntryKind, EntryState, UpdateEntry
from tidegate.config_updates.rules.environment import EnvironmentState, Landed
from tidegate.config_updates.rules.fan_in import TargetReport
from tidegate.config_updates.rules.image_set import identity_of
from tidegate.config_updates.rules.promotion import NextEnvironment, Promotion, Stage
from tidegate.config_updates.rules.queue import Hold, JudgedCheck, OnAuto
from tidegate.config_updates.rules.refusals import UnknownImageSet
from tidegate.config_updates.rules.verdicts import Verdict
from tidegate.config_updates.texts.promotion import waiting_text
from tidegate.rules.errors import NotFound

AT = utc("2026-03-02T07:00")
NEWER, OLDER = "1" * 40, "2" * 40


def images(**tags):
    """Return the file of an environment: the tag of each service."""
    return json.dumps({name: {"Tag": f"registry.example/{name}:{tag}"} for name, tag in tags.items()}).encode()


def landed(ports, *contents, environment="production", **fields):
    """Record that image sets landed in an environment of the shop, the newest first."""
    history = []
    for commit, content in zip((NEWER, OLDER), contents, strict=False):
        ports.config_branches.files[commit, f"images/{environment}.json"] = content
        history.append(Landed(commit, identity_of(content), AT, "acme-ci", entry=f"entry-{commit[0]}"))
    state = EnvironmentState(REPOSITORY, "shop", environment, landed=tuple(history), **fields)
    return ports.config_updates.save_environment(state)


def an_entry(name, environment="staging", **fields):
    return UpdateEntry(name, REPOSITORY, "shop", environment, EntryKind.ANNOUNCEMENT, AT, "acme-ci", **fields)


def queued(ports, *entries, stack=()):
    """Put entries into the queue: those that have not ended wait, unless they are on the auto branch."""
    head = ports.config_updates.head(REPOSITORY)
    stacked = {each.entry for each in stack}
    waiting = tuple(each.id for each in entries if not each.ended_at and each.id not in stacked)
    return ports.config_updates.commit(head, replace(head, stack=tuple(stack), waiting=waiting), entries)


def seen(ports, environment="production"):
    shop = next(each for each in get_overview(ports, REPOSITORY).sets if each.declared.name == "shop")
    return next(each for each in shop.environments if each.declared.name == environment)


def test_nothing_is_known_of_a_repository_where_nothing_happened_yet():
    ports = updates_ports()
    overview = get_overview(ports, REPOSITORY)
    assert [each.declared.name for each in overview.sets] == ["shop", "blog"]
    assert (overview.queue.entries, overview.queue.recent) == ((), ())
    production = seen(ports)
    assert (production.newest, production.services, production.coming, production.promotion) == (None, (), (), None)
    assert (production.is_complete, production.reported, production.failed) == (False, (), ())


def test_services_show_what_the_last_change_brought():
    ports = updates_ports()
    landed(ports, images(web="new", worker="same", added="first"), images(web="old", worker="same", gone="old"))
    assert seen(ports).services == (
        ServiceImage("added", "first"),
        ServiceImage("web", "new", "old"),
        ServiceImage("worker", "same", "same"),
    )
    assert [each.service for each in seen(ports).services if each.is_changed] == ["added", "web"]


def test_the_first_image_set_that_is_known_shows_no_changes():
    ports = updates_ports()
    landed(ports, images(web="first"))
    assert [each.is_changed for each in seen(ports).services] == [False]


@pytest.mark.parametrize("content", [b"web: {Tag: 1}", b"[" * 100_000, b'["web"]', b'{"web": "1", "worker": {}}'])
def test_a_file_of_another_form_shows_no_services(content):
    ports = updates_ports()
    landed(ports, content)
    assert seen(ports).newest is not None
    assert seen(ports).services == ()


def test_a_file_that_is_gone_or_is_not_what_landed_shows_no_services():
    ports = updates_ports()
    landed(ports, images(web="new"))
    ports.config_branches.files[NEWER, "images/production.json"] = images(web="other")
    assert seen(ports).services == ()
    del ports.config_branches.files[NEWER, "images/production.json"]
    assert seen(ports).services == ()


def test_targets_count_only_with_reports_of_what_is_on_the_default_branch():
    ports = updates_ports()
    new, old = images(web="new"), images(web="old")
    succeeded = TargetReport("production-eu", identity_of(new), NEWER, succeeded=True, reported_at=AT)
    outdated = TargetReport("production-us", identity_of(old), OLDER, succeeded=True, reported_at=AT)
    state = landed(ports, new, old, reports=(succeeded, outdated))
    assert (seen(ports).reported, seen(ports).failed) == (("production-eu",), ())
    failed = replace(outdated, identity=identity_of(new), succeeded=False)
    ports.config_updates.save_environment(replace(state, reports=(succeeded, failed)))
    assert (seen(ports).reported, seen(ports).failed) == (("production-eu",), ("production-us",))


def test_an_environment_is_complete_with_what_is_newest_only():
    ports = updates_ports()
    new, old = images(web="new"), images(web="old")
    state = landed(ports, new, old, complete=identity_of(old))
    assert not seen(ports).is_complete
    ports.config_updates.save_environment(replace(state, complete=identity_of(new)))
    assert seen(ports).is_complete


def test_an_image_set_that_lands_again_is_not_a_change():
    ports = updates_ports()
    state = landed(ports, images(web="new"))
    again = replace(state.landed[0], commit=OLDER, by="somebody")
    assert state.with_landed(again) is state


def test_the_promotion_of_what_landed_is_shown_and_of_nothing_else():
    ports = updates_ports()
    landed(ports, images(web="new"), images(web="old"))
    landed(ports, images(web="new"), environment="staging")
    of_newest = Promotion(REPOSITORY, "entry-1", 1, "shop", "production", "", (), 0, stage=Stage.TARGETS)
    ports.config_updates.save_promotion(replace(of_newest, entry="entry-2"))
    assert seen(ports).promotion is None
    ports.config_updates.save_promotion(of_newest)
    assert seen(ports).promotion.entry == "entry-1"
    assert seen(ports, "staging").promotion is None


def test_a_hold_is_shown_at_its_image_set():
    ports = updates_ports()
    head = ports.config_updates.head(REPOSITORY)
    hold = Hold("operator", AT, "Incident.")
    ports.config_updates.commit(head, head.with_set(replace(head.set_state("shop"), hold=hold)))
    assert [each.hold for each in get_overview(ports, REPOSITORY).sets] == [hold, None]
    assert get_set(ports, REPOSITORY, "shop").state.hold == hold


def test_what_comes_is_shown_at_its_environment():
    ports = updates_ports()
    queued(ports, an_entry("one"), an_entry("two", "production"), an_entry("three"))
    assert [each.id for each in seen(ports, "staging").coming] == ["one", "three"]
    assert [each.id for each in seen(ports).coming] == ["two"]


def test_entries_of_the_queue_have_their_positions_and_say_what_they_wait_for():
    ports = updates_ports()
    on_auto = OnAuto("first", NEWER, AT, checks=(JudgedCheck("build", Verdict.NONE, "is running"),))
    queued(ports, an_entry("first"), an_entry("second", waits_for="It waits for a window."), stack=[on_auto])
    first, second = get_update_queue(ports, REPOSITORY).entries
    assert (first.entry.id, first.position, first.on_auto, first.waits_for) == ("first", 1, on_auto, on_auto.note)
    assert (second.entry.id, second.position, second.on_auto) == ("second", 2, None)
    assert second.waits_for == "It waits for a window."
    assert get_entry(ports, REPOSITORY, "second") == second


def test_an_entry_whose_record_has_expired_leaves_the_positions_of_the_others():
    ports = updates_ports()
    head = queued(ports, an_entry("kept"))
    ports.config_updates.commit(head, replace(head, waiting=("expired", "kept")))
    assert [(each.entry.id, each.position) for each in get_update_queue(ports, REPOSITORY).entries] == [("kept", 2)]


def test_only_the_last_attempt_of_what_was_not_landed_can_be_retried():
    ports = updates_ports()
    first = an_entry("again", app_sha=APP_SHA, state=EntryState.EVICTED, ended_at=AT)
    second = replace(first, attempt=2, ended_at=AT + timedelta(minutes=1))
    done = an_entry("done", app_sha=OTHER_SHA, state=EntryState.LANDED, ended_at=AT + timedelta(minutes=2))
    queued(ports, first, second, done)
    recent = get_update_queue(ports, REPOSITORY).recent
    assert [(each.entry.id, each.entry.attempt, each.can_retry) for each in recent] == [
        ("done", 1, False),
        ("again", 2, True),
        ("again", 1, False),
    ]
    found = get_entry(ports, REPOSITORY, "again")
    assert (found.entry.attempt, found.position) == (2, None)


def test_what_a_newer_image_set_has_replaced_cannot_be_retried():
    ports = updates_ports()

    def retriable():
        return [each.entry.id for each in get_update_queue(ports, REPOSITORY).recent if each.can_retry]

    queued(ports, an_entry("old", app_sha=APP_SHA, sequence=1, state=EntryState.EVICTED, ended_at=AT))
    assert retriable() == ["old"]
    newer = an_entry("newer", app_sha=OTHER_SHA, sequence=2)
    queued(ports, newer)
    assert retriable() == []
    queued(ports, replace(newer, id="entry-1", state=EntryState.LANDED, ended_at=AT))
    assert retriable() == ["old"]
    landed(ports, images(web="new"), environment="staging")
    assert retriable() == []


def test_what_a_worker_recorded_before_it_died_and_decided_again_is_shown_once():
    ports = updates_ports()
    ended = an_entry("ended", state=EntryState.EVICTED, ended_at=AT)
    again = replace(ended, ended_at=AT + timedelta(minutes=1))
    back = an_entry("back", state=EntryState.SUPERSEDED, ended_at=AT)
    queued(ports, ended, back, again, replace(back, state=EntryState.QUEUED, ended_at=None))
    queue = get_update_queue(ports, REPOSITORY)
    assert [(each.entry.id, each.entry.ended_at) for each in queue.recent] == [("ended", again.ended_at)]
    assert [each.entry.id for each in queue.entries] == ["back"]


def test_an_entry_that_never_was_is_not_found():
    with pytest.raises(NotFound):
        get_entry(updates_ports(), REPOSITORY, "no-such-entry")


def test_image_sets_have_their_declared_environments_whether_something_landed_or_not():
    ports = updates_ports()
    state = landed(ports, images(web="new"))
    shop, blog = get_sets(ports, REPOSITORY)
    assert [each.state for each in shop.environments] == [EnvironmentState(REPOSITORY, "shop", "staging"), state]
    assert [each.state.name for each in blog.environments] == ["live"]
    assert get_set(ports, REPOSITORY, "shop") == shop


def test_image_sets_show_what_comes_and_what_it_waits_for():
    ports = updates_ports()
    landed(ports, images(web="new"), environment="staging")
    queued(ports, an_entry("one", "production", waits_for="It waits for a window."))
    promotion = Promotion(REPOSITORY, "entry-1", 1, "shop", "staging", "", (), 0, stage=Stage.AFTER, reason="By hand.")
    ports.config_updates.save_promotion(promotion)
    staging, production = get_set(ports, REPOSITORY, "shop").environments
    assert (staging.coming, staging.promotion.reason) == ((), "By hand.")
    assert [(each.position, each.waits_for) for each in production.coming] == [(1, "It waits for a window.")]
    assert production.promotion is None


def test_an_image_set_that_soaks_says_until_when():
    soaks = Promotion(
        REPOSITORY, "one", 1, "shop", "staging", "", (), 1800, stage=Stage.SOAK, complete_at=AT, reason="Deployed."
    )
    assert waiting_text(soaks) == "It soaks until 2026-03-02 07:30 UTC."
    assert waiting_text(replace(soaks, stage=Stage.AFTER)) == "Deployed."
    assert waiting_text(None) == ""


def test_what_goes_on_to_the_next_environment_is_shown_there():
    ports = updates_ports()
    landed(ports, images(web="new"), environment="staging")
    waiting = Promotion(
        REPOSITORY,
        "entry-1",
        1,
        "shop",
        "staging",
        "",
        (),
        0,
        following=NextEnvironment("production"),
        stage=Stage.AFTER,
    )
    ports.config_updates.save_promotion(waiting)
    assert seen(ports).arriving.entry == "entry-1"
    assert seen(ports, "staging").arriving is None
    for other in (
        replace(waiting, version=1, following=NextEnvironment("gone")),
        replace(waiting, version=2, following=None),
        replace(waiting, version=3, stage=Stage.TARGETS),
    ):
        ports.config_updates.save_promotion(other)
        assert seen(ports).arriving is None


def test_an_image_set_that_is_not_declared_is_unknown():
    with pytest.raises(UnknownImageSet):
        get_set(updates_ports(), REPOSITORY, "no-such-set")
