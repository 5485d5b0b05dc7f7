"""Pull requests: what is planned, and what policies say of it."""

from __future__ import annotations

from tidegate_cli.answers.answer import Answer
from tidegate_cli.answers.deployments import Changes, JobLink


class Finding(Answer):
    """One result of one rule of a policy set."""

    severity: str
    rule: str = ""
    message: str = ""
    address: str = ""
    exempted_by: str = ""


class Verdict(Answer):
    """What a policy set says of a plan."""

    policy_set: str
    failed: bool
    error: str = ""
    findings: tuple[Finding, ...] = ()


class Layer(Answer):
    """A root, in one stack, that a pull request affects."""

    id: str
    root: str
    stack: str = "default"
    within: tuple[str, ...] = ()
    tags: tuple[str, ...] = ()
    state: str
    reason: str = ""
    why: str = ""
    tier: int = 1
    changes: Changes | None = None
    gone: bool = False
    left: int | None = None
    policies: tuple[Verdict, ...] = ()
    last_lines: str = ""
    conflict: bool = False
    job: JobLink | None = None

    @property
    def is_gone(self) -> bool:
        """Whether the pull request takes the root away, and it is known what stays behind, or why it is not."""
        return self.gone and self.state == "no_changes"

    @property
    def leaves_resources(self) -> bool:
        """Whether it is gone and resources stay behind, or may."""
        return self.is_gone and self.left != 0


class Condition(Answer):
    """A condition of a pull request, in the Kubernetes form."""

    type: str
    status: str
    reason: str = ""
    message: str = ""
    lastTransitionTime: str = ""  # noqa: N815  # Kubernetes' word.


class PullVerdict(Answer):
    """What the check run of the whole says of a pull request."""

    conclusion: str
    kind: str = ""
    title: str = ""
    blocking: tuple[str, ...] = ()


class PullPolicySet(Answer):
    """A policy set that refuses plans of a pull request."""

    name: str
    owners: tuple[str, ...] = ()
    approvals: int = 1
    blocking: bool = True
    approved_by: tuple[str, ...] = ()


class PullBrief(Answer):
    """A pull request as lists show it."""

    repository: str
    number: int
    reference: str = ""
    title: str = ""
    author: str = ""
    branch: str = ""
    base: str = ""
    revision: str = ""
    state: str
    verdict: PullVerdict | None = None
    outdated: bool = False
    stacks: tuple[str, ...] = ()
    draft: bool = False
    from_fork: bool = False
    opened_at: str = ""
    closed_at: str | None = None
    merged: bool = False
    notice: str = ""
    url: str = ""
    forge_url: str | None = None


class Pulls(Answer):
    """Open pull requests, newest first."""

    pull_requests: list[PullBrief]
    hint: str = ""
    unchecked: int = 0


class Pull(PullBrief):
    """A pull request with its conditions and layers."""

    base_revision: str = ""
    conditions: tuple[Condition, ...] = ()
    layers: tuple[Layer, ...] = ()
    policy_sets: tuple[PullPolicySet, ...] = ()
    rule_changes: tuple[str, ...] = ()
