"""Show in a pull request what the merge would do: one comment for each stack, and the check runs.

Only the newest revision is shown. Whoever dies in between, or is put off by the forge, does it again: what is shown
already is changed in place, and the record says that all is shown once it is.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass, replace
from functools import partial
from typing import Literal

from tidegate.deploys.rules.approval import Standing
from tidegate.deploys.rules.failure import in_words, read_cause
from tidegate.deploys.rules.temporary_layer import LayerState, TemporaryLayer
from tidegate.deploys.texts.lock_text import keeps_out
from tidegate.ports import Announcements, Clock, Deployments, DeployQueues, Forge, PullRequests, TemporaryLayers
from tidegate.pull_requests.keep_check_run import CheckRunKeeper
from tidegate.pull_requests.pull_request_checks import ForgeChecks
from tidegate.pull_requests.pull_request_view import PlanPainter, known
from tidegate.pull_requests.rules.ahead import Ahead
from tidegate.pull_requests.rules.apply import ApplyView
from tidegate.pull_requests.rules.apply_progress import apply_progress, is_head_applied
from tidegate.pull_requests.rules.comment import (
    MARKER,
    CommentView,
    render_comment,
    render_nothing,
    render_notice,
    stack_of,
)
from tidegate.pull_requests.rules.record import PullRequestRecord, PullRequestVerdict, judged
from tidegate.pull_requests.rules.remarks import conflict
from tidegate.pull_requests.rules.tally import stacks_of
from tidegate.pull_requests.tell_closed import ClosedTeller
from tidegate.roots.rules.root import queue_id
from tidegate.rules.decide_again import deciding_again
from tidegate.rules.errors import ForgeRefused, NotFound
from tidegate.vcs.rules.pull_request import PullRequestSpec

#: The place of a comment that was written while no stack was known: the first stack takes it over.
NO_STACK = ""
Outcome = Literal["shown", "overtaken"]


@dataclass(frozen=True, slots=True)
class PublicationAsker:
    """Asks for a revision to be shown: by one at a time, in order, and as often as the forge needs."""

    records: PullRequests
    announcements: Announcements

    def publish(self, pull_request: str, revision: str, error: str = "", cause: str = "") -> Outcome:
        """Ask, unless the revision is not the newest any more. ``error`` and ``cause`` tell that Tidegate failed."""
        if newest(self.records, pull_request, revision) is None:
            return "overtaken"
        self.announcements.pull_request_ended(pull_request, revision, error, cause)
        return "shown"


@dataclass(frozen=True, slots=True)
class PullRequestPublisher:
    """Publishes pull requests, one call at a time for each."""

    records: PullRequests
    layers: TemporaryLayers
    forge: Forge
    checks: ForgeChecks
    keeper: CheckRunKeeper
    plans: PlanPainter
    announcements: Announcements
    clock: Clock
    deployments: Deployments
    queues: DeployQueues
    teller: ClosedTeller

    def show_again(self, pull_request: str) -> None:
        """Bring the comments of a pull request up to date with what is applied, if it shows its newest revision.

        It is asked for as often as something ends, so what comments say already is not written once more. What the
        forge refuses of that is left. Raise ForgeUnavailable.
        """
        record = known(self.records, pull_request)
        if record is not None and record.is_open and record.commented == record.spec.revision:
            layers = self.layers.many(record.layers)
            there = self._ours(record.spec)
            for stack, text in self._comments(record, layers, "", self.checks.standings(record, layers)).items():
                with suppress(ForgeRefused):
                    self._comment(pull_request, record.spec.revision, stack, text, there)
        self._end_closed(pull_request)

    def publish(self, pull_request: str, revision: str, error: str = "", cause: str = "") -> Outcome:
        """Show all that is known of a revision. Raise ForgeUnavailable and ForgeRefused.

        Comments that the forge refuses, as somebody locked the conversation, hold up no check run: these say so.
        """
        outcome = self._publish(pull_request, revision, error, cause)
        if outcome == "overtaken":
            self._end_closed(pull_request)
        return outcome

    def _end_closed(self, pull_request: str) -> None:
        """Tell the end of a pull request that closed as its comments were written: whoever closed it came before."""
        record = known(self.records, pull_request)
        if record is not None and not record.is_open:
            self.teller.tell(record, merged=record.merged)

    def _publish(self, pull_request: str, revision: str, error: str, cause: str) -> Outcome:
        record = newest(self.records, pull_request, revision)
        if record is None or (record.discovered != revision and not error):
            return "overtaken"
        if record.commented == revision and not error:
            return "shown"
        fault = in_words(error, read_cause(cause)) if error else ""
        layers = self.layers.many(record.layers) if record.discovered == revision else ()
        if not error and not all(each.is_done for each in layers):
            return "overtaken"  # An execution of the same commit asked, in whose place another plans it again.
        standings = self.checks.standings(record, layers)
        self.checks.judge.dismiss_outdated(record.spec, standings)
        # Everybody may open forks' pull requests and have them planned, and what they get is mostly the same.
        unwritten, there = "", self._ours(record.spec) if record.spec.from_fork and record.comments else {}
        for stack, text in self._comments(record, layers, fault, standings).items():
            try:
                if not self._comment(pull_request, revision, stack, text, there):
                    return "overtaken"
            except ForgeRefused as refusal:
                unwritten = str(refusal)
        return self._checks(pull_request, revision, layers, fault, standings, unwritten=unwritten)

    def _checks(
        self,
        pull_request: str,
        revision: str,
        layers: Sequence[TemporaryLayer],
        fault: str,
        standings: Sequence[Standing],
        *,
        unwritten: str,
    ) -> Outcome:
        """Show the check runs, then record that all is shown. What Tidegate could not find out is not shown."""
        record = newest(self.records, pull_request, revision)
        if record is None:
            return "overtaken"
        self._ask_for(layers)
        self.checks.show(record, layers, fault, standings, unwritten)
        if record.queued:
            self.checks.repeat(record, layers, record.queued, fault)
        verdict = self.checks.verdict(record, layers, fault, standings)
        saved = deciding_again(partial(self._commented, pull_request, revision, layers, verdict))
        return "shown" if saved is not None else "overtaken"

    def _ask_for(self, layers: Sequence[TemporaryLayer]) -> None:
        """Ask for the check runs of layers that nobody asked for, such as those that were refused at once."""
        shown = self.keeper.made([each.id for each in layers])
        for each in layers:
            if each.is_done and each.state is not LayerState.CANCELLED and each.id not in shown:
                self.announcements.layer_changed(each)

    def _comments(
        self,
        record: PullRequestRecord,
        layers: Sequence[TemporaryLayer],
        fault: str,
        standings: Sequence[Standing],
    ) -> Mapping[str, str]:
        """Return the text of each comment that there is to be, by its stack."""
        commented = [stack for stack, _ in record.comments]
        # Outsiders push to forks as often as they like: what says the same of each commit is written once.
        sha = "" if record.spec.from_fork else record.spec.head_sha
        notice = record.notice or (f"Tidegate failed: {fault}" if fault else "")
        why = "" if fault else conflict(layers)
        if why or (notice and not layers):
            notice = "\n".join(filter(None, (why, notice)))
            page = self.plans.painter.page(record.spec)
            return {stack: render_notice(stack, sha, notice, page) for stack in commented or [NO_STACK]}
        stacks = stacks_of(layers)
        gone = [stack for stack in commented if stack not in stacks and (stack != NO_STACK or not stacks)]
        ahead = self._ahead(record, layers)
        views = {stack: self._view(record, stack, stacks, fault) for stack in stacks}
        return {
            **{stack: render_comment(replace(view, standings=standings, ahead=ahead)) for stack, view in views.items()},
            **{stack: render_nothing(stack, record.spec.head_sha) for stack in gone},
        }

    def _view(
        self, record: PullRequestRecord, stack: str, stacks: Mapping[str, Sequence[TemporaryLayer]], fault: str
    ) -> CommentView:
        page = self.plans.painter.page(record.spec)
        return CommentView(
            stack,
            self.plans.whole(stacks[stack]),
            stacks,
            record.spec.base,
            page,
            fault,
            record.notice,
            record.notes,
            record.older,
            record.spec.is_draft,
            self._applied(record, stacks),
            rule_changes=record.rule_changes.changes,
        )

    def _ahead(self, record: PullRequestRecord, layers: Sequence[TemporaryLayer]) -> Ahead:
        """Return how the queues of its roots are. What it has itself applied is not before its merge."""
        spec, own = record.spec, {each.root for each in record.applies}
        heads = self.queues.many({queue_id(spec.repository, each.root.name) for each in layers})
        locks, busy = {}, {}
        for name, head in sorted((head.root_name, head) for head in heads.values()):
            if head.lock is not None and keeps_out(head.lock, spec.number if name in own else None):
                locks[name] = head.lock
            if name not in own and (head.in_flight is not None or head.length):
                busy[name] = self.plans.painter.queue(spec, name)
        return Ahead(spec.number, locks, busy)

    def _applied(self, record: PullRequestRecord, stacks: Mapping[str, Sequence[TemporaryLayer]]) -> ApplyView | None:
        """Return how far it is applied, where that is done in pull requests."""
        if not record.rules.in_pull_request:
            return None
        deployments = self.deployments.many([each.deployment for each in record.applies])
        layers = [each for some in stacks.values() for each in some]
        of_head = is_head_applied(record, deployments.values())
        return ApplyView(record.rules, apply_progress(record, layers, deployments), of_head)

    def _comment(self, pull_request: str, revision: str, stack: str, text: str, there: Mapping[int, str]) -> bool:
        """Write a stack's comment unless it is ``there``; return False if a newer revision has come before it."""
        record = newest(self.records, pull_request, revision)
        if record is None:
            return False
        if there.get(dict(record.comments).get(stack, 0)) == text:
            return True
        comment = self._upsert(record, stack, text)
        if (stack, comment) not in record.comments:
            deciding_again(partial(self._remember, record.spec, stack, comment))
        return True

    def _upsert(self, record: PullRequestRecord, stack: str, text: str) -> int:
        """Show the text in the comment that is remembered, or else in one that was written and not remembered."""
        comment = _own(dict(record.comments), stack)
        if comment is not None and self._is_updated(record, comment, text):
            return comment
        comment = _own(self._written(record), stack)
        if comment is not None and self._is_updated(record, comment, text):
            return comment
        return self.forge.comment(*record.spec.where, record.spec.number, text)

    def _is_updated(self, record: PullRequestRecord, comment: int, text: str) -> bool:
        """Update a comment; return False if somebody deleted it."""
        try:
            self.forge.update_comment(*record.spec.where, record.spec.number, comment, text)
        except NotFound:
            return False
        return True

    def _written(self, record: PullRequestRecord) -> Mapping[str, int]:
        """Return comments of ours that are not remembered, by their stacks; of several the oldest."""
        written = ((stack_of(text), comment) for comment, text in sorted(self._ours(record.spec).items(), reverse=True))
        return {stack: comment for stack, comment in written if stack is not None}

    def _ours(self, spec: PullRequestSpec) -> Mapping[int, str]:
        return self.forge.our_comments(*spec.where, spec.number, MARKER)

    def _remember(self, spec: PullRequestSpec, stack: str, comment: int) -> None:
        """Remember which comment is a stack's, also for revisions that came meanwhile."""
        record = self.records.get(spec.repository, spec.number)
        others = {name: number for name, number in record.comments if number != comment}
        self._save(replace(record, comments=tuple(sorted({**others, stack: comment}.items()))))

    def _commented(
        self,
        pull_request: str,
        revision: str,
        layers: Sequence[TemporaryLayer],
        verdict: PullRequestVerdict | None,
    ) -> PullRequestRecord | None:
        record = newest(self.records, pull_request, revision)
        if record is None or record.discovered != revision:
            return record
        return self._save(replace(record, commented=revision, verdict=verdict), layers)

    def _save(self, record: PullRequestRecord, layers: Sequence[TemporaryLayer] | None = None) -> PullRequestRecord:
        of = self.layers.many(record.layers) if layers is None else layers
        return self.records.save(judged(record, of, self.clock.now()))


def _own(comments: Mapping[str, int], stack: str) -> int | None:
    """Return the comment of a stack, or else the one that is no stack's."""
    return comments.get(stack, comments.get(NO_STACK))


def newest(records: PullRequests, pull_request: str, revision: str) -> PullRequestRecord | None:
    """Return the record if the pull request is open, and this is its newest revision."""
    record = known(records, pull_request)
    return record if record is not None and record.is_open and record.spec.revision == revision else None
