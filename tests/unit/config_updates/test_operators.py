"""What operators ask of a queue: evict, retry, pause, hold, roll back, promote."""

from __future__ import annotations

from dataclasses import replace

import pytest

from tests.instants import utc
from tests.unit.config_updates.verbs import APP_SHA, HEAD, OTHER_SHA, REPOSITORY, announce, any_seen, updates_ports
from tidegate.config_updates.evict import evict_entry
from tidegate.config_updates.hold import hold_set, release_set
from tidegate.config_updates.pause import pause_queue, resume_queue
from tidegate.config_updates.promote import promote_to
from tidegate.config_updates.retry import retry_entry
from tidegate.config_updates.roll_back import roll_back
from tidegate.config_updates.rules.audit import AuditedAction
from tidegate.config_updates.rules.entry import EntryKind, EntryState
from tidegate.config_updates.rules.environment import EnvironmentState, Landed
from tidegate.config_updates.rules.moves import UpdateStep, decide_move
from tidegate.config_updates.rules.promotion import NextEnvironment, Promotion, Stage
from tidegate.config_updates.rules.queue import MOST_OPEN, OnAuto, Replaying, ReplayReason, close_evicted
from tidegate.config_updates.rules.refusals import UnknownEnvironment, UnknownImageSet
from tidegate.config_updates.rules.verdicts import CheckVerdict, CommitVerdict, RequiredCheck, Verdict
from tidegate.config_updates.target_tokens import make_target_token
from tidegate.rules.errors import CloudUnavailable, NotFound

NOW = utc("2026-03-02T08:30")
COMMITS = ["1" * 40, "2" * 40, "3" * 40]


@pytest.fixture
def ports():
    return updates_ports()


def stack(ports, *shas):
    """Announce a commit for each and put it on the auto branch; return the entries' ids."""
    made = [announce(ports, f"{number:040x}", sequence=number).entry.id for number, _ in enumerate(shas, 1)]
    head = ports.config_updates.head(REPOSITORY)
    on_auto = tuple(OnAuto(each, sha, NOW) for each, sha in zip(made, shas, strict=True))
    ports.config_updates.commit(head, replace(head, waiting=(), stack=on_auto, base=HEAD, auto=shas[-1]))
    return made


def landed(ports, name="staging", complete="", commits=COMMITS):
    """Store that image sets have landed in an environment, the last commit's as the newest."""
    state = EnvironmentState(REPOSITORY, "shop", name)
    for commit in commits:
        state = state.with_landed(Landed(commit, f"identity-{commit[0]}", NOW, "developer", app_sha=APP_SHA))
    return ports.config_updates.save_environment(replace(state, complete=complete))


def test_a_waiting_entry_leaves_at_once(ports):
    entry = announce(ports).entry
    decision = evict_entry(ports, REPOSITORY, entry.id, "operator")
    assert (decision.done, decision.entry.state, decision.entry.reason) == (
        True,
        EntryState.EVICTED,
        "operator evicted it.",
    )
    head = ports.config_updates.head(REPOSITORY)
    assert (head.waiting, entry.id in head.changed) == ((), True)
    again = evict_entry(ports, REPOSITORY, entry.id, "operator")
    assert (again.done, "it is evicted" in again.reason) == (False, True)


def test_an_entry_on_the_auto_branch_leaves_with_the_next_replay_before_anything_lands(ports):
    low, high = stack(ports, "8" * 40, "9" * 40)
    decision = evict_entry(ports, REPOSITORY, low, "operator")
    assert (decision.done, "next replay" in decision.reason) == (True, True)
    assert not evict_entry(ports, REPOSITORY, low, "other").done
    head = ports.config_updates.head(REPOSITORY)
    passed = CommitVerdict(Verdict.PASS, (CheckVerdict(RequiredCheck("build", "ci"), Verdict.PASS, "passed"),))
    entries = ports.config_updates.entries(REPOSITORY, head.open)
    move = decide_move(head, any_seen(entries, auto="9" * 40, **{low: passed, high: passed}))
    assert (move.step, move.head.replaying.evicted, move.head.replaying.entries) == (UpdateStep.EVICT, low, (high,))
    assert move.head.stack[0].note == "operator evicted it."
    aligned = decide_move(head, any_seen(entries, default="7" * 40, auto="9" * 40))
    assert (aligned.step, aligned.head.replaying.evicted) == (UpdateStep.ALIGN, low)
    gone = replace(head, stack=head.stack[1:])
    assert decide_move(gone, any_seen(entries, auto="9" * 40)).head.evictions == ()


def test_an_entry_that_a_replay_makes_just_now_leaves_after_it(ports):
    entry = announce(ports).entry.id
    head = ports.config_updates.head(REPOSITORY)
    ports.config_updates.commit(
        head, replace(head, replaying=Replaying("job", ReplayReason.APPLY, HEAD, HEAD, HEAD, (entry,)))
    )
    assert evict_entry(ports, REPOSITORY, entry, "operator").done
    head = ports.config_updates.head(REPOSITORY)
    assert head.waiting == (entry,)
    entries = ports.config_updates.entries(REPOSITORY, head.open)
    assert decide_move(replace(head, replaying=None), any_seen(entries)).head.replaying.entries == ()
    after, (closed,) = close_evicted(replace(head, replaying=None), entries, NOW)
    assert (after.waiting, after.evictions, closed.state) == ((), (), EntryState.EVICTED)


