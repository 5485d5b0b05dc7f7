"""Claim a config repository's next step: read its branches and checks, record what landed, and decide."""

from __future__ import annotations

import uuid
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from datetime import timedelta

from tidegate.config.loaded import LoadedConfiguration
from tidegate.config.rules.config_updates import ConfigUpdates, Environment
from tidegate.config_updates.environment_rules import rules_of, wait_of
from tidegate.config_updates.queue.push_replay import finish_replay
from tidegate.config_updates.read_configuration import default_branch_of, load_file
from tidegate.config_updates.rules.approvals import EntryWait
from tidegate.config_updates.rules.entry import EntryState, UpdateEntry
from tidegate.config_updates.rules.environment import BY_HAND, EnvironmentState, Landed
from tidegate.config_updates.rules.image_set import identity_of
from tidegate.config_updates.rules.moves import Observed, Refs, UpdateStep, decide_move
from tidegate.config_updates.rules.queue import (
    MOST_ROUNDS,
    OUTRUN_OFTEN,
    READ_AGAIN,
    Hold,
    OnAuto,
    RequestedAgain,
    UpdateHead,
    blocked,
    close_evicted,
    ended,
    landed_with,
    works_here,
)
from tidegate.config_updates.rules.refusals import NoConfigUpdates
from tidegate.config_updates.rules.verdicts import CommitVerdict, Retried, Verdict, judge_commit
from tidegate.deploys.rules.job import JobKind, job_id
from tidegate.deploys.rules.queue import EXECUTION_AGE
from tidegate.messages.config_updates import ClaimUpdate, UpdateClaimed
from tidegate.ports import Ports
from tidegate.rules.actor import TIDEGATE
from tidegate.rules.decide_again import deciding_again
from tidegate.rules.errors import ForgeRefused, InvalidConfiguration, NotFound
from tidegate.vcs.rules.branch_moves import FORWARD
from tidegate.vcs.rules.check_report import CheckReport, Source

#: The auto branch that is read before the configuration is known.
_USUAL_AUTO = "auto"


def claim_update(ports: Ports, message: ClaimUpdate) -> UpdateClaimed:
    """Decide and commit the worker's next step.

    Raise Conflict after repeated concurrent writes, and ForgeUnavailable: call again then.
    """
    return deciding_again(lambda: _claim(ports, message))


def _claim(ports: Ports, message: ClaimUpdate) -> UpdateClaimed:
    before = ports.config_updates.head(message.repository)
    worker = before.worker
    if worker is None or not works_here(before, message.execution):
        reason = "Another execution works on this queue."
        return UpdateClaimed(step=UpdateStep.STOP.value, reason=reason, version=before.version)
    if before.replaying:
        finish_replay(ports, before)
        before = ports.config_updates.head(message.repository)
    head = replace(before, worker=replace(worker, started=True), asked=False, token=None)
    now = ports.clock.now()
    if message.rounds >= min(ports.rounds, MOST_ROUNDS) or now - message.started >= EXECUTION_AGE:
        reason = f"This execution has worked for {message.rounds} rounds."
        return UpdateClaimed(step=UpdateStep.HAND_OVER.value, reason=reason, version=before.version)
    if head.blocked and not head.blocked.by_person and head.blocked.until > now:
        return _waits(ports, before, head, head.blocked.reason, head.blocked.until - now)
    observer = _Observer(ports, replace(head, blocked=None))
    try:
        seen = observer.observe()
    except (ForgeRefused, InvalidConfiguration, NoConfigUpdates, NotFound, UnusableBranch) as problem:
        found = blocked(str(problem), now + READ_AGAIN, by_person=True)
        return _waits(ports, before, replace(observer.head, blocked=found), found.reason, READ_AGAIN, observer)
    move = decide_move(observer.head, seen)
    saved = _commit(ports, before, move.head, observer)
    return UpdateClaimed(
        step=move.step.value,
        reason=move.reason,
        version=saved.version,
        seconds=max(1, int(move.wait.total_seconds())),
        commit=move.land.sha if move.land else "",
        untested=move.untested,
        blocked=saved.blocked is not None,
        outrun=saved.outrun if move.step is UpdateStep.ALIGN and saved.outrun >= OUTRUN_OFTEN else 0,
    )


