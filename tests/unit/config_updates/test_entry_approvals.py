"""What keeps entries in the queue: freeze windows of their environment, and approvals that its requirements ask for."""

from __future__ import annotations

from dataclasses import replace
from datetime import timedelta

import pytest

from tests.fakes import MemoryForge
from tests.unit.config_updates.promotion_scenario import REPOSITORY, THREE, Promotions
from tests.unit.config_updates.worker import CONFIG, FILE, Worker
from tidegate.config_updates.promote import promote_to
from tidegate.config_updates.publish_entry import publish_entry
from tidegate.config_updates.queue.wake_worker import wake_worker
from tidegate.config_updates.retry import retry_entry
from tidegate.config_updates.roll_back import roll_back
from tidegate.config_updates.rules.approvals import EntryApproval, missing_approvals, stood_for, with_approval
from tidegate.config_updates.rules.entry import EntryKind, EntryState
from tidegate.config_updates.rules.environment import EnvironmentState, Landed
from tidegate.config_updates.rules.image_set import identity_of
from tidegate.policies.rules.requirements import Requirements
from tidegate.rules.access import Person
from tidegate.rules.permission import Permission
from tidegate.rules.timestamp import timestamp_text


def freeze(worker: Worker, query: str, after: timedelta = timedelta(), takes: timedelta = timedelta(hours=2)) -> None:
    """Add a freeze window to the file of all commits."""
    begins = worker.clock.now() + after
    times = f"from: '{timestamp_text(begins)}', until: '{timestamp_text(begins + takes)}'"
    rule(worker, f"freeze: [{{{times}, tag_query: '{query}', reason: Sale}}]\n")


def rule(worker: Worker, text: str) -> None:
    """Add a section to the file of all commits."""
    worker.files = FILE + text.encode()
    for (sha, path), content in [*worker.branches.files.items()]:
        worker.branches.files[sha, path] = worker.files if path == "tidegate.yaml" else content
    worker.branches.files[worker.at("main"), "tidegate.yaml"] = worker.files
    worker.ports.config_updates.keep_configuration(CONFIG, worker.at("main"), worker.files)


def entry_of(worker: Worker, identifier: str):
    return worker.ports.config_updates.entry(CONFIG, identifier)


def test_an_announcement_waits_until_the_window_of_its_environment_ends(worker: Worker) -> None:
    freeze(worker, "environment:staging")
    entry = worker.announce(1)
    assert worker.until_waiting() == ["align"]
    assert (worker.head.waiting, worker.state(entry)) == ((entry,), EntryState.QUEUED)
    assert entry_of(worker, entry).waits_for.startswith("staging is frozen until 2026-")
    assert entry_of(worker, entry).waits_for.endswith(": Sale.")
    assert worker.claim().seconds <= 2 * 3600
    worker.later(timedelta(hours=2))
    assert worker.until_waiting() == ["apply"]
    assert (worker.state(entry), entry_of(worker, entry).waits_for) == (EntryState.TESTING, "")


def test_a_window_of_another_environment_keeps_nothing(worker: Worker) -> None:
    freeze(worker, "environment:production")
    worker.announce(1)
    worker.until_waiting()
    assert len(worker.head.stack) == 1


def test_what_is_on_the_auto_branch_when_a_window_begins_leaves_it_and_does_not_land(worker: Worker) -> None:
    entry = worker.announce(1)
    worker.until_waiting()
    publish_entry(worker.ports, CONFIG, entry)
    freeze(worker, "environment:staging")
    worker.checked(entry, "success")
    assert worker.until_waiting() == ["apply"]
    assert (worker.at("auto"), worker.at("main"), worker.head.waiting) == ("m1", "m1", (entry,))
    publish_entry(worker.ports, CONFIG, entry)
    assert list(worker.forge.check_runs.values())[-1].title == "Waits in the queue again"
    worker.later(timedelta(hours=2))
    assert worker.until_waiting() == ["apply"]
    worker.checked(entry, "success")
    assert "land" in worker.until_waiting()


def landed_twice(worker: Worker) -> None:
    """Let staging have had other images before those of the default branch's head."""
    worker.forge.roles.update(dict.fromkeys(("alice", "bob", "olga"), Permission.WRITE))
    state = EnvironmentState(CONFIG, "shop", "staging")
    for commit, content in (("2" * 40, b"before"), ("m1", b"first")):
        state = state.with_landed(Landed(commit, identity_of(content), worker.clock.now(), "ci"))
    worker.ports.config_updates.save_environment(state)
    worker.ports.config_updates.commit(worker.head, replace(worker.head, default_branch="main"))


def test_a_rollback_passes_a_window_only_with_an_operators_override(worker: Worker) -> None:
    landed_twice(worker)
    freeze(worker, "environment:staging")
    made = roll_back(worker.ports, CONFIG, "shop", "staging", "alice")
    assert made.done
    assert "staging is frozen until" in made.reason
    worker.until_waiting()
    assert worker.head.waiting == (made.entry.id,)
    again = roll_back(worker.ports, CONFIG, "shop", "staging", "alice")
    assert (again.done, again.reason[:27]) == (False, "alice asked for that before")
    passed = roll_back(worker.ports, CONFIG, "shop", "staging", "olga", override="Production is down.")
    assert (passed.done, passed.reason) == (True, "olga overrides what it waits for.")
    assert entry_of(worker, made.entry.id).override.by == "olga"
    assert "apply" in worker.until_waiting()
    assert [each.entry for each in worker.head.stack] == [made.entry.id]
    assert worker.ports.audit.published[-1].body["reason"] == "Production is down."


