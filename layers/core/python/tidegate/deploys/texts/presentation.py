"""Common parts of check-run texts: the view, and shared sentences."""

from __future__ import annotations

from dataclasses import dataclass
from datetime import datetime

from tidegate.deploys.rules.deployment import Deployment
from tidegate.deploys.rules.queue import Lock
from tidegate.deploys.rules.reason import because
from tidegate.deploys.rules.review import moment
from tidegate.deploys.rules.run_cost import RunCost
from tidegate.deploys.rules.slots import SlotWait
from tidegate.deploys.rules.state import State
from tidegate.deploys.rules.waiting import AfterGate
from tidegate.plans.rules.counts import counts_and_cost
from tidegate.rules import access
from tidegate.texts.markdown import code, escaped
from tidegate.texts.sentences import listed
from tidegate.vcs.rules.check_run import Action, Button, Conclusion
from tidegate.vcs.rules.forge_terms import GITHUB_TERMS, ForgeTerms

APPROVE_PLAN = Action(Button.APPROVE, "Apply exactly this plan")
REJECT = Action(Button.REJECT, "End this deployment, apply nothing")
RETRY = Action(Button.RETRY, "Re-run failed dependencies")
APPROVE = Action(Button.APPROVE, "Approve this deployment")
CANCEL = Action(Button.CANCEL, "End this deployment")
UNLOCK = Action(Button.UNLOCK, "Let queued revisions deploy")

#: Names that one sentence holds, and characters of each: nobody reads more, and the summary has room for them.
_NAMES = 20
_LONGEST_NAME = 60


@dataclass(frozen=True, slots=True)
class Mark:
    """Another deployment as a check run names it: its commit, its id, and the address of its check run or page."""

    deployment: str
    sha: str = ""
    url: str = ""

    def __str__(self) -> str:
        """Return it as Markdown: the short commit, or the id, as a link if there is an address."""
        name = code(self.sha[:7] or self.deployment)
        return f"[{name}]({self.url})" if self.url else name


@dataclass(frozen=True, slots=True)
class QueuePosition:
    """Where a deployment stands: its ``number`` (1 goes next), who runs, and who goes directly before it.

    ``reviewing`` tells that the one that runs waits for people, ``gate`` how it waits at a gate if it does,
    and ``as_of`` when all this was so.
    """

    number: int
    as_of: datetime
    running: Mark | None = None
    reviewing: bool = False
    behind: Mark | None = None
    gate: State | None = None


@dataclass(frozen=True, slots=True)
class PendingDependency:
    """One that a deployment waits for at a gate: a root in a stack, its state, since when, and its check run."""

    root: str
    stack: str
    state: State
    since: datetime | None = None
    url: str = ""


@dataclass(frozen=True, slots=True)
class WaitedFor:
    """What a deployment waits for at a gate: those to be named, and how many ``more`` there are of these.

    ``under_way`` counts others that have not ended, ``done`` those that are deployed or had nothing to change.
    ``at_most`` tells that not all were read, so that some of those that are counted may be done by now.
    """

    named: tuple[PendingDependency, ...] = ()
    more: int = 0
    under_way: int = 0
    done: int = 0
    at_most: bool = False


@dataclass(frozen=True, slots=True)
class WorkflowProgress:
    """How far the workflow is that applies a deployment in place of an engine.

    ``done`` counts its tasks, and ``tasks`` lists them, in Markdown. Once it has failed, ``failed`` is where, in plain
    text, and ``why`` the reason, in Markdown. ``url`` leads to its page, ``job`` is the one to look at.
    """

    done: str
    tasks: str
    failed: str = ""
    why: str = ""
    url: str | None = None
    job: str | None = None


