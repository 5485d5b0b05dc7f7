"""Evaluate the status of a pull request's policy sets, by its reviews and their authors."""

from __future__ import annotations

from collections.abc import Sequence
from contextlib import suppress
from dataclasses import replace

from tidegate.deploys.rules.approval import SetState, Standing, asked_for, policy_statuses
from tidegate.deploys.rules.speculative_plan import SpeculativePlan
from tidegate.deploys.texts.policies import dismissal
from tidegate.policies.rules.policy import SAME_RULES, PolicySetStatus, RuleChanges
from tidegate.ports import Ports
from tidegate.rules.access import Person, matches, teams_among
from tidegate.rules.errors import AppLacksPermission, ForgeRefused
from tidegate.rules.permission import Permission
from tidegate.vcs.find_makers import makers
from tidegate.vcs.rules.approvals import Approvals, ToApprove, approvals, outdated
from tidegate.vcs.rules.pull_request import PullRequestReview, PullRequestSpec


def evaluate_policies(
    ports: Ports, spec: PullRequestSpec, layers: Sequence[SpeculativePlan], rules: RuleChanges = SAME_RULES
) -> tuple[Standing, ...]:
    """Return the status of each set that evaluates the layers, or whose owners must approve ``rules``.

    Raise ForgeUnavailable and ForgeRefused.
    """
    sets = asked_for(layers, rules)
    if not any(held.owners for held in sets):
        return policy_statuses(layers, spec.head_sha, Approvals(), {}, rules)
    given = _given(ports, spec)
    people = {login: _person(ports, spec.repository, login, sets) for login in given.of_head}
    return policy_statuses(layers, spec.head_sha, given, people, rules)


def _given(ports: Ports, spec: PullRequestSpec) -> Approvals:
    """Return the approvals. The commits' authors decide how many are needed, even before the first."""
    made_by = makers(ports.commits, spec.repository, spec.base_sha, spec.head_sha, spec.pushes)
    wanted = replace(_to_approve(spec), made_by=made_by)
    return approvals(ports.reviews.reviews(spec.repository, spec.number), wanted)


def dismiss_outdated(ports: Ports, spec: PullRequestSpec, policy_statuses: Sequence[Standing]) -> None:
    """Dismiss approvals by owners of a waiting set if they are of earlier commits or another base.

    If the VCS provider refuses, they stay, and are shown as not counting. Raise ForgeUnavailable.
    """
    sets = [each.policy_set for each in policy_statuses if each.state is SetState.FAILED and each.policy_set.owners]
    if not sets:
        return
    reviews = ports.reviews.reviews(spec.repository, spec.number)
    for review in outdated(reviews, _to_approve(spec)):
        person = _person(ports, spec.repository, review.by, sets) if review.id else None
        names = [held.name for held in sets if person and any(matches(owner, person) for owner in held.owners)]
        if names:
            _dismiss(ports, spec, review, names)


def _dismiss(ports: Ports, spec: PullRequestSpec, review: PullRequestReview, names: Sequence[str]) -> None:
    with suppress(ForgeRefused):
        ports.reviews.dismiss_review(
            spec.repository, spec.number, review.id, dismissal(review.sha, _to_approve(spec), names)
        )


def _person(ports: Ports, repository: str, login: str, sets: Sequence[PolicySetStatus]) -> Person:
    """Return a person's permissions. A person without read access counts nowhere."""
    permission = ports.people.permission(repository, login)
    if permission < Permission.READ:
        return Person(login, permission)
    teams = teams_among([owner for held in sets for owner in held.owners])
    return Person(login, permission, frozenset(team for team in teams if _is_member(ports, repository, team, login)))


def _is_member(ports: Ports, repository: str, team: str, login: str) -> bool:
    """Return whether a person is in a team; no if the App may not read members."""
    try:
        return ports.people.is_team_member(repository, team, login)
    except AppLacksPermission:
        return False


def _to_approve(spec: PullRequestSpec) -> ToApprove:
    return ToApprove(spec.head_sha, spec.author, spec.base, spec.base_since)
