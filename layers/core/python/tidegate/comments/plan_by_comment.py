"""Carry out ``plan`` in a comment: plan the pull request again, or some of its roots.

The same comment again plans nothing more.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence

from tidegate.changes.rules.stack import DEFAULT_STACK
from tidegate.comments.answer_comment import Comment, answerer, outcome, refused
from tidegate.comments.rules.command import Command
from tidegate.comments.texts import replies
from tidegate.config.rules.plan_options import option_problems
from tidegate.deploys.authorize import access_refusals
from tidegate.discovery.repository_source import Granted, read_granted
from tidegate.discovery.root_index import Deployable
from tidegate.discovery.texts import chosen_roots as chosen_roots_texts
from tidegate.policies.rules.apply_requirements import FORK, may_not_write
from tidegate.ports import DeliveryOutcome, Ports
from tidegate.pull_requests.affected_layers import elsewhere
from tidegate.pull_requests.plannable_roots import Plannable, PlannableFinder
from tidegate.pull_requests.receive_pull_request import follow_pull_request
from tidegate.roots.rules.plan_request import PlanRequest
from tidegate.rules.access import Access, Action
from tidegate.rules.permission import Permission
from tidegate.texts.markdown import escaped
from tidegate.vcs.rules.pull_request import PullRequestSpec, SeenPullRequest


def plan_by_comment(ports: Ports, comment: Comment, command: Command) -> DeliveryOutcome:
    """Request the plans, and answer. Raise as ``receive_comment`` and ``follow_pull_request`` do."""
    seen = ports.pull_request_reader.seen_pull_request(comment.repository, comment.pull_request)
    request = _request(comment, command)
    refusal = plan_refusal(ports, comment.repository, request, seen)
    if refusal:
        return refused(ports, comment, refusal)
    followed = follow_pull_request(ports, comment.repository, comment.pull_request, request=request)
    return outcome(followed, answerer(ports.comments, comment).accept())


def plan_refusal(ports: Ports, repository: str, request: PlanRequest, seen: SeenPullRequest) -> str:
    """Return why a request plans nothing, in Markdown, or an empty text. Raise as ``carry_out`` does."""
    if problems := _always_missing(seen):
        return replies.not_planned(problems)
    spec = seen.spec
    granted = read_granted(ports, spec.repository, spec.branch, spec.base)
    if not granted.is_destination:
        return replies.not_planned([escaped(elsewhere(spec.branch, spec.base))])
    permission = ports.people.permission(repository, request.by)
    least = Permission.WRITE if granted.configuration.policies is None else Permission.READ
    lacks = (may_not_write(request.by),) if permission < least else ()
    problems = (*lacks, *option_problems(request.options, granted.configuration.pull_requests.allowed_plan_args))
    return replies.not_planned(problems) if problems else _about_roots(ports, request, spec, granted, permission)


def _about_roots(
    ports: Ports, request: PlanRequest, spec: PullRequestSpec, granted: Granted, permission: Permission
) -> str:
    """Return why the requested roots are not planned, or an empty text."""
    change = ports.commits.change(spec.repository, spec.base, spec.head_sha)
    plannable = PlannableFinder(ports, granted).find(spec, change.after, request)
    chosen = plannable.chosen(request)
    if refusal := _not_meant(plannable, request, chosen):
        return refusal
    refusals = access_refusals(ports, _accesses(chosen), spec.repository, Action.PLAN, request.by, permission)
    return replies.not_planned([escaped(each) for each in refusals]) if refusals else ""


def _request(comment: Comment, command: Command) -> PlanRequest:
    return PlanRequest(
        comment.delivery, comment.sender, command.roots, command.directories, command.query, command.options
    )


def _always_missing(seen: SeenPullRequest) -> Sequence[str]:
    if seen.merged:
        return ("It is merged already. Push a new branch to plan something else.",)
    if not seen.is_open:
        return ("It is closed. Reopen it to plan it.",)
    return (FORK,) if seen.spec.from_fork else ()


def _not_meant(plannable: Plannable, request: PlanRequest, chosen: Sequence[Deployable]) -> str:
    """Return what is wrong with the requested roots, in Markdown, or an empty text."""
    if plannable.unknown:
        return chosen_roots_texts.unknown_roots(plannable.unknown, plannable.names)
    if plannable.problems:
        return chosen_roots_texts.roots_refused(plannable.problems)
    if chosen:
        return ""
    if request.is_partial:
        return chosen_roots_texts.nothing_meant(request, [each.configured.candidate for each in plannable.members])
    return chosen_roots_texts.nothing_changed(plannable.found.notes + plannable.found.refused)


def _accesses(chosen: Iterable[Deployable]) -> dict[str, Access | None]:
    """Return the access rules of roots, with a description of each."""
    found: dict[str, Access | None] = {}
    for each in chosen:
        name, stack = each.member.key
        what = f"root {name}" if stack == DEFAULT_STACK else f"stack {stack}"
        if found.setdefault(what, each.configured.access) != each.configured.access:
            found[f"root {name} in {what}"] = each.configured.access
    return found
