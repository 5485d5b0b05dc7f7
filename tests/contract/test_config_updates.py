"""What every store of config repositories does."""

from __future__ import annotations

from dataclasses import replace
from datetime import timedelta

import pytest

from tests.builders import NOW
from tests.fakes.config_updates import MemoryConfigUpdates
from tidegate.config_updates.adapters.store import DynamoConfigUpdates
from tidegate.config_updates.rules.entry import EntryKind, EntryState, UpdateEntry
from tidegate.config_updates.rules.environment import EnvironmentState, Landed
from tidegate.config_updates.rules.fan_in import TargetReport
from tidegate.config_updates.rules.queue import (
    Blocked,
    Hold,
    JudgedCheck,
    OnAuto,
    Pause,
    Replaying,
    ReplayReason,
    RequestedAgain,
    SetState,
    UpdateHead,
    ended,
)
from tidegate.config_updates.rules.verdicts import Verdict
from tidegate.deploys.rules.queue import Worker
from tidegate.discovery.adapters.repository_index import DynamoRepositoryIndex
from tidegate.rules.errors import Conflict, NotFound

CONFIG, OTHER = "acme/config", "acme/other"


@pytest.fixture
def store(request, kind):
    if kind == "memory":
        return MemoryConfigUpdates()
    return DynamoConfigUpdates(request.getfixturevalue("client"), request.getfixturevalue("table"))


def entry(name="one", **fields):
    return UpdateEntry(name, CONFIG, "shop", "staging", EntryKind.ANNOUNCEMENT, NOW, "acme-ci", **fields)


def committed(store, *entries, repository=CONFIG, **fields):
    head = store.head(repository)
    return store.commit(head, replace(head, **fields), entries)


def test_a_head_is_kept_whole(store):
    assert store.head(CONFIG) == UpdateHead(CONFIG)
    on_auto = OnAuto(
        "one",
        "a" * 40,
        NOW,
        ("b" * 40,),
        Verdict.NONE,
        "check is running.",
        (JudgedCheck("check", Verdict.NONE, "is running"),),
        (RequestedAgain("check", "check_run", 7, NOW),),
    )
    known = committed(
        store,
        worker=Worker("worker-1", 1, started=True),
        generation=1,
        token="token",
        asked=True,
        default_branch="main",
        auto_branch="auto",
        base="c" * 40,
        auto="a" * 40,
        stack=(on_auto,),
        waiting=("two",),
        changed=("one",),
        sets=(SetState("shop", 7, Hold("rhea", NOW, "Incident.")),),
        replaying=Replaying(
            "x-replay-1", ReplayReason.EVICT, "c" * 40, "c" * 40, "a" * 40, ("two",), ("one",), "three"
        ),
        pause=Pause("rhea", NOW, "Release."),
        blocked=Blocked("Refused.", NOW),
        refusals=3,
    )
    assert known.version == 1
    assert store.head(CONFIG) == known


def test_only_one_of_two_writers_of_a_head_succeeds_and_the_other_saves_nothing(store):
    before = store.head(CONFIG)
    store.commit(before, replace(before, waiting=("one",)), [entry("one")])
    with pytest.raises(Conflict):
        store.commit(before, replace(before, waiting=("two",)), [entry("two")])
    assert store.head(CONFIG).waiting == ("one",)
    with pytest.raises(NotFound):
        store.entry(CONFIG, "two")


def test_more_entries_than_one_transaction_takes_are_saved_with_a_head(store):
    names = [f"e{number}" for number in range(250)]
    committed(store, *(entry(name) for name in names), waiting=tuple(names))
    assert set(store.entries(CONFIG, [*names, "unknown"])) == set(names)


def test_config_repositories_are_listed_once_they_have_a_queue(store):
    committed(store, asked=True)
    committed(store, asked=False)
    committed(store, repository=OTHER, asked=True)
    assert sorted(store.repositories()) == [CONFIG, OTHER]


def test_the_history_has_what_ended_the_newest_first(store):
    first = ended(entry("one"), EntryState.LANDED, "Passed.", NOW)
    second = ended(entry("two"), EntryState.EVICTED, "Failed.", NOW + timedelta(minutes=1))
    committed(store, first, second, entry("three"))
    assert [each.id for each in store.history(CONFIG, 10)] == ["two", "one"]
    assert [each.id for each in store.history(CONFIG, 1)] == ["two"]
    assert [each.id for each in store.history(CONFIG, 10, before=second.ended_at)] == ["one"]
    assert store.entry(CONFIG, "two") == second


def test_an_environment_is_kept_whole_and_by_its_version(store):
    report = TargetReport("eu", "identity", "a" * 40, succeeded=True, reported_at=NOW)
    state = EnvironmentState(CONFIG, "shop", "staging", landed=(Landed("a" * 40, "identity", NOW, "acme-ci"),))
    head = store.head(CONFIG)
    store.commit(head, head, environments=[replace(state, reports=(report,))])
    known = store.environment(CONFIG, "shop", "staging")
    assert (known.version, known.landed, known.reports) == (1, state.landed, (report,))
    assert store.environments(CONFIG) == [known]
    store.save_environment(replace(known, complete="identity", complete_at=NOW))
    with pytest.raises(Conflict):
        store.save_environment(known)
    head = store.head(CONFIG)
    with pytest.raises(Conflict):
        store.commit(head, replace(head, asked=True), environments=[known])
    assert store.head(CONFIG) == head


def test_a_targets_newest_token_counts(store):
    assert store.target_token(CONFIG, "shop", "eu") == ""
    store.keep_target_token(CONFIG, "shop", "eu", "first", "rhea")
    store.keep_target_token(CONFIG, "shop", "eu", "second", "rhea")
    assert store.target_token(CONFIG, "shop", "eu") == "second"
    assert store.target_token(CONFIG, "shop", "us") == ""


def test_a_file_is_kept_for_the_commit_that_it_is_of(store):
    store.keep_configuration(CONFIG, "a" * 40, "version: 1  # ü\n".encode())
    assert store.configuration(CONFIG, "a" * 40) == "version: 1  # ü\n".encode()
    assert store.configuration(CONFIG, "b" * 40) is None


def test_entries_are_no_deployments_of_their_repository(request, store, kind):
    if kind == "memory":
        pytest.skip("The lists of deployments are other records there.")
    committed(store, entry("one"), waiting=("one",))
    index = DynamoRepositoryIndex(request.getfixturevalue("client"), request.getfixturevalue("table"))
    assert index.of_repository(CONFIG, 10).deployments == ()
