"""What the HTTP API says of pull requests. Conditions have the form that Kubernetes gives them."""

from __future__ import annotations

from pydantic import Field

from tidegate.deploys.rules.speculative_plan import LayerState, SpeculativePlan
from tidegate.policies.rules.policy import PolicyFinding, Severity
from tidegate.pull_requests.get_pull_request import PullRequestView
from tidegate.pull_requests.rules.record import (
    ConditionType,
    PullRequestRecord,
    PullRequestState,
    Status,
    VerdictKind,
)
from tidegate.pull_requests.rules.tally import tally
from tidegate.vcs.rules.check_run import Conclusion
from tidegate.web.models import Changes, CostModel, Instant, JobLink, Shown, Timestamp
from tidegate.web.shapes import Shapes, changes_of, cost_of


class ConditionModel(Shown):
    """One condition of a pull request."""

    type: ConditionType
    status: Status
    reason: str = Field(description="A machine-readable code")
    message: str
    lastTransitionTime: Timestamp  # noqa: N815  # Kubernetes' word.


class FindingModel(Shown):
    """One result of one rule of a policy set."""

    severity: Severity
    rule: str
    message: str
    address: str = Field(description="The address of the resource, if it names one")
    exempted_by: str = Field(description="The exception that allows it, if there is one")


class VerdictModel(Shown):
    """What a policy set says of a plan."""

    policy_set: str
    failed: bool
    error: str = Field(description="Why the evaluation failed, if it did")
    findings: list[FindingModel]


class LayerModel(Shown):
    """A root, in one stack, that a pull request affects, and its plan."""

    id: str
    root: str
    stack: str
    within: list[str] = Field(description="The stack groups that contain its stack")
    tags: list[str] = Field(description="The root's own tags")
    state: LayerState
    reason: str
    why: str = Field(description="Why the pull request affects it")
    tier: int = Field(description="The order of deployment after the merge, from 1")
    changed_at: Timestamp
    changes: Changes | None = Field(description="null until it is planned, and for a removed root")
    cost: CostModel | None = Field(default=None, description="What the plan costs; null if no step states it")
    gone: bool = Field(description="Whether the pull request takes the root away: the merge destroys nothing of it")
    left: int | None = Field(description="How many resources a removed root leaves; null if not known")
    policies: list[VerdictModel]
    last_lines: str = Field(description="The end of the engine's output, if it failed")
    conflict: bool = Field(description="Whether it failed because of a merge conflict, which then applies to all")
    job: JobLink | None


class PullRequestVerdictModel(Shown):
    """What the check run of the whole says."""

    conclusion: Conclusion
    kind: VerdictKind = Field(description="The most severe result")
    title: str = Field(description="The counts, and what blocks the merge")
    blocking: list[str] = Field(description="The policy sets that block the merge")


class PullRequestBrief(Shown):
    """A pull request as lists show it."""

    repository: str
    number: int
    reference: str = Field(description="Its number as the VCS provider shows it: `#12`, on GitLab `!12`")
    title: str
    author: str
    branch: str
    base: str
    revision: str = Field(description="Its head")
    state: PullRequestState = Field(description="The next step")
    verdict: PullRequestVerdictModel | None = Field(description="null while it is unknown, or if no root is affected")
    outdated: bool = Field(description="Whether the base branch changed its roots since it was planned")
    stacks: list[str] = Field(description="The stacks of the roots that it affects")
    draft: bool
    from_fork: bool
    opened_at: Timestamp
    closed_at: Instant | None = Field(description="ISO 8601 in UTC; null while it is open")
    merged: bool
    notice: str = Field(description="What is left out, and why")
    url: str = Field(description="The URL of its page")
    forge_url: str | None = Field(description="Its URL at the VCS provider")


class PolicySetModel(Shown):
    """A policy set that refuses plans of a pull request."""

    name: str
    owners: list[str] = Field(description="Who may approve violations, in the form of access_control; nobody if empty")
    approvals: int = Field(description="How many of them must approve")
    blocking: bool = Field(description="Whether it blocks the merge; if not, its owners approved")
    approved_by: list[str] = Field(description="Who approved")


class PullRequestDetails(PullRequestBrief):
    """Everything about a pull request."""

    base_revision: str = Field(description="The base branch's commit that it is planned on")
    conditions: list[ConditionModel]
    layers: list[LayerModel] = Field(description="In the order in which a merge deploys them")
    left_out: int = Field(default=0, description="How many roots are left out of the list, the last ones")
    policy_sets: list[PolicySetModel] = Field(description="Policy sets that fail, or whose rules it changes")
    rule_changes: list[str] = Field(description="Its changes to what runs programs or grants permissions")


