"""Publish the check runs of a pull request: of the whole, of each layer, and of each policy set.

Raises ForgeUnavailable and ForgeRefused.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import replace

from tidegate.deploys.rules.approval import SetState, Standing
from tidegate.deploys.rules.speculative_plan import LayerState, SpeculativePlan
from tidegate.deploys.slots.check_plan_slots import get_waiting_plans
from tidegate.deploys.texts.policies import render_policy
from tidegate.discovery.texts.configuration_check import (
    external_id,
    render_corrected,
    render_invalid,
    render_misleading,
)
from tidegate.ports import Ports
from tidegate.pull_requests.evaluate_policies import evaluate_policies
from tidegate.pull_requests.find_record import record_of
from tidegate.pull_requests.keep_check_run import is_check_run_open, made_check_run, show_check_run
from tidegate.pull_requests.pull_request_view import (
    plan_row,
    pull_request_page,
    shown_plan,
)
from tidegate.pull_requests.rules.checks import render_layer, render_stopped, render_whole, verdict_kind
from tidegate.pull_requests.rules.record import LetPass, PullRequestRecord, PullRequestVerdict
from tidegate.rules.errors import InvalidConfiguration, NotFound, NotYet
from tidegate.vcs.rules.check_run import CheckRun


def show_pull_request(
    ports: Ports,
    record: PullRequestRecord,
    layers: Sequence[SpeculativePlan] = (),
    fault: str = "",
    policy_statuses: Sequence[Standing] | None = None,
    unwritten: str = "",
) -> None:
    """Update the check runs from the record. ``fault`` is the internal error, if any.

    ``standings`` are the policy sets' statuses if the caller knows them, ``unwritten`` is why comments are missing.
    """
    for check_run in _all(ports, record, layers, fault, policy_statuses, unwritten):
        show_check_run(ports, record.spec.repository, check_run)


def show_configuration(
    ports: Ports, record: PullRequestRecord, mistakes: InvalidConfiguration | None, warnings: Sequence[str] = ()
) -> None:
    """Publish configuration problems in their own check run, as for a push to the default branch."""
    sha = record.spec.head_sha
    if mistakes is not None:
        show_check_run(ports, record.spec.repository, render_invalid(sha, mistakes, proposed=True))
    elif warnings:
        show_check_run(ports, record.spec.repository, render_misleading(sha, warnings))
    elif made_check_run(ports, [external_id(sha)]):
        show_check_run(ports, record.spec.repository, render_corrected(sha))


def show_verdict(
    ports: Ports,
    record: PullRequestRecord,
    layers: Sequence[SpeculativePlan],
    fault: str,
    policy_statuses: Sequence[Standing],
) -> PullRequestVerdict | None:
    """Return the verdict on the whole, None while it is in progress."""
    whole = next(iter(_all(ports, record, layers, fault, policy_statuses)))
    blocking = tuple(each.policy_set.name for each in policy_statuses if each.blocks)
    if whole.conclusion is None:
        return None
    kind = verdict_kind(record, layers, blocking, fault)
    let_pass = [each for each in policy_statuses if each.state is SetState.APPROVED]
    passed = tuple(LetPass(each.policy_set.name, each.approved_by) for each in let_pass)
    return PullRequestVerdict(whole.title, whole.conclusion, kind, blocking, passed)


def get_policy_statuses(
    ports: Ports, record: PullRequestRecord, layers: Sequence[SpeculativePlan]
) -> Sequence[Standing]:
    """Return where the policy sets stand, once all layers have ended."""
    done = record.discovered == record.spec.revision and all(each.is_done for each in layers)
    return evaluate_policies(ports, record.spec, layers, record.rule_changes) if done else ()


def stop_checks(ports: Ports, record: PullRequestRecord, reason: str) -> None:
    """Complete the check runs in progress. Those of layers are created at the layers' end."""
    if is_check_run_open(ports, record.execution):
        show_check_run(
            ports, record.spec.repository, render_stopped(record, reason, pull_request_page(ports, record.spec))
        )


def repeat_verdict(
    ports: Ports, record: PullRequestRecord, layers: Sequence[SpeculativePlan], sha: str, fault: str = ""
) -> None:
    """Publish the same verdict on another commit."""
    for check_run in _all(ports, record, layers, fault):
        there = replace(check_run, sha=sha, external_id=f"{check_run.external_id}@{sha[:12]}", annotations=())
        show_check_run(ports, record.spec.repository, there)


def _all(
    ports: Ports,
    record: PullRequestRecord,
    layers: Sequence[SpeculativePlan],
    fault: str,
    known: Sequence[Standing] | None = None,
    unwritten: str = "",
) -> Iterable[CheckRun]:
    policy_statuses = get_policy_statuses(ports, record, layers) if known is None else known
    blocking = [each.policy_set.name for each in policy_statuses if each.blocks and not each.has_nothing_to_judge]
    views = [plan_row(ports, each) for each in layers]
    page = pull_request_page(ports, record.spec)
    yield render_whole(record, views, page, blocking, fault, unwritten=unwritten)
    for each in policy_statuses:
        yield render_policy(each, f"{record.execution}/policy/{each.policy_set.name}", page)


def show_progress(ports: Ports, pull_request: str, not_before: float) -> None:
    """Update the check run of the whole while layers are planned.

    Raise NotYet before ``not_before`` (seconds since 1970), as well as ForgeUnavailable and ForgeRefused.
    """
    early = not_before - ports.clock.now().timestamp()
    if early > 0:
        raise NotYet(max(1, round(early)))
    record = record_of(ports, pull_request)
    if record is None or not record.is_open or record.discovered != record.spec.revision:
        return
    layers = ports.speculative_plans.many(record.layers)
    is_going_on = any(not each.is_done for each in layers) and is_check_run_open(ports, record.execution)
    if is_going_on:
        views = [plan_row(ports, each) for each in layers]
        waiting = get_waiting_plans(ports, record.spec.repository, layers)
        shown = render_whole(record, views, pull_request_page(ports, record.spec), waiting=waiting)
        show_check_run(ports, record.spec.repository, shown)


def show_layer(ports: Ports, layer_id: str) -> None:
    """Publish how a layer ended; nothing for a cancelled or removed one."""
    try:
        layer = ports.speculative_plans.get(layer_id)
    except NotFound:
        return
    if layer.is_done and layer.state is not LayerState.CANCELLED:
        show_check_run(ports, layer.repository, render_layer(shown_plan(ports, layer)))