def test_only_what_was_evicted_or_failed_is_retried(ports):
    entry = announce(ports).entry
    assert "It is queued" in retry_entry(ports, REPOSITORY, entry.id, "operator").reason
    evict_entry(ports, REPOSITORY, entry.id, "operator")
    decision = retry_entry(ports, REPOSITORY, entry.id, "operator")
    assert (decision.done, decision.entry.id, decision.entry.attempt) == (True, entry.id, 2)
    stored = ports.config_updates.entry(REPOSITORY, entry.id)
    assert (stored.state, stored.reason, stored.ended_at) == (EntryState.QUEUED, "", None)
    for verb in (evict_entry, retry_entry):
        with pytest.raises(NotFound):
            verb(ports, REPOSITORY, "none", "operator")


def test_a_retry_never_undoes_a_newer_image_set(ports):
    old = announce(ports, sequence=1).entry.id
    evict_entry(ports, REPOSITORY, old, "operator")
    new = announce(ports, OTHER_SHA, sequence=2).entry
    assert "sequence 2" in retry_entry(ports, REPOSITORY, old, "operator").reason
    evict_entry(ports, REPOSITORY, new.id, "operator")
    state = ports.config_updates.environment(REPOSITORY, "shop", "staging")
    ports.config_updates.save_environment(state.with_landed(Landed(HEAD, "i", NOW, "developer", entry=new.id)))
    refused = retry_entry(ports, REPOSITORY, old, "operator")
    assert (refused.done, "tidegate updates rollback" in refused.reason) == (False, True)


def test_what_is_so_already_is_refused_with_who_did_it(ports):
    assert "not paused" in resume_queue(ports, REPOSITORY, "b").reason
    assert pause_queue(ports, REPOSITORY, "a").done
    assert pause_queue(ports, REPOSITORY, "b").reason.startswith("a has paused")
    assert "not held" in release_set(ports, REPOSITORY, "shop", "b").reason
    assert hold_set(ports, REPOSITORY, "shop", "a", "Why.").done
    assert hold_set(ports, REPOSITORY, "shop", "b", "Other.").reason == "a holds shop already: Why."
    for verb in (lambda: hold_set(ports, REPOSITORY, "x", "a", ""), lambda: release_set(ports, REPOSITORY, "x", "a")):
        with pytest.raises(UnknownImageSet):
            verb()


def test_a_rollback_enters_as_an_entry_and_holds_the_set(ports):
    landed(ports)
    decision = roll_back(ports, REPOSITORY, "shop", "staging", "operator")
    entry = decision.entry
    assert (decision.done, entry.kind, entry.source_sha) == (True, EntryKind.ROLLBACK, COMMITS[1])
    assert (entry.source_environment, entry.environment_key, entry.app_sha) == ("staging", ("shop", "staging"), APP_SHA)
    head = ports.config_updates.head(REPOSITORY)
    assert (head.waiting, head.set_state("shop").hold.by) == ((entry.id,), "operator")
    entries = ports.config_updates.entries(REPOSITORY, head.open)
    assert decide_move(head, any_seen(entries)).head.replaying.entries == (entry.id,)
    again = roll_back(ports, REPOSITORY, "shop", "staging", "other", to=COMMITS[1])
    assert (again.done, "operator asked for that before" in again.reason) == (False, True)
    evict_entry(ports, REPOSITORY, entry.id, "operator")
    assert "tidegate updates retry" in roll_back(ports, REPOSITORY, "shop", "staging", "other").reason


def test_a_rollback_names_an_earlier_commit_or_is_refused_with_those_that_there_are(ports):
    assert "no earlier image set" in roll_back(ports, REPOSITORY, "shop", "staging", "operator").reason
    landed(ports)
    for to, why in ((COMMITS[2], "now"), ("111111", "The last ones"), ("f" * 40, f"landed with: {COMMITS[1][:10]}")):
        assert why in roll_back(ports, REPOSITORY, "shop", "staging", "operator", to).reason
    hold_set(ports, REPOSITORY, "shop", "first", "Why.")
    done = roll_back(ports, REPOSITORY, "shop", "staging", "operator", COMMITS[0][:7])
    assert done.entry.source_sha == COMMITS[0]
    assert ports.config_updates.head(REPOSITORY).set_state("shop").hold.by == "first"
    with pytest.raises(UnknownEnvironment):
        roll_back(ports, REPOSITORY, "shop", "none", "operator")


def any_promotion(stage, **fields):
    made = Promotion(REPOSITORY, "entry", 1, "shop", "staging", "f", ("t",), 0, NextEnvironment("production"))
    return replace(made, stage=stage, **fields)