@dataclass(frozen=True, slots=True)
class View:
    """What a check run shows besides its deployment.

    ``place`` is None for a deployment that does not wait, or whose position is not known yet. ``lock`` is the
    queue's and ``locker`` the deployment that put it there; ``locks`` tells that it is this one, ``locking``
    that its end is about to. ``plan_text`` begins the engine's output of the plan, which has ``plan_size``
    bytes in all; ``plan_altered`` tells that it is not what the plan job stored, so it is not shown.
    ``log_url`` is the log of its newest job, ``plan_url`` that of its plan. ``repeats`` is the deployment
    that this one runs again, ``repeated_by`` the one that runs this again; ``supersedes`` the one that gave up
    waiting for this one, ``superseded_by`` the one that this gave up for. ``waited_for`` is what holds its gate.
    ``slot`` says why no runner starts yet, ``workflow`` how far that of a cluster is, ``runners`` what they
    cost if it has ended, ``notice`` answers a click that
    had no effect. ``terms`` are the VCS provider's.
    """

    terms: ForgeTerms = GITHUB_TERMS
    place: QueuePosition | None = None
    lock: Lock | None = None
    locker: Mark | None = None
    locks: bool = False
    locking: bool = False
    plan_text: str = ""
    plan_size: int = 0
    plan_altered: bool = False
    bucket: str = ""
    execution_url: str | None = None
    log_url: str | None = None
    plan_url: str | None = None
    page_url: str | None = None
    queue_url: str | None = None
    change_url: str | None = None
    repeats: Mark | None = None
    repeated_by: Mark | None = None
    supersedes: Mark | None = None
    superseded_by: Mark | None = None
    waited_for: WaitedFor | None = None
    slot: SlotWait | None = None
    workflow: WorkflowProgress | None = None
    runners: RunCost | None = None
    notice: str = ""


@dataclass(frozen=True, slots=True)
class Presentation:
    """How one state looks: ``paragraphs`` are Markdown of our own making."""

    title: str
    paragraphs: tuple[str, ...]
    status: str = "completed"
    conclusion: Conclusion | None = None
    actions: tuple[Action, ...] = ()


def place(view: View, key: str) -> str:
    """Return where an artifact lies, as people and the AWS command line name it."""
    return f"s3://{view.bucket}/{key}" if view.bucket else key


def people(names: tuple[str, ...]) -> str:
    """Return names as ``a``, ``b`` and ``c``; of very many the first ones, and how many more there are."""
    return listed([code(name, _LONGEST_NAME) for name in names], _NAMES)


def who_may(deployment: Deployment, action: access.Action) -> str:
    """Return who may do something with the deployment, as the beginning of a sentence that goes on with a verb."""
    grantees = deployment.settings.access.who_may(action) if deployment.settings.access else (access.EVERYBODY,)
    named = tuple(each for each in grantees if each != access.EVERYBODY)
    if len(named) < len(grantees):
        also = f", and {people(named)}, can" if named else " can"
        return f"Anyone with write access to this repository{also}"
    return f"Only {people(named)} can" if named else "`access_control` allows nobody to"


def approval(deployment: Deployment) -> str:
    """Return who decided about the plan and when, as a sentence: all who approved, or the one who rejected."""
    review, gate = deployment.review, deployment.gate
    if gate is not None and gate.next is AfterGate.REJECTED:
        waited_for = "its apply requirements" if deployment.requirements.missing else "its dependencies"
        told = f"Rejected by {code(gate.by)} on {moment(gate.at or gate.since)}, while it waited for {waited_for}."
        return f"{told}{_wrote(gate.by, gate.reason)}"
    if review is not None and review.approved is False:
        by = review.by or ""
        return f"Rejected by {code(by)} on {moment(review.at or review.asked_at)}.{_wrote(by, review.reason)}"
    override = deployment.requirements.override
    passed = f" {code(override.by)} overrode the apply requirements: {code(override.reason)}" if override else ""
    if review is None or review.approved is None:
        return f"No review was needed.{passed}"
    approvers = tuple(approval.by for approval in review.approvals) or (review.by or "",)
    wrote = "".join(_wrote(each.by, each.reason) for each in review.approvals)
    return f"Approved by {people(approvers)} on {moment(review.at or review.asked_at)}.{wrote}{passed}"


def _wrote(by: str, reason: str) -> str:
    """Return the reason that somebody gave, as a sentence with a space before it; empty without one."""
    return f" {because(code(by), escaped(reason))}" if reason else ""


def what_was_not(deployment: Deployment) -> str:
    """Return what was not done by a deployment that ended before its apply, after "nothing was"."""
    return "applied" if deployment.planned.plan else "planned or applied"


def counts_of(deployment: Deployment) -> str:
    """Return what the deployment's plan changes and costs, in short."""
    plan = deployment.planned.plan
    return counts_and_cost(plan.changes, plan.cost) if plan else "no plan"


def many(count: int, noun: str) -> str:
    """Return a count with its noun in the right number."""
    return f"{count} {noun}{'' if count == 1 else 's'}"
