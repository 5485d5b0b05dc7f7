"""Deployments: in lists, alone, their jobs and logs, and what came of what was asked for."""

from __future__ import annotations

from tidegate_cli.answers.answer import Answer


class Changes(Answer):
    """What a plan changes; a replacement counts once, as a replacement."""

    add: int = 0
    change: int = 0
    destroy: int = 0
    replace: int = 0
    outputs: int = 0
    moved: int = 0
    actions: int = 0
    deferred: int = 0
    destroyed: tuple[str, ...] = ()
    replaced: tuple[str, ...] = ()


class Brief(Answer):
    """A deployment as lists show it. ``changes`` is None until it is planned; ``url`` is its page."""

    id: str
    repository: str
    root: str
    revision: str
    branch: str
    trigger: str
    requested_by: str
    requested_at: str
    state: str
    reason: str = ""
    error: str = ""
    changed_at: str = ""
    changes: Changes | None = None
    pull_request: int | None = None
    pull_request_reference: str | None = None
    forced: bool = False
    destroy: bool = False
    rerun_of: str | None = None
    stack: str = "default"
    within: tuple[str, ...] = ()
    tags: tuple[str, ...] = ()
    change_set: str | None = None
    layer: int = 1
    url: str = ""


class Replacement(Answer):
    """A deployment of a newer revision that contains another one, and is applied."""

    deployment: str
    revision: str


class Awaited(Answer):
    """A deployment of the same change that goes first, before the ``plan`` or the ``apply``."""

    deployment: str
    root: str
    stack: str
    state: str
    before: str = "apply"


class Approval(Answer):
    """One person's confirmation."""

    by: str
    at: str


class Review(Answer):
    """A plan review and its answers so far; ``approved`` is None while it is open."""

    asked_at: str = ""
    approved: bool | None = None
    by: str | None = None
    at: str | None = None
    approvals: tuple[Approval, ...] = ()


class ReviewRule(Answer):
    """How many people must confirm a plan, and whether those who made the change count."""

    approvals: int = 1
    exclude_authors: bool = False


class Override(Answer):
    """Who passed over what was missing, and why."""

    by: str
    at: str
    reason: str = ""


class Requirements(Answer):
    """What of a root's requirements was missing last, who approved the deployment itself, and who passed over it."""

    missing: tuple[str, ...] = ()
    approvable: bool = True
    approved_here: tuple[Approval, ...] = ()
    override: Override | None = None


class Step(Answer):
    """One line of a timeline."""

    state: str
    at: str
    by: str = ""
    reason: str = ""


class JobLink(Answer):
    """A job of a deployment; ``url`` is the page of its log."""

    id: str
    kind: str
    url: str = ""


class Deployment(Brief):
    """Everything about a deployment that the command line shows."""

    authors: tuple[str, ...] = ()
    must_review: str | None = None
    requirements: Requirements = Requirements()
    plan_digest: str | None = None
    engine_version: str | None = None
    review: Review | None = None
    review_rule: ReviewRule = ReviewRule()
    jobs: tuple[JobLink, ...] = ()
    history: tuple[Step, ...] = ()
    last_lines: str = ""
    check_run_url: str | None = None
    execution_url: str | None = None
    why: str = ""
    layers: int = 1
    gated_by: tuple[Awaited, ...] = ()
    replaced_by: Replacement | None = None
    cancelled: Approval | None = None


class Deployments(Answer):
    """Deployments, newest first; ``next`` asks for those before them."""

    deployments: list[Brief]
    next: str | None = None


class Decided(Answer):
    """What came of an answer to a review, in words, and the deployment after it."""

    message: str
    deployment: Brief


class Accepted(Answer):
    """An order that is worked on; ask for the request by its id."""

    request: str


class Request(Answer):
    """What came of a request; ``outcome`` is None until it is known."""

    request: str
    outcome: str | None = None
    deployments: tuple[Brief, ...] = ()


class Job(Answer):
    """One run of the engine, and what there is of its log: waiting, running, ended or lost."""

    id: str
    deployment: str
    kind: str
    attempt: int = 1
    state: str = ""
    url: str = ""


class Log(Answer):
    """Lines of a log, the position after them, and whether there will be no more."""

    lines: list[str]
    next: int
    ended: bool
    state: str = ""
