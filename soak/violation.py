"""What the checker's rules share: a broken rule, and what a history says of pushes and applies."""

from __future__ import annotations

from dataclasses import dataclass

from soak.history import Audit, Check, History, Push

RUNNING = "RUNNING"
#: Under this name a history counts the applies that were to begin while the audit topic was out.
OUTAGES = "audit was out"
#: And under this one the runners that died when their engine stored a state.
CUTS = "apply was cut"
#: How the check run of an apply is titled that Tidegate did not let begin.
_NOT_BEGUN = "Internal error"
#: How a check run is titled whose root was what the revision says before.
NOTHING_TO_DO = "No changes"


@dataclass(frozen=True, slots=True)
class Violation:
    """A broken rule: its name, where, and what was seen."""

    rule: str
    root: str
    what: str
    revision: str = ""
    links: tuple[str, ...] = ()


def changed_roots(history: History, push: Push) -> list[str]:
    """Return the roots that a push changed."""
    before = history.commits[push.before].marks if push.before else {}
    return sorted(root for root, mark in history.commits[push.after].marks.items() if before.get(root) != mark)


def is_answered(history: History, revision: str, root: str) -> bool:
    """Tell whether a check run of the root ended on the revision, or on one that contains it."""
    ended = {run.sha for run in history.checks if run.root == root and has_ended(run)}
    return revision in ended or any(history.contains(sha, revision) for sha in ended)


def has_ended(run: Check) -> bool:
    """Tell whether nothing is awaited of a check run any more."""
    return run.status == "completed" and run.conclusion != "action_required"


def begun(history: History) -> list[Audit]:
    """Return the audit messages that an apply begins, of those that did begin.

    The topic may have taken a message and not answered: that apply did not begin. Its end, if the topic took it, has no
    start.
    """
    never = never_begun(history)
    return [audit for audit in history.audits if audit.state == RUNNING and audit.deployment not in never]


def never_begun(history: History) -> set[str]:
    """Return the deployments of which the topic may have heard that they apply, though none began to."""
    ends = {audit.deployment: audit for audit in history.audits if audit.ended}
    newest = {run.deployment: run for run in sorted(history.checks, key=lambda run: run.id)}
    told = {deployment for deployment, audit in ends.items() if audit.state == "FAILURE" and audit.started is None}
    return told | {name for name, run in newest.items() if name not in ends and run.title == _NOT_BEGUN}


def story(history: History, rule: str, audit: Audit, what: str) -> Violation:
    """Return a broken rule of a deployment, with links to its check runs."""
    links = tuple(run.url for run in history.checks if run.deployment == audit.deployment)
    return Violation(rule, audit.root, f"{audit.deployment}: {what}", audit.revision, links)


def may_leave(history: History, revision: str) -> bool:
    """Tell whether a revision is only deployed from the default branch: it is no head of a pull request."""
    return revision not in {pull.sha for pull in history.pulls}


def is_on_branch(history: History, revision: str, at: float) -> bool:
    """Tell whether a revision was on the default branch at a time."""
    heads = [push.after for push in history.pushes if push.at <= at]
    return bool(heads) and history.contains(heads[-1], revision)


def was_taken_away(history: History, revision: str, until: float) -> bool:
    """Tell whether a push until then took a revision away from the default branch."""
    return any(
        push.at <= until
        and push.before is not None
        and history.contains(push.before, revision)
        and not history.contains(push.after, revision)
        for push in history.pushes
    )
