"""Announcements: what enters the queue, what is a repetition, and what is refused. Numbers are the edge cases'."""

from __future__ import annotations

from concurrent.futures import ThreadPoolExecutor
from dataclasses import replace

import pytest

from tests.fakes.ports import changed
from tests.unit.config_updates.verbs import APP_SHA, OTHER_SHA, REPOSITORY, announce, any_seen, images_of, updates_ports
from tidegate.config_updates.evict import evict_entry
from tidegate.config_updates.hold import hold_set, release_set
from tidegate.config_updates.pause import pause_queue, resume_queue
from tidegate.config_updates.retry import retry_entry
from tidegate.config_updates.rules.announcing import Announced
from tidegate.config_updates.rules.entry import EntryState
from tidegate.config_updates.rules.image_set import InvalidImageSet
from tidegate.config_updates.rules.moves import decide_move
from tidegate.config_updates.rules.queue import MOST_OPEN
from tidegate.config_updates.rules.refusals import UnknownImageSet
from tidegate.rules.errors import Conflict


@pytest.fixture
def ports():
    return updates_ports()


def test_it_enters_the_first_environment_with_its_images_stored_and_the_worker_started(ports):
    decision = announce(ports, run_url="https://ci.example/1")
    entry = ports.config_updates.entry(REPOSITORY, decision.entry.id)
    assert (decision.result, entry.environment_key, entry.state) == (
        Announced.ACCEPTED,
        ("shop", "staging"),
        EntryState.QUEUED,
    )
    assert (entry.app_sha, entry.sequence, entry.by, entry.run_url) == (APP_SHA, 1, "developer", "https://ci.example/1")
    assert b"web@sha256" in ports.artifacts.get(entry.images_key)
    head = ports.config_updates.head(REPOSITORY)
    assert (head.waiting, head.changed, head.asked) == ((entry.id,), (entry.id,), True)
    assert ports.update_workflows.workers == [(head.worker.execution, REPOSITORY)]


def test_images_are_stored_before_the_queue_names_them(ports):
    stored = []

    def put(key, content):
        assert not ports.config_updates.head(REPOSITORY).waiting
        stored.append(key)

    decision = announce(changed(ports, artifacts=type("Artifacts", (), {"put": staticmethod(put)})()))
    assert stored == [decision.entry.images_key]


def test_case_3_an_identical_announcement_is_one_entry_however_often_and_concurrently_it_comes(ports):
    first = announce(ports)
    with ThreadPoolExecutor(4) as pool:
        again = list(pool.map(lambda _: announce(ports), range(8)))
    assert {each.result for each in again} == {Announced.DUPLICATE}
    assert {each.entry.id for each in again} == {first.entry.id}
    assert ports.config_updates.head(REPOSITORY).waiting == (first.entry.id,)


def test_case_3_who_loses_a_race_against_the_same_announcement_is_told_that_it_is_a_repetition(ports):
    store, lost = ports.config_updates, []

    class Racing:
        def __getattr__(self, name):
            return getattr(store, name)

        def commit(self, *given):
            if not lost:
                lost.append(announce(ports))
                raise Conflict("head")
            return store.commit(*given)

    assert announce(changed(ports, config_updates=Racing())).result is Announced.DUPLICATE
    assert lost[0].result is Announced.ACCEPTED


def test_case_4_other_images_of_the_same_commit_are_refused_and_nothing_is_written(ports):
    first = announce(ports)
    before = ports.config_updates.head(REPOSITORY)
    decision = announce(ports, body=images_of(APP_SHA, digest="b"))
    assert (decision.result, decision.entry.images) == (Announced.MISMATCH, first.entry.images)
    assert "other images" in decision.reason
    assert ports.config_updates.head(REPOSITORY) == before


def test_case_5_an_older_build_that_finishes_after_a_newer_one_is_superseded(ports):
    announce(ports, sequence=7)
    before = ports.config_updates.head(REPOSITORY)
    decision = announce(ports, OTHER_SHA, sequence=6)
    assert decision.result is Announced.SUPERSEDED
    assert "The sequence 6 is older than 7" in decision.reason
    assert ports.config_updates.head(REPOSITORY) == before
    assert announce(ports, OTHER_SHA, sequence=1, image_set="blog").result is Announced.ACCEPTED


def test_case_6_an_evicted_commit_enters_again_only_by_a_retry(ports):
    entry = announce(ports).entry
    evict_entry(ports, REPOSITORY, entry.id, "operator")
    again = announce(ports)
    assert (again.result, again.entry.state) == (Announced.DUPLICATE, EntryState.EVICTED)
    assert f"tidegate updates retry {REPOSITORY} {entry.id}" in again.reason
    assert ports.config_updates.head(REPOSITORY).waiting == ()
    assert retry_entry(ports, REPOSITORY, entry.id, "operator").done
    assert ports.config_updates.head(REPOSITORY).waiting == (entry.id,)
    assert ports.config_updates.entry(REPOSITORY, entry.id).attempt == 2


@pytest.mark.parametrize(
    "body",
    [
        {"web": {"Tag": f"registry.example/web:{APP_SHA}", "Digest": "registry.example/web@sha256:12"}},
        {"web": {**images_of(APP_SHA)["web"], "Tag": "registry.example/web:latest"}},
        {"web\nAutocommit-Reason: rollback": images_of(APP_SHA)["web"]},
        {},
        [],
    ],
)
def test_case_10_what_names_no_images_of_this_commit_is_refused_and_nothing_is_written(ports, body):
    with pytest.raises(InvalidImageSet):
        announce(ports, body=body)
    assert ports.config_updates.head(REPOSITORY).version == 0


def test_case_54_a_paused_queue_stores_announcements_and_continues_in_their_order(ports):
    assert pause_queue(ports, REPOSITORY, "operator", "Black Friday").done
    made = [announce(ports, f"{number:040x}", sequence=number) for number in range(1, 6)]
    assert all("operator has paused" in each.reason for each in made)
    head = ports.config_updates.head(REPOSITORY)
    entries = ports.config_updates.entries(REPOSITORY, head.open)
    assert decide_move(head, any_seen(entries)).step == "wait"
    assert resume_queue(ports, REPOSITORY, "operator").done
    move = decide_move(ports.config_updates.head(REPOSITORY), any_seen(entries))
    assert move.head.replaying.entries == tuple(each.entry.id for each in made)


def test_a_held_set_stores_announcements_until_it_is_released(ports):
    assert hold_set(ports, REPOSITORY, "shop", "operator", "Broken checkout.").done
    assert "operator holds: Broken checkout." in announce(ports).reason
    head = ports.config_updates.head(REPOSITORY)
    entries = ports.config_updates.entries(REPOSITORY, head.open)
    assert decide_move(head, any_seen(entries)).head.replaying.entries == ()
    assert release_set(ports, REPOSITORY, "shop", "operator").done
    move = decide_move(ports.config_updates.head(REPOSITORY), any_seen(entries))
    assert move.head.replaying.entries == head.waiting


def test_a_full_queue_refuses_more(ports):
    head = ports.config_updates.head(REPOSITORY)
    ports.config_updates.commit(head, replace(head, waiting=tuple(map(str, range(MOST_OPEN)))))
    assert announce(ports).result is Announced.FULL


def test_an_unknown_set_is_refused(ports):
    with pytest.raises(UnknownImageSet):
        announce(ports, image_set="shopp")
