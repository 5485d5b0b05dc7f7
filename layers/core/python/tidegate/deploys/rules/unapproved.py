"""Missing approvals of policy-set owners for a plan without a pull request."""

from __future__ import annotations

from collections.abc import Collection, Iterable, Iterator, Sequence

from tidegate.deploys.rules.deployment import Deployment
from tidegate.deploys.rules.policy_status import by_what
from tidegate.deploys.rules.requirements_gate import demanded, is_of_head
from tidegate.policies.rules.apply_requirements import Origin
from tidegate.policies.rules.policy import PolicySetStatus, PolicyVerdict
from tidegate.policies.rules.requirements import Requirements
from tidegate.rules.access import Person, matches
from tidegate.texts.markdown import code, escaped
from tidegate.texts.sentences import listed
from tidegate.vcs.rules.approvals import why_more
from tidegate.vcs.rules.authors import Authors

#: Sentences of what policies say against a plan at most: the check run has more.
_MOST_SAID = 20
#: A set that does not let a plan pass, with its verdict: None if it has not evaluated the plan.
Refusal = tuple[PolicySetStatus, PolicyVerdict | None]


def refusals(deployment: Deployment) -> tuple[Refusal, ...]:
    """Return the sets that block a deployment's plan. A pull request's head had its approvals before its review."""
    plan, is_of_other = (
        deployment.planned.plan,
        deployment.request.pull_request is not None and not is_of_head(deployment),
    )
    if is_of_other or plan is None or not plan.changes.any:
        return ()
    verdicts = {each.policy_set: each for each in deployment.policies.verdicts}
    found = ((held, verdicts.get(held.name)) for held in deployment.policies.sets)
    return tuple((held, verdict) for held, verdict in found if verdict is None or verdict.failed)


def refused_because(deployment: Deployment) -> tuple[str, ...]:
    """Return what policies say against a deployment's plan, and who can approve it, in plain sentences."""
    said = [sentence for held, verdict in refusals(deployment) for sentence in _because(held, verdict)]
    more = len(said) - _MOST_SAID
    return (*said[:_MOST_SAID], f"And {more} more.") if more > 0 else tuple(said)


def _because(held: PolicySetStatus, verdict: PolicyVerdict | None) -> Iterator[str]:
    if verdict is None:
        yield f"Policy set {held.name} has not evaluated this plan."
        return
    who = f"{listed(held.owners)} can approve it" if held.owners else "nobody can approve it"
    if verdict.error:
        yield f"Policy set {held.name} ({who}): {verdict.error}"
    for each in verdict.findings:
        if each.blocks:
            yield f"Policy set {held.name} ({who}): {each.message}{f' ({each.address})' if each.address else ''}"


def approvable(refused: Iterable[Refusal]) -> tuple[Requirements, ...]:
    """Return as requirements the approvals that would let the plan pass. An unevaluated plan cannot be approved."""
    return tuple(
        Requirements(approvals=held.approvals, any_of=held.owners)
        for held, verdict in refused
        if verdict is not None and held.owners
    )


def asked_here(deployment: Deployment) -> tuple[Requirements, ...]:
    """Return whose approvals of the deployment itself would count: for its root's requirements and policy sets.

    If only a freeze is missing, nobody is asked.
    """
    if deployment.requirements.frozen:
        return ()
    every = (*demanded(deployment), *approvable(refusals(deployment)))
    return tuple(each for each in every if each.asks_people)


def unapproved(origin: Origin, refused: Sequence[Refusal], same: Collection[int]) -> tuple[str, ...]:
    """Return what is missing, a sentence in Markdown for each set.

    ``same`` are the numbers of the pull requests that showed this very plan: approvals of their heads count, those of
    others are of another plan. Who made or pushed the change approves nothing.
    """
    makers = _makers(origin)
    others = {login.casefold() for login in makers.logins}
    shown = [each for merged in origin.merged if merged.pull_request.number in same for each in merged.approving]
    given = (*origin.here, *shown)
    people = {each.login.casefold(): each for each in given if each.login.casefold() not in others}
    return tuple(_missing(refused, list(people.values()), makers))


def _makers(origin: Origin) -> Authors:
    """Return who made what is applied: where it did not come with pull requests alone, whoever the deployment names."""
    found = Authors() if origin.is_of_pull_requests else origin.makers
    for each in origin.merged:
        pull_request = each.pull_request
        found = found.and_also(Authors((pull_request.author,))).and_also(pull_request.made_by)
    return found


def _missing(refused: Iterable[Refusal], people: Sequence[Person], makers: Authors) -> Iterator[str]:
    for held, verdict in refused:
        if verdict is None:
            yield f"Policy set {code(held.name)} has not evaluated this plan."
            continue
        refuses = f"Policy set {code(held.name)} {escaped(f'blocks this plan{by_what(verdict)}')}."
        if not held.owners:
            yield f"{refuses} It has no owners who can approve it."
            continue
        owners = [each for each in people if any(matches(owner, each) for owner in held.owners)]
        needed = held.approvals + (not makers.known)
        if len(owners) < needed:
            who = listed([code(each) for each in held.owners])
            why = "" if makers.known else f" {why_more(makers, held.owners, needed)}"
            yield f"{refuses} It has {len(owners)} of {needed} approvals by its owners ({who}).{why}"