def test_a_promotion_that_waits_for_a_person_is_approved_once(ports):
    ports.config_updates.save_promotion(any_promotion(Stage.AFTER))
    assert promote_to(ports, REPOSITORY, "shop", "production", "operator").done
    assert ports.config_updates.promotion(REPOSITORY, "entry", 1).approved_by == "operator"
    assert "operator has promoted" in promote_to(ports, REPOSITORY, "shop", "production", "other").reason


def test_of_several_promotions_that_wait_the_newest_image_set_s_is_approved(ports):
    landed(ports)
    for number in (1, 3, 2):
        ports.config_updates.save_promotion(
            any_promotion(Stage.AFTER, entry=f"entry-{number}", identity=f"identity-{number}")
        )
    assert promote_to(ports, REPOSITORY, "shop", "production", "operator").done
    approved = [each.entry for each in ports.config_updates.open_promotions(REPOSITORY) if each.approved_by]
    assert approved == ["entry-3"]


def test_without_one_that_waits_the_complete_image_set_enters_the_queue(ports):
    landed(ports, complete="identity-3")
    decision = promote_to(ports, REPOSITORY, "shop", "production", "operator")
    entry = decision.entry
    assert (decision.done, entry.kind, entry.environment_key) == (True, EntryKind.PROMOTION, ("shop", "production"))
    assert (entry.source_sha, entry.source_environment) == (COMMITS[2], "staging")
    assert ports.config_updates.head(REPOSITORY).waiting == (entry.id,)
    assert "That promotion exists" in promote_to(ports, REPOSITORY, "shop", "production", "operator").reason


@pytest.mark.parametrize(
    ("complete", "stage", "why"),
    [
        ("identity-2", None, "not all of its targets"),
        ("", Stage.CHECKS, "its required checks"),
        ("identity-3", Stage.SOAK, "it soaks"),
    ],
)
def test_what_is_not_complete_is_promoted_by_nobody(ports, complete, stage, why):
    landed(ports, complete=complete)
    if stage:
        ports.config_updates.save_promotion(any_promotion(stage))
    decision = promote_to(ports, REPOSITORY, "shop", "production", "operator")
    assert (decision.done, why in decision.reason) == (False, True)
    assert ports.config_updates.head(REPOSITORY).waiting == ()


def test_the_first_environment_and_what_is_there_already_need_no_promotion(ports):
    assert "the first environment of shop" in promote_to(ports, REPOSITORY, "shop", "staging", "operator").reason
    landed(ports, complete="identity-3")
    landed(ports, "production")
    assert "already" in promote_to(ports, REPOSITORY, "shop", "production", "operator").reason


def test_a_full_queue_takes_no_retry_rollback_or_promotion(ports):
    entry = announce(ports).entry.id
    evict_entry(ports, REPOSITORY, entry, "operator")
    landed(ports, complete="identity-3")
    head = ports.config_updates.head(REPOSITORY)
    ports.config_updates.commit(head, replace(head, waiting=tuple(map(str, range(MOST_OPEN)))))
    for decision in (
        retry_entry(ports, REPOSITORY, entry, "operator"),
        roll_back(ports, REPOSITORY, "shop", "staging", "operator"),
        promote_to(ports, REPOSITORY, "shop", "production", "operator"),
    ):
        assert (decision.done, f"{MOST_OPEN} entries" in decision.reason) == (False, True)


def test_what_an_operator_does_is_audited_before_it_is_done(ports):
    entry = announce(ports).entry.id
    landed(ports, complete="identity-3")
    pause_queue(ports, REPOSITORY, "operator", "Why.")
    resume_queue(ports, REPOSITORY, "operator")
    hold_set(ports, REPOSITORY, "shop", "operator", "Why.")
    release_set(ports, REPOSITORY, "shop", "operator")
    evict_entry(ports, REPOSITORY, entry, "operator")
    retry_entry(ports, REPOSITORY, entry, "operator")
    roll_back(ports, REPOSITORY, "shop", "staging", "operator")
    promote_to(ports, REPOSITORY, "shop", "production", "operator")
    make_target_token(ports, REPOSITORY, "shop", "staging-eu", "operator")
    messages = ports.audit.published
    assert [each.state for each in messages] == list(AuditedAction)
    assert len({each.event for each in messages}) == len({each.event[:128] for each in messages}) == len(AuditedAction)
    assert (messages[0].body["reason"], messages[4].body["id"]) == ("Why.", entry)

    before = ports.config_updates.head(REPOSITORY)
    ports.audit.unavailable = True
    for act in (
        lambda: pause_queue(ports, REPOSITORY, "operator"),
        lambda: evict_entry(ports, REPOSITORY, entry, "operator"),
        lambda: make_target_token(ports, REPOSITORY, "shop", "staging-eu", "operator"),
    ):
        with pytest.raises(CloudUnavailable):
            act()
    assert ports.config_updates.head(REPOSITORY) == before