def _waits(
    ports: Ports, before: UpdateHead, head: UpdateHead, reason: str, time: timedelta, observer: _Observer | None = None
) -> UpdateClaimed:
    saved = _commit(ports, before, head, observer)
    seconds = max(1, int(time.total_seconds()))
    return UpdateClaimed(
        step=UpdateStep.WAIT.value, reason=reason, version=saved.version, seconds=seconds, blocked=bool(saved.blocked)
    )


def _commit(ports: Ports, before: UpdateHead, head: UpdateHead, observer: _Observer | None) -> UpdateHead:
    """Store the decision, and publish the news. A caller that dies in between publishes them at its next claim."""
    entries, environments = (observer.entries, observer.environments) if observer else ((), ())
    if head != before or entries or environments:
        head = ports.config_updates.commit(before, head, entries, environments)
    if not head.changed:
        return head
    for each in head.changed:
        ports.event_publisher.entry_changed(head.repository, each)
    return deciding_again(lambda: _without_news(ports, head))


def _without_news(ports: Ports, told: UpdateHead) -> UpdateHead:
    """Remove the news that were published, whatever was written meanwhile: a claim that decides again publishes again.

    Return the head, or the one that was decided on if somebody wrote in between: the worker then looks again. What
    concerns published entries again stays, as their news may have been read before.
    """
    head = ports.config_updates.head(told.repository)
    if _of_entries(head) != _of_entries(told):
        return told
    again = {*head.waiting} - {*told.waiting}
    left = tuple(each for each in head.changed if each not in told.changed or each in again)
    after = ports.config_updates.commit(head, replace(head, changed=left))
    return after if head.version == told.version else told


def _of_entries(head: UpdateHead) -> tuple[object, ...]:
    holds = {each.name: each.hold for each in head.sets if each.hold}
    return head.stack, head.replaying, head.evictions, head.pause, holds


class UnusableBranch(Exception):
    """The auto branch cannot be used beside the default branch."""


