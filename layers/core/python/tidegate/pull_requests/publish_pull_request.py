"""Publish what a pull request's merge would do: one comment for each stack, and the check runs.

Only the newest revision is published. An interrupted call is repeated: what is published is updated in place, and the
record is marked at the end.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from contextlib import suppress
from dataclasses import replace
from functools import partial
from typing import Literal

from tidegate.deploys.rules.approval import Standing
from tidegate.deploys.rules.failure import in_words, read_cause
from tidegate.deploys.rules.speculative_plan import LayerState, SpeculativePlan
from tidegate.deploys.texts.lock_text import keeps_out
from tidegate.ports import Ports
from tidegate.pull_requests.evaluate_policies import dismiss_outdated
from tidegate.pull_requests.find_record import record_of
from tidegate.pull_requests.keep_check_run import made_check_run
from tidegate.pull_requests.notify_closed import notify_closed
from tidegate.pull_requests.pull_request_checks import (
    get_policy_statuses,
    repeat_verdict,
    show_pull_request,
    show_verdict,
)
from tidegate.pull_requests.pull_request_view import pull_request_page, queue_page, whole_plan
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
from tidegate.roots.rules.root import queue_id
from tidegate.rules.decide_again import deciding_again
from tidegate.rules.errors import ForgeRefused, NotFound
from tidegate.vcs.rules.pull_request import PullRequestSpec

#: What the other comments say if the oldest one says why nothing is planned.
_ELSEWHERE = "Tidegate's oldest comment here says why."
#: The key of a comment written before any stack was known: the first stack takes it over.
NO_STACK = ""
Outcome = Literal["shown", "overtaken"]


def ask_for_publication(ports: Ports, pull_request: str, revision: str, error: str = "", cause: str = "") -> Outcome:
    """Request publication, unless the revision is outdated. ``error`` and ``cause`` describe an internal error."""
    if newest(ports, pull_request, revision) is None:
        return "overtaken"
    ports.event_publisher.pull_request_ended(pull_request, revision, error, cause)
    return "shown"


def show_again(ports: Ports, pull_request: str) -> None:
    """Update the comments of a pull request with its apply progress, if they show its newest revision.

    It is requested at each end of a deployment, so unchanged comments are not written again. Refused updates are
    skipped. Raise ForgeUnavailable.
    """
    record = record_of(ports, pull_request)
    if record is not None and record.is_open and record.commented == record.spec.revision:
        layers = ports.speculative_plans.many(record.layers)
        there = _ours(ports, record.spec)
        for stack, text in _comments(ports, record, layers, "", get_policy_statuses(ports, record, layers)).items():
            with suppress(ForgeRefused):
                _comment(ports, pull_request, record.spec.revision, stack, text, there)
    _end_closed(ports, pull_request)


def publish_pull_request(ports: Ports, pull_request: str, revision: str, error: str = "", cause: str = "") -> Outcome:
    """Publish all that is known of a revision. Raise ForgeUnavailable and ForgeRefused.

    If comments are refused because the conversation is locked, the check runs are still published, and say so.
    """
    outcome = _publish(ports, pull_request, revision, error, cause)
    if outcome == "overtaken":
        _end_closed(ports, pull_request)
    return outcome


def _end_closed(ports: Ports, pull_request: str) -> None:
    """Update the comments of a pull request that closed while they were written."""
    record = record_of(ports, pull_request)
    if record is not None and not record.is_open:
        notify_closed(ports, record, merged=record.merged)


def _publish(ports: Ports, pull_request: str, revision: str, error: str, cause: str) -> Outcome:
    record = newest(ports, pull_request, revision)
    if record is None or (record.discovered != revision and not error):
        return "overtaken"
    if record.commented == revision and not error:
        return "shown"
    fault = in_words(error, read_cause(cause)) if error else ""
    layers = ports.speculative_plans.many(record.layers) if record.discovered == revision else ()
    if not error and not all(each.is_done for each in layers):
        return "overtaken"  # An older execution of the same commit asked; a newer one plans it again.
    policy_statuses = get_policy_statuses(ports, record, layers)
    dismiss_outdated(ports, record.spec, policy_statuses)
    # Anybody may open pull requests from forks, and most get the same text.
    unwritten, there = "", _ours(ports, record.spec) if record.spec.from_fork and record.comments else {}
    for stack, text in _comments(ports, record, layers, fault, policy_statuses).items():
        try:
            if not _comment(ports, pull_request, revision, stack, text, there):
                return "overtaken"
        except ForgeRefused as refusal:
            unwritten = str(refusal)
    return _checks(ports, pull_request, revision, layers, fault, policy_statuses, unwritten=unwritten)


def _checks(
    ports: Ports,
    pull_request: str,
    revision: str,
    layers: Sequence[SpeculativePlan],
    fault: str,
    policy_statuses: Sequence[Standing],
    *,
    unwritten: str,
) -> Outcome:
    """Publish the check runs, then record that. What Tidegate could not find out is left out."""
    record = newest(ports, pull_request, revision)
    if record is None:
        return "overtaken"
    _ask_for(ports, layers)
    show_pull_request(ports, record, layers, fault, policy_statuses, unwritten)
    if record.queued:
        repeat_verdict(ports, record, layers, record.queued, fault)
    verdict = show_verdict(ports, record, layers, fault, policy_statuses)
    saved = deciding_again(partial(_commented, ports, pull_request, revision, layers, verdict))
    return "shown" if saved is not None else "overtaken"


def _ask_for(ports: Ports, layers: Sequence[SpeculativePlan]) -> None:
    """Request the check runs of layers without one, such as refused ones."""
    shown = made_check_run(ports, [each.id for each in layers])
    for each in layers:
        if each.is_done and each.state is not LayerState.CANCELLED and each.id not in shown:
            ports.event_publisher.layer_changed(each)


def _comments(
    ports: Ports,
    record: PullRequestRecord,
    layers: Sequence[SpeculativePlan],
    fault: str,
    policy_statuses: Sequence[Standing],
) -> Mapping[str, str]:
    """Return the text of each comment, by stack."""
    commented = [stack for stack, _ in sorted(record.comments, key=lambda each: each[1])]
    # Outsiders may push to forks as often as they like: the same text for each commit is written once.
    sha = "" if record.spec.from_fork else record.spec.head_sha
    notice = record.notice or (f"Internal error: {fault}" if fault else "")
    why = "" if fault else conflict(layers)
    if why or (notice and not layers):
        notice = "\n".join(filter(None, (why, notice)))
        page = pull_request_page(ports, record.spec)
        first, *others = commented or [NO_STACK]
        return {
            first: render_notice(first, sha, notice, page),
            **{stack: render_notice(stack, sha, _ELSEWHERE, page) for stack in others},
        }
    stacks = stacks_of(layers)
    gone = [stack for stack in commented if stack not in stacks and (stack != NO_STACK or not stacks)]
    ahead = _ahead(ports, record, layers)
    views = {stack: _view(ports, record, stack, stacks, fault) for stack in stacks}
    return {
        **{
            stack: render_comment(replace(view, policy_statuses=policy_statuses, ahead=ahead))
            for stack, view in views.items()
        },
        **{stack: render_nothing(stack, record.spec.head_sha) for stack in gone},
    }


def _view(
    ports: Ports, record: PullRequestRecord, stack: str, stacks: Mapping[str, Sequence[SpeculativePlan]], fault: str
) -> CommentView:
    page = pull_request_page(ports, record.spec)
    return CommentView(
        stack,
        whole_plan(ports, stacks[stack]),
        stacks,
        record.spec.base,
        page,
        fault,
        record.notice,
        record.notes,
        record.older,
        record.spec.is_draft,
        _applied(ports, record, stacks),
        rule_changes=record.rule_changes.changes,
    )


def _ahead(ports: Ports, record: PullRequestRecord, layers: Sequence[SpeculativePlan]) -> Ahead:
    """Return the state of its roots' queues, without its own applies."""
    spec, own = record.spec, {each.root for each in record.applies}
    heads = ports.queues.many({queue_id(spec.repository, each.root.name) for each in layers})
    locks, busy = {}, {}
    for name, head in sorted((head.root_name, head) for head in heads.values()):
        if head.lock is not None and keeps_out(head.lock, spec.number if name in own else None):
            locks[name] = head.lock
        if name not in own and (head.in_flight is not None or head.length):
            busy[name] = queue_page(ports, spec, name)
    return Ahead(spec.number, locks, busy)


