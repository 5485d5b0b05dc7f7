"""Replies about applying pull requests, in Markdown."""

from __future__ import annotations

import hashlib
from collections.abc import Iterable, Sequence

from tidegate.deploys.rules.approval import SetState, Standing
from tidegate.deploys.texts.presentation import many, people
from tidegate.texts.markdown import code, escaped
from tidegate.vcs.rules.pull_request import PullRequest

#: Lines of one kind in a reply at most.
_LISTED = 50


def applied_on_merge(prefix: str, *, from_fork: bool = False) -> str:
    """Return how changes are applied if pull requests are not applied before the merge; forks never are."""
    base = (
        "**Nothing was applied**: here, changes are applied after the merge. Each root is then planned again, "
        "and applied according to its review rules."
    )
    if from_fork:
        return f"{base} It comes from a fork, and Tidegate runs no code of forks before the merge."
    return (
        f"{base} To try it before the merge, comment {code(f'{prefix} deploy')}, which locks the queues. To apply "
        "before the merge, add `apply: in_pull_request` to the default branch's `tidegate.yaml`."
    )


def apply_missing(pull_request: PullRequest, missing: Sequence[str], prefix: str) -> str:
    """Return the reply that lists everything that an apply lacks; ``missing`` are sentences in Markdown."""
    return (
        f"**{code(pull_request.head_sha[:7])} is not applied**, because these requirements are missing:\n\n"
        f"{_list(missing)}\n\nComment {code(f'{prefix} apply')} again once that is done."
    )


def not_planned_yet(pull_request: PullRequest) -> str:
    """Return that the head's policy verdicts are still missing."""
    head = code(pull_request.head_sha[:7])
    return f"The policy results for {head} are not known yet. Wait for the check `tidegate/plan`."


def without_plan(root: str, prefix: str) -> str:
    """Return that the policy verdict on a root's plan is missing."""
    return (
        f"There is no policy result for {code(root)}, because it has no complete plan here. Comment "
        f"{code(f'{prefix} plan -p {root}')} first."
    )


def held_up(standing: Standing) -> str:
    """Return why a policy set blocks an apply."""
    name = code(standing.policy_set.name)
    if standing.state is SetState.WAITING:
        return f"The result of policy set {name} is not known yet. Wait for its check."
    if standing.state is SetState.UNKNOWN:
        return f"Policy set {name} has no plan of {_roots(standing)} to evaluate. Fix what failed there and push."
    owners, wanted = standing.policy_set.owners, many(standing.policy_set.approvals, "approving review")
    instead = (
        f"get {wanted} by its owners, {people(owners)}"
        if owners
        else "the policy set has no owners: ask its maintainers to change it"
    )
    if standing.rules and not any(verdict.failed for _, verdict in standing.judged):
        return f"This changes what runs or who may do what: {instead} (policy set {name})."
    return f"Policy set {name} fails. Change the plan, or {instead}."


def merge_refused(head: str, problem: str, lacks: Sequence[str] = ()) -> str:
    """Return that all is applied, but the VCS provider refuses to merge. ``lacks`` are permissions missing."""
    what = (
        f"Grant the Tidegate App {' and '.join(code(each) for each in lacks)} (in its settings under *Permissions & "
        "events*), or merge it yourself."
        if lacks
        else "Fix this, then merge, or comment `tidegate apply` again."
    )
    return (
        f"**All of {code(head[:7])} is applied, but the merge failed.** The VCS provider says: "
        f"{escaped(problem, 300)}\n\n{what} The queues of its roots stay locked until then. The merge deploys nothing "
        "again."
    )


def closed_unmerged(
    applied: Sequence[tuple[str, str]],
    cancelled: Sequence[tuple[str, str]] = (),
    going_on: Sequence[tuple[str, str]] = (),
) -> str:
    """Return the comment for a pull request with applies that closed without a merge: pairs of a root and a commit.

    Waiting ones are ``cancelled``; those being applied are ``going_on``, and stay like applied ones. The first line is
    a marker by which it is found again.
    """
    closed = "Closed without a merge"
    parts = [_stays(f"**{closed}, and what it applied stays:**", applied)] if applied else []
    if going_on:
        parts.append(
            f"**{closed}, but these applies are in progress.** They continue, and their result stays.\n\n"
            f"{_list(_commits(going_on))}"
        )
    if cancelled:
        again = "To apply it after all, reopen it and comment `tidegate apply` again."
        parts.append(f"**{closed}, so Tidegate no longer applies this.** {again}\n\n{_list(_commits(cancelled))}")
    text = "\n\n".join(parts)
    return f"<!-- tidegate:applied-and-closed {hashlib.sha256(text.encode()).hexdigest()[:16]} -->\n{text}"


def _commits(roots: Sequence[tuple[str, str]]) -> list[str]:
    lines = [f"{code(root)}, from {code(sha[:7])}" for root, sha in roots[:_LISTED]]
    return [*lines, f"and {len(roots) - _LISTED} more"] if len(roots) > _LISTED else lines


def _stays(title: str, applied: Sequence[tuple[str, str]]) -> str:
    roots = " ".join(f"-p {root}" for root, _ in applied[:_LISTED])
    return (
        f"{title}\n\n{_list(_commits(applied))}\n\n"
        "* To keep it, reopen and merge: nothing is deployed again.\n"
        "* To undo it, merge a change that touches these roots, and unlock their queues: its plan undoes what only "
        "this branch had, and always waits for a review, whatever `plan_review` says.\n"
        f"* To unlock, comment {code(f'tidegate unlock {roots}', 2000)}. Until then the queues stay locked: merges "
        "wait, so that none silently undoes what was applied. `access_control` defines who may unlock; by default, "
        "everybody with write access."
    )


def _roots(standing: Standing) -> str:
    return people(tuple(layer.root.name for layer in standing.missing))


def _list(lines: Iterable[str]) -> str:
    return "\n".join(f"- {line}" for line in lines)


def otherwise_shown(root: str) -> str:
    """Return that a root would be applied otherwise than its plan shows."""
    return (
        f"The branch's tidegate.yaml changes how {code(root)} runs: the plan shown uses its engine and "
        "variables, but an apply before the merge would use the default branch's. Merge it: the merge deploys it."
    )