@dataclass
class _Observer:
    """What a claim sees, and what follows from it: ``head`` with what landed, and records to save with it."""

    ports: Ports
    head: UpdateHead
    entries: list[UpdateEntry] = field(default_factory=list)
    environments: list[EnvironmentState] = field(default_factory=list)

    def observe(self) -> Observed:
        """Read branches, configuration and checks, and record what landed and what waits.

        Raise ForgeRefused, NotFound, InvalidConfiguration, NoConfigUpdates and UnusableBranch for what a person has to
        mend.
        """
        ports, repository = self.ports, self.head.repository
        refs = self._refs()
        loaded, updates = load_file(ports, repository, refs.default)
        if problem := updates.branch_problem(self.head.default_branch):
            raise UnusableBranch(problem)
        if updates.auto_branch != self.head.auto_branch:
            self.head = replace(self.head, auto_branch=updates.auto_branch, auto="")
            refs = self._refs()
        if not self.head.auto and refs.auto in {refs.default, ""}:
            self.head = replace(self.head, auto=refs.auto)
        open_ = dict(ports.config_updates.entries(repository, self.head.open))
        self._record_landed(refs, updates, open_)
        if self.head.base != refs.default:
            self._record_commits_by_hand(refs, updates)
        self.head, evicted = close_evicted(self.head, open_, ports.clock.now())
        self.entries += evicted
        waits = self._entry_waits(loaded, updates, open_)
        until = min((each.until for each in waits.values() if each.until), default=None)
        verdicts = self._verdicts(updates)
        return Observed(refs, updates, open_, verdicts, ports.clock.now(), _new_job(), frozenset(waits), until)

    def _entry_waits(
        self, loaded: LoadedConfiguration, updates: ConfigUpdates, open_: Mapping[str, UpdateEntry]
    ) -> Mapping[str, EntryWait]:
        """Return which entries may not be on the auto branch, and record why they wait.

        What is there already was approved before: only a freeze window takes it off again.
        """
        now, waits = self.ports.clock.now(), {}
        stacked = {each.entry for each in self.head.stack}
        for each in self.head.open:
            entry = open_[each]
            rules = rules_of(loaded, updates, *entry.environment_key)
            frozen = EntryWait() if entry.override else rules.frozen(now)
            found = frozen if each in stacked else wait_of(rules, entry, now)
            if found.reason:
                waits[each] = found
            if found.reason != entry.waits_for:
                self.entries.append(replace(entry, waits_for=found.reason))
                self.head = self.head.about(each)
        return waits

    def _refs(self) -> Refs:
        ports, head = self.ports, self.head
        default, auto = default_branch_of(ports, head), head.auto_branch or _USUAL_AUTO
        found = ports.config_branches.branch_heads(head.repository, [default, auto]) if default else {}
        if default not in found:
            default = ports.commits.default_branch(head.repository)
            found = ports.config_branches.branch_heads(head.repository, [default, auto])
        if default not in found:
            raise NotFound("branch", default)
        self.head = replace(head, default_branch=default, auto_branch=auto)
        return Refs(found[default], found.get(auto, ""))

    def _record_landed(self, refs: Refs, updates: ConfigUpdates, open_: Mapping[str, UpdateEntry]) -> None:
        """Record the stacked entries that the default branch contains."""
        reached = self._reached(refs.default)
        if reached is None:
            return
        at = self.ports.clock.now()
        count = self.head.stack.index(reached) + 1
        landed = self.head.stack[:count]
        newest: dict[tuple[str, str], UpdateEntry] = {}
        for number, each in enumerate(landed):
            is_tested = Verdict.PASS in {above.verdict for above in landed[number:]}
            entry = ended(open_[each.entry], EntryState.LANDED, _landed_because(each, is_tested=is_tested), at)
            covered = is_tested and each.verdict is Verdict.FAIL
            entry = newest[entry.environment_key] = replace(entry, commit=each.sha, covered=covered)
            self.entries.append(entry)
        for place, entry in newest.items():
            self._record_environment(entry, updates.environment(*place))
        self.head = landed_with(self.head, reached.sha)

    def _record_environment(self, entry: UpdateEntry, environment: Environment | None) -> None:
        identity = self._identity(entry.commit, environment) if environment else ""
        if not identity:
            return
        at = self.entries.index(entry)
        self.entries[at] = entry = replace(entry, identity=identity)
        state = self._environment(*entry.environment_key)
        landed = Landed(
            entry.commit,
            identity,
            entry.ended_at or self.ports.clock.now(),
            entry.by,
            entry.kind.value,
            entry.id,
            entry.attempt,
            entry.app_sha,
        )
        self._keep(state.with_landed(landed))

    def _reached(self, default: str) -> OnAuto | None:
        """Return the highest stacked commit that the default branch contains."""
        if default == self.head.base:
            return None
        if known := next((each for each in self.head.stack if each.sha == default), None):
            return known
        compare = self.ports.commits.compare
        return next(
            (each for each in reversed(self.head.stack) if compare(self.head.repository, each.sha, default) in FORWARD),
            None,
        )

    def _record_commits_by_hand(self, refs: Refs, updates: ConfigUpdates) -> None:
        """Record image sets that a person committed; they hold their set, unless an entry made the same."""
        for image_set in updates.sets:
            for environment in image_set.environments:
                state = self._environment(image_set.name, environment.name)
                identity = self._identity(refs.default, environment)
                if not identity or (state.newest and state.newest.identity == identity):
                    continue
                known = {each.identity for each in state.landed[:1]} | self._coming(image_set.name, environment)
                at = self.ports.clock.now()
                self._keep(state.with_landed(Landed(refs.default, identity, at, "", BY_HAND)))
                if state.newest and identity not in known:
                    reason = f"A commit by hand changed {environment.file}. Release the set to let new images in."
                    held = self.head.set_state(image_set.name)
                    if held.hold is None:
                        self.head = self.head.with_set(replace(held, hold=Hold(TIDEGATE, at, reason)))

    def _coming(self, image_set: str, environment: Environment) -> set[str]:
        """Return the identities that stacked entries give an environment."""
        entries = self.ports.config_updates.entries(self.head.repository, [each.entry for each in self.head.stack])
        of_it = [
            each for each in self.head.stack if entries[each.entry].environment_key == (image_set, environment.name)
        ]
        return {self._identity(each.sha, environment) for each in of_it}

    def _identity(self, commit: str, environment: Environment) -> str:
        content = self.ports.config_branches.file_content(self.head.repository, commit, environment.file)
        return "" if content is None else identity_of(content)

    def _environment(self, image_set: str, name: str) -> EnvironmentState:
        kept = (each for each in self.environments if (each.image_set, each.name) == (image_set, name))
        return next(kept, None) or self.ports.config_updates.environment(self.head.repository, image_set, name)

    def _keep(self, state: EnvironmentState) -> None:
        others = [each for each in self.environments if (each.image_set, each.name) != (state.image_set, state.name)]
        self.environments = [*others, state]

    def _verdicts(self, updates: ConfigUpdates) -> Mapping[str, CommitVerdict]:
        if not self.head.stack:
            return {}
        commits = [each.sha for each in self.head.stack]
        reports = self.ports.config_branches.check_reports(self.head.repository, self.head.auto_branch, commits)
        judged = {}
        stack = []
        for each in self.head.stack:
            its = reports.get(each.sha, ())
            known = replace(each, pushed=each.pushed or bool(its))
            judged[each.entry] = self._judge(updates, known, its)
            stack.append(self._requested_again(known, judged[each.entry], its))
        self.head = replace(self.head, stack=tuple(stack))
        return judged

    def _judge(self, updates: ConfigUpdates, one: OnAuto, reports: Sequence[CheckReport]) -> CommitVerdict:
        again = {(each.name, Source(each.source)): Retried(each.number, each.at, each.accepted) for each in one.again}
        now, timeouts = self.ports.clock.now(), updates.check_timeouts
        pushed_at = one.pushed_at if one.pushed else None
        return judge_commit(updates.required_checks, reports, pushed_at, now, timeouts, again)

    def _requested_again(self, one: OnAuto, judged: CommitVerdict, reports: Sequence[CheckReport]) -> OnAuto:
        """Request again, once, the checks that ended without a result. A provider that cannot leaves it to people."""
        for check in judged.retries:
            for report in sorted(reports, key=lambda each: each.number):
                known = {(each.name, each.source) for each in one.again}
                if (report.name, report.app) == (check.name, check.app) and (check.name, report.source) not in known:
                    accepted = self.ports.config_branches.request_check(self.head.repository, report)
                    at = self.ports.clock.now()
                    asked = RequestedAgain(check.name, report.source.value, report.number, at, accepted)
                    one = replace(one, again=(*one.again, asked))
        return one


def _landed_because(one: OnAuto, *, is_tested: bool) -> str:
    if not is_tested:
        return "Somebody moved the default branch to it, although its required checks had not passed."
    if one.verdict is Verdict.FAIL:
        return "It had failed, but a commit above it passed with it."
    return "Its required checks passed." if one.verdict is Verdict.PASS else "A commit above it passed with it."


def _new_job() -> str:
    return job_id(uuid.uuid4().hex, JobKind.REPLAY, 1)