class PullRequestsList(Shown):
    """Open pull requests, newest first."""

    pull_requests: list[PullRequestBrief]
    next: str | None = Field(default=None, description="`after` of the next page; null: there is none")
    hint: str = Field(default="", description="If a search finds nothing: the stack or tag that none has")
    unchecked: int = Field(description="How many repositories your permission was not checked for yet")


def brief(shapes: Shapes, record: PullRequestRecord) -> PullRequestBrief:
    """Return a pull request as lists show it."""
    return PullRequestBrief.model_validate(_brief(shapes, record))


def details(shapes: Shapes, view: PullRequestView) -> PullRequestDetails:
    """Return everything about a pull request."""
    record = view.record
    conditions = [
        ConditionModel(
            type=each.type,
            status=each.status,
            reason=each.reason,
            message=each.message,
            lastTransitionTime=each.since,
        )
        for each in record.conditions
    ]
    return PullRequestDetails.model_validate(
        {
            **_brief(shapes, record),
            "base_revision": record.spec.base_sha,
            "conditions": conditions,
            "layers": [_layer(shapes, each) for each in view.layers],
            "left_out": view.left_out,
            "policy_sets": refusing_sets(view),
            "rule_changes": list(record.rule_changes.changes),
        }
    )


def refusing_sets(view: PullRequestView) -> list[PolicySetModel]:
    """Return the policy sets that refuse plans, and those whose owners must approve changed rules.

    Until it is known what their owners say, each blocks the merge.
    """
    asked = view.record.rule_changes.owners
    held = {each.name: each for sets in (*(layer.policy_sets for layer in view.layers), asked) for each in sets}
    verdict = view.record.verdict
    passed = {each.policy_set: each.by for each in verdict.passed} if verdict else {}
    return [
        PolicySetModel(
            name=name,
            owners=list(held[name].owners) if name in held else [],
            approvals=held[name].approvals if name in held else 1,
            blocking=verdict is None or name in verdict.blocking,
            approved_by=list(passed.get(name, ())),
        )
        for name in dict.fromkeys((*tally(view.layers).failing, *(each.name for each in asked)))
    ]


def _brief(shapes: Shapes, record: PullRequestRecord) -> dict[str, object]:
    spec = record.spec
    return {
        "repository": spec.repository,
        "number": spec.number,
        "reference": shapes.reference(spec.number),
        "title": spec.title,
        "author": spec.author,
        "branch": spec.branch,
        "base": spec.base,
        "revision": spec.head_sha,
        "state": record.state,
        "verdict": _verdict(record),
        "outdated": bool(record.overtaken),
        "stacks": list(record.stacks),
        "draft": spec.is_draft,
        "from_fork": spec.from_fork,
        "opened_at": record.opened_at,
        "closed_at": record.closed_at,
        "merged": record.merged,
        "notice": record.notice,
        "url": shapes.pull_url(spec.repository, spec.number),
        "forge_url": shapes.pull_request_url(spec.repository, spec.number),
    }


def _verdict(record: PullRequestRecord) -> PullRequestVerdictModel | None:
    found = record.verdict
    if found is None or record.state is not PullRequestState.IDLE:
        return None
    return PullRequestVerdictModel(
        conclusion=found.conclusion, kind=found.kind, title=found.title, blocking=list(found.blocking)
    )


def _layer(shapes: Shapes, layer: SpeculativePlan) -> LayerModel:
    return LayerModel(
        id=layer.id,
        root=layer.root.name,
        stack=layer.stack,
        within=list(layer.within),
        tags=list(layer.tags),
        state=layer.state,
        reason=layer.reason,
        why=layer.why,
        tier=layer.tier,
        changed_at=layer.changed_at,
        changes=changes_of(layer.plan.changes) if layer.plan and not layer.gone else None,
        cost=None if layer.gone else cost_of(layer.plan),
        gone=layer.gone,
        left=layer.left,
        policies=[
            VerdictModel(
                policy_set=each.policy_set,
                failed=each.failed,
                error=each.error,
                findings=[_finding(one) for one in each.findings],
            )
            for each in layer.verdicts
        ],
        last_lines=layer.last_lines,
        conflict=layer.conflict,
        job=shapes.job_link(layer.job) if layer.job else None,
    )


def _finding(one: PolicyFinding) -> FindingModel:
    return FindingModel(
        severity=one.severity, rule=one.rule, message=one.message, address=one.address, exempted_by=one.exempted_by
    )