def test_who_retries_an_overridden_rollback_passes_no_window_with_it(worker: Worker) -> None:
    landed_twice(worker)
    freeze(worker, "environment:staging")
    made = roll_back(worker.ports, CONFIG, "shop", "staging", "olga", override="Production is down.")
    assert worker.until_waiting() == ["align"]
    worker.checked(made.entry.id, "failure")
    worker.until_waiting()
    assert retry_entry(worker.ports, CONFIG, made.entry.id, "alice").done
    worker.until_waiting()
    assert (worker.head.stack, worker.head.waiting) == ((), (made.entry.id,))
    assert "staging is frozen until" in entry_of(worker, made.entry.id).waits_for


TWO = "apply_requirements:\n  checks:\n    - {tag_query: 'environment:staging', approved: {any_of_count: 2}}\n"


def test_a_rollback_needs_the_approvals_of_its_environment_and_an_announcement_does_not(worker: Worker) -> None:
    landed_twice(worker)
    rule(worker, f"{TWO}    - {{tag_query: ''}}\n")
    announced = worker.announce(1)
    worker.until_waiting()
    assert worker.state(announced) is EntryState.TESTING
    made = roll_back(worker.ports, CONFIG, "shop", "staging", "alice")
    assert made.reason.endswith("It needs 2 approvals, and has 1 (by alice).")
    worker.until_waiting()
    assert worker.head.waiting == (announced, made.entry.id)
    assert roll_back(worker.ports, CONFIG, "shop", "staging", "bob").reason == "bob approves it."
    wake_worker(worker.ports, CONFIG)
    worker.until_waiting()
    assert worker.head.waiting == (announced,)  # The set is held, since it is rolled back.


PRODUCTION = f"""{THREE}apply_requirements:
  checks:
    - tag_query: environment:internal
      approved: {{any_of: ['user:alice', 'user:bob', 'user:carol'], any_of_count: 2, all_of: ['user:carol']}}
    - tag_query: ''
"""


@pytest.mark.parametrize("promote", ["auto", "manual"])
def test_a_promotion_waits_for_the_approvals_of_different_people(promote: str) -> None:
    file = PRODUCTION.replace("targets: [{name: i1}]", f"targets: [{{name: i1}}], promote: {promote}")
    people = MemoryForge(roles=dict.fromkeys(("alice", "Alice", "carol", "mallory"), Permission.WRITE))
    shop = Promotions(file, people=people)
    entry = shop.announce("one")
    shop.land(entry, "one")
    for each in ("s1", "s2", "s3"):
        shop.report(each)

    def by(login):
        made = promote_to(shop.ports, REPOSITORY, "shop", "internal", login)
        shop.go_on()
        for waiting in shop.waiting("internal"):  # What the queue's worker records with its next claim.
            kept = missing_approvals(waiting.approvals, REQUIRED)
            head = shop.store.head(REPOSITORY)
            shop.store.commit(head, head, [replace(waiting, waits_for=kept)])
        return made.done

    if promote == "auto":
        (waiting,) = shop.waiting("internal")
        head = shop.store.head(REPOSITORY)
        shop.store.commit(head, head, [replace(waiting, waits_for="It needs 2 approvals.")])
    assert by("alice")
    assert not by("Alice")
    assert by("mallory")
    (waiting,) = shop.waiting("internal")
    assert waiting.kind is EntryKind.PROMOTION
    assert waiting.waits_for == (
        "It needs 2 approvals by people among user:alice or user:bob or user:carol, and has 1 (by alice). It needs an "
        "approval by user:carol."
    )
    assert by("carol")
    assert shop.waiting("internal")[0].waits_for == ""


REQUIRED = Requirements(2, any_of=("user:alice", "user:bob", "user:carol"), all_of=("user:carol",))


def approved(*given: tuple[str, tuple[str, ...]]) -> tuple[EntryApproval, ...]:
    return tuple(EntryApproval(by, None, meets) for by, meets in given)


def test_what_no_check_matches_waits_as_for_roots() -> None:
    assert "No check of apply_requirements matches" in missing_approvals((), None)
    assert missing_approvals((), Requirements(mergeable=True, checks=True, undiverged=True)) == ""


def test_a_person_counts_once_and_only_for_whom_they_stood() -> None:
    writer = Person("ann", Permission.WRITE, frozenset({"sre"}))
    wanted = Requirements(1, any_of=("team:sre", "role:admin"))
    assert stood_for(writer, wanted) == ("*", "team:sre")
    assert stood_for(Person("eve", Permission.READ), wanted) == ()
    (once,) = with_approval(approved(("ann", ())), EntryApproval("Ann", None, ("team:sre",)))
    assert missing_approvals((once,), wanted) == ""
    assert missing_approvals(approved(("eve", ("*",))), wanted).startswith(
        "It needs 1 approval by people among team:sre"
    )
