"""Continue after something of a pull request was applied: publish the progress, and merge once all is applied.

Idempotent.
"""

from __future__ import annotations

from contextlib import suppress
from dataclasses import replace
from functools import partial

from tidegate.ports import Ports
from tidegate.pull_requests.find_record import record_of
from tidegate.pull_requests.publish_pull_request import show_again
from tidegate.pull_requests.rules.apply_progress import applied_digest, apply_progress, is_head_applied
from tidegate.pull_requests.rules.apply_replies import merge_refused
from tidegate.pull_requests.rules.record import PullRequestRecord
from tidegate.rules.decide_again import deciding_again
from tidegate.rules.errors import AppLacksPermission, ForgeRefused
from tidegate.vcs.rules.pull_request import MergeMethod


def merge_applied(ports: Ports, pull_request: str) -> None:
    """Publish the apply progress of ``OWNER/REPO#NUMBER``, and merge it if configured and complete.

    If the VCS provider refuses, a comment says so, once for each complete apply. Raise ForgeUnavailable and
    ForgeRefused.
    """
    record = record_of(ports, pull_request)
    if record is None or not record.is_open:
        return
    show_again(ports, pull_request)
    if record.rules.merge_after is None or record.discovered != record.spec.revision:
        return
    applied = ports.deployments.many([each.deployment for each in record.applies])
    is_complete = apply_progress(record, ports.speculative_plans.many(record.layers), applied).is_complete
    # Nobody approved a head that merely does not change what an earlier one applied.
    if is_complete and is_head_applied(record, applied.values()):
        _merge(ports, record, record.rules.merge_after)


def _merge(ports: Ports, record: PullRequestRecord, method: MergeMethod) -> None:
    spec = record.spec
    if record.merge_refused == applied_digest(record):
        return
    try:
        ports.pull_request_merger.merge_pull_request(spec.repository, spec.number, spec.head_sha, method)
    except ForgeRefused as refusal:
        # A pull request that is already merged, by an earlier call or a person, is refused as well.
        if ports.pull_request_reader.seen_pull_request(spec.repository, spec.number).is_open:
            _tell(ports, record, refusal)


def _tell(ports: Ports, record: PullRequestRecord, refusal: ForgeRefused) -> None:
    lacks = refusal.permissions if isinstance(refusal, AppLacksPermission) else ()
    text = merge_refused(record.spec.head_sha, refusal.problem, lacks)
    with suppress(ForgeRefused):  # Nobody can comment where the conversation is locked.
        ports.comments.comment(record.spec.repository, record.spec.number, text)
    deciding_again(partial(_remember, ports, record.spec.repository, record.spec.number))


def _remember(ports: Ports, repository: str, number: int) -> None:
    record = ports.pull_requests.get(repository, number)
    ports.pull_requests.save(replace(record, merge_refused=applied_digest(record)))