def _applied(
    ports: Ports, record: PullRequestRecord, stacks: Mapping[str, Sequence[SpeculativePlan]]
) -> ApplyView | None:
    """Return the apply progress, where pull requests are applied before the merge."""
    if not record.rules.in_pull_request:
        return None
    deployments = ports.deployments.many([each.deployment for each in record.applies])
    layers = [each for some in stacks.values() for each in some]
    of_head = is_head_applied(record, deployments.values())
    return ApplyView(record.rules, apply_progress(record, layers, deployments), of_head)


def _comment(ports: Ports, pull_request: str, revision: str, stack: str, text: str, there: Mapping[int, str]) -> bool:
    """Write a stack's comment unless it is ``there``; return False if a newer revision came first."""
    record = newest(ports, pull_request, revision)
    if record is None:
        return False
    if there.get(dict(record.comments).get(stack, 0)) == text:
        return True
    comment = _upsert(ports, record, stack, text)
    if (stack, comment) not in record.comments:
        deciding_again(partial(_remember, ports, record.spec, stack, comment))
    return True


def _upsert(ports: Ports, record: PullRequestRecord, stack: str, text: str) -> int:
    """Write the text to the recorded comment, or to an unrecorded one of ours."""
    comment = _own(dict(record.comments), stack)
    if comment is not None and _is_updated(ports, record, comment, text):
        return comment
    comment = _own(_written(ports, record), stack)
    if comment is not None and _is_updated(ports, record, comment, text):
        return comment
    return ports.comments.comment(record.spec.repository, record.spec.number, text)


def _is_updated(ports: Ports, record: PullRequestRecord, comment: int, text: str) -> bool:
    """Update a comment; return False if it was deleted."""
    try:
        ports.comments.update_comment(record.spec.repository, record.spec.number, comment, text)
    except NotFound:
        return False
    return True


def _written(ports: Ports, record: PullRequestRecord) -> Mapping[str, int]:
    """Return our unrecorded comments by stack; of several the oldest."""
    written = ((stack_of(text), comment) for comment, text in sorted(_ours(ports, record.spec).items(), reverse=True))
    return {stack: comment for stack, comment in written if stack is not None}


def _ours(ports: Ports, spec: PullRequestSpec) -> Mapping[int, str]:
    return ports.comments.our_comments(spec.repository, spec.number, MARKER)


def _remember(ports: Ports, spec: PullRequestSpec, stack: str, comment: int) -> None:
    """Record the comment of a stack, also for newer revisions."""
    record = ports.pull_requests.get(spec.repository, spec.number)
    others = {name: number for name, number in record.comments if number != comment}
    _save(ports, replace(record, comments=tuple(sorted({**others, stack: comment}.items()))))


def _commented(
    ports: Ports,
    pull_request: str,
    revision: str,
    layers: Sequence[SpeculativePlan],
    verdict: PullRequestVerdict | None,
) -> PullRequestRecord | None:
    record = newest(ports, pull_request, revision)
    if record is None or record.discovered != revision:
        return record
    return _save(ports, replace(record, commented=revision, verdict=verdict), layers)


def _save(
    ports: Ports, record: PullRequestRecord, layers: Sequence[SpeculativePlan] | None = None
) -> PullRequestRecord:
    of = ports.speculative_plans.many(record.layers) if layers is None else layers
    return ports.pull_requests.save(judged(record, of, ports.clock.now()))


def _own(comments: Mapping[str, int], stack: str) -> int | None:
    """Return the comment of a stack, or else the one of no stack."""
    return comments.get(stack, comments.get(NO_STACK))


def newest(ports: Ports, pull_request: str, revision: str) -> PullRequestRecord | None:
    """Return the record if the pull request is open and this is its newest revision."""
    record = record_of(ports, pull_request)
    return record if record is not None and record.is_open and record.spec.revision == revision else None
