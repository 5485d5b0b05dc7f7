"""Records as models of the HTTP API."""

from __future__ import annotations

from collections.abc import Iterable
from urllib.parse import quote, urlencode

from tidegate.changes.rules.wave import WaveDecision
from tidegate.check_runs.get_deployment import DeploymentView
from tidegate.deploys.queue.get_queue import Place, QueueView, RootView
from tidegate.deploys.read_log import LogPage, Subject
from tidegate.deploys.rules.deployment import Deployment
from tidegate.deploys.rules.gate import Point
from tidegate.deploys.rules.job import job_parts
from tidegate.deploys.rules.outcome import Cancellation, Unlocking
from tidegate.deploys.rules.overview import DependencyMember, StackOverview, awaited, naming, overview
from tidegate.deploys.rules.queue import Lock, Orphaned
from tidegate.deploys.rules.repository_locks import RepositoryLocks
from tidegate.deploys.rules.requirements_gate import waits
from tidegate.deploys.rules.review import asks_twice, excluded, expires_at, needed_approvals
from tidegate.deploys.rules.slots import SlotWait
from tidegate.deploys.rules.summary import DeploymentSummary
from tidegate.deploys.rules.unapproved import asked_here, refused_because
from tidegate.deploys.rules.waiting import Review
from tidegate.deploys.search_deployments import Found
from tidegate.gates.get_change import ChangeView, WaveView
from tidegate.plans.rules.cost import decimal_text
from tidegate.plans.rules.plan import Plan, PlannedChanges
from tidegate.ports import HistoryPage, KnownRepository
from tidegate.texts.markdown import without_marks
from tidegate.vcs.rules.headline import Headline
from tidegate.web.change_models import ChangeModel, MemberModel, StackModel, WaveDecisionModel, WaveModel
from tidegate.web.models import (
    ApprovalModel,
    AuditedModel,
    Changes,
    CostModel,
    DependencyModel,
    DeploymentBrief,
    DeploymentDetails,
    DeploymentsPage,
    HeadlineModel,
    JobLink,
    JobModel,
    LockModel,
    LogLines,
    OrphanedModel,
    OverrideModel,
    PlaceModel,
    QueueModel,
    ReplacementModel,
    RepositoryModel,
    RequirementsModel,
    ResourceCostModel,
    ReviewModel,
    ReviewRuleModel,
    RootModel,
    SlotModel,
    StepModel,
)
from tidegate.web.nested import in_path
from tidegate.web.parts import WebLinks

#: Deployments that one of a change is shown to wait for: in a large change, each may wait for hundreds.
SHOWN_WAITS = 20


class Shapes:
    """Turns records into models, with addresses below ``url``."""

    def __init__(self, url: str, links: WebLinks) -> None:
        self._url, self._links = url, links

    def reference(self, number: int | None) -> str | None:
        """Return how the forge's people write a request's number."""
        return self._links.terms.reference(number) if number else None

    def deployment_url(self, identifier: str) -> str:
        return f"{self._url}/deployments/{quote(identifier)}"

    def change_url(self, identifier: str) -> str:
        return f"{self._url}/changes/{quote(identifier)}"

    def pull_request_url(self, repository: str, number: int | None) -> str | None:
        return self._links.forge.pull_request_url(repository, number) if number else None

    def issue_url(self, repository: str, number: int) -> str:
        return self._links.forge.issue_url(repository, number)

    def pull_url(self, repository: str, number: int) -> str:
        return f"{self._url}/pulls/{repository}/{number}"

    def job_url(self, identifier: str) -> str:
        return f"{self._url}/jobs/{quote(identifier)}"

    def cluster_url(self, repository: str, name: str) -> str:
        return f"{self._url}/clusters/{in_path(repository)}/{name}"

    def queue_url(self, repository: str, root: str) -> str:
        return f"{self._url}/queue?{urlencode({'repository': repository, 'root': root})}"

    def repository(self, known: KnownRepository) -> RepositoryModel:
        return RepositoryModel(
            name=known.name, default_branch=known.default_branch, url=f"{self._url}/repositories/{known.name}"
        )

    def brief(self, one: Deployment | DeploymentSummary) -> DeploymentBrief:
        return DeploymentBrief.model_validate(self._brief(one))

    def _brief(self, one: Deployment | DeploymentSummary) -> dict[str, object]:
        return {
            "id": one.id,
            "repository": one.repository,
            "root": one.root.name,
            "revision": one.revision.sha,
            "branch": one.revision.branch,
            "trigger": one.request.trigger,
            "requested_by": one.request.by,
            "requested_at": one.request.at,
            "state": one.state,
            "reason": one.reason,
            "error": one.error,
            "changed_at": one.changed_at,
            "changes": changes_of(one.planned.plan.changes) if one.planned.plan else None,
            "cost": cost_of(one.planned.plan),
            "pull_request": one.request.pull_request,
            "pull_request_reference": self.reference(one.request.pull_request or one.request.headline.pull_request),
            "headline": headline_model(one.request.headline),
            "forced": one.request.forced,
            "destroy": one.request.destroy is not None,
            "rerun_of": one.rerun.of,
            "stack": one.stack,
            "within": list(one.within),
            "tags": list(one.tags),
            "change_set": one.change.id or None,
            "layer": one.change.layer,
            "url": self.deployment_url(one.id),
        }

    def _requirements(self, one: Deployment) -> RequirementsModel:
        override = one.requirements.override
        return RequirementsModel(
            missing=[without_marks(sentence) for sentence in one.requirements.missing],
            approvable=waits(one) and bool(asked_here(one)),
            approved_here=[
                ApprovalModel(by=each.by, at=each.at, reason=each.reason) for each in one.requirements.approved_here
            ],
            override=OverrideModel(by=override.by, at=override.at, reason=override.reason) if override else None,
        )

    def details(
        self, view: DeploymentView, waits_for: Iterable[DependencyMember] = (), newer: Deployment | None = None
    ) -> DeploymentDetails:
        one = view.deployment
        return DeploymentDetails.model_validate(
            {
                **self._brief(one),
                "why": one.change.why,
                "layers": one.change.layers,
                "gated_by": self._awaited(waits_for),
                "replaced_by": self._replacement(newer),
                "workspace": one.root.workspace,
                "directory": one.root.dir,
                "authors": list(one.commits.authors),
                "must_review": one.planned.must_review,
                "policies_refuse": list(refused_because(one)),
                "plan_digest": one.planned.plan.file.sha256 if one.planned.plan else None,
                "asks_twice": asks_twice(one),
                "engine_version": one.planned.plan.engine_version if one.planned.plan else None,
                "review": _review(one.review),
                "requirements": self._requirements(one),
                "review_rule": ReviewRuleModel(
                    when=one.settings.review_rule.when,
                    approvals=needed_approvals(one),
                    exclude_authors=one.settings.review_rule.exclude_authors,
                    excluded=list(excluded(one)),
                ),
                "slot": _slot(view.slot),
                "unlocked": _done_by(one.outcome.unlocked),
                "cancelled": _done_by(one.outcome.cancelled),
                "jobs": [self.job_link(job) for job in view.jobs],
                "history": [
                    StepModel(state=step.state, at=step.at, by=step.by, reason=step.reason) for step in one.timeline
                ],
                "audited": [AuditedModel(event=item.event, state=item.state, at=item.at) for item in one.audited],
                "last_lines": one.outcome.last_lines,
                "check_run_url": view.check_run,
                "execution_url": self.execution_url(one.id),
            }
        )

    def change(self, view: ChangeView) -> ChangeModel:
        one = naming(view.deployments)
        return ChangeModel(
            id=view.id,
            repository=one.repository,
            revision=one.revision.sha,
            branch=one.revision.branch,
            pull_request=one.request.pull_request,
            layers=max(member.change.layers for member in view.deployments),
            stacks=[self._stack(stack, view) for stack in overview(view.deployments)],
            left_out=view.left_out,
            url=self.change_url(view.id),
        )

    def _stack(self, stack: StackOverview, view: ChangeView) -> StackModel:
        return StackModel(
            name=stack.name,
            tier=stack.tier,
            state=stack.state,
            done=stack.done,
            running=stack.running,
            waiting=stack.waiting,
            failed=stack.failed,
            given_up=stack.given_up,
            wave=_wave(view.waves.get(stack.name)),
            plan_after=list(stack.plan_after),
            apply_after=list(stack.apply_after),
            members=[self._member(one, view) for one in stack.members],
        )

    def _member(self, one: Deployment, view: ChangeView) -> MemberModel:
        every = awaited(one, view.deployments)
        waits_for = {"gated_by": self._awaited(every[:SHOWN_WAITS]), "gated_by_left_out": len(every[SHOWN_WAITS:])}
        replaced = self._replacement(view.replacements.get(one.id))
        return MemberModel.model_validate(
            {**self._brief(one), "why": one.change.why, "replaced_by": replaced, **waits_for}
        )

    def _replacement(self, newer: Deployment | None) -> ReplacementModel | None:
        if newer is None:
            return None
        return ReplacementModel(deployment=newer.id, revision=newer.revision.sha, url=self.deployment_url(newer.id))

    def _awaited(self, waits_for: Iterable[DependencyMember]) -> list[DependencyModel]:
        return [
            DependencyModel(
                deployment=each.deployment.id,
                root=each.deployment.root.name,
                stack=each.deployment.stack,
                state=each.deployment.state,
                before=Point.PLAN if each.before_plan else Point.APPLY,
                url=self.deployment_url(each.deployment.id),
            )
            for each in waits_for
        ]

    def execution_url(self, deployment: str) -> str | None:
        return self._links.execution.replace("{deployment}", deployment) or None

    def commit_url(self, repository: str, sha: str) -> str:
        return self._links.forge.commit_url(repository, sha)

    def job_link(self, job: str) -> JobLink:
        _, kind, attempt = job_parts(job)
        return JobLink(id=job, kind=kind, attempt=attempt, url=self.job_url(job))

    def job(self, job: str, subject: Subject, page: LogPage) -> JobModel:
        _, kind, attempt = job_parts(job)
        return JobModel(
            id=job,
            deployment=subject.id,
            repository=subject.repository,
            kind=kind,
            attempt=attempt,
            state=page.state,
            url=self.job_url(job),
        )

    @staticmethod
    def log_lines(page: LogPage) -> LogLines:
        """Return a page of a log."""
        return LogLines(state=page.state, lines=list(page.lines), next=page.next, ended=page.ended)

    def history(self, page: HistoryPage) -> DeploymentsPage:
        return DeploymentsPage(deployments=self.briefs(page.deployments), next=page.next)

    def found(self, found: Found, unsearched: int = 0) -> DeploymentsPage:
        shown = self.briefs(found.deployments)
        return DeploymentsPage(
            deployments=shown, next=found.next, searched=found.searched, unsearched=unsearched, hint=found.hint
        )

    def briefs(self, deployments: Iterable[Deployment | DeploymentSummary]) -> list[DeploymentBrief]:
        return [self.brief(one) for one in deployments]

    def root(self, repository: str, view: RootView) -> RootModel:
        deployed = view.head.deployed
        return RootModel(
            name=view.name,
            stacks=list(view.stacks),
            tags=list(view.tags),
            deployed_revision=deployed.revision.sha if deployed else None,
            deployed_by=deployed.deployment if deployed else None,
            lock=self._lock(view.head.lock),
            running=self.brief(view.running) if view.running else None,
            last=self.brief(view.last) if view.last else None,
            waiting=view.head.length,
            destroyed=view.head.is_destroyed,
            orphaned=_orphaned(view.head.orphaned),
            url=self.queue_url(repository, view.name),
        )

    def queue(self, repository: str, root: str, view: QueueView) -> QueueModel:
        deployed = view.head.deployed
        return QueueModel(
            repository=repository,
            root=root,
            lock=self._lock(view.head.lock),
            deployed_revision=deployed.revision.sha if deployed else None,
            deployed_state=deployed.state if deployed else None,
            destroyed=view.head.is_destroyed,
            running=self.brief(view.running) if view.running else None,
            waiting=[self._place(place) for place in view.line],
        )

    def locks(self, locks: RepositoryLocks) -> list[LockModel]:
        return [found for each in locks.locks if (found := self._lock(each))]

    def _lock(self, lock: Lock | None) -> LockModel | None:
        if lock is None:
            return None
        return LockModel(
            by=lock.by,
            at=lock.at,
            revision=lock.revision,
            reason=lock.reason,
            deployment=lock.deployment,
            expires_at=lock.expires_at,
            scope=lock.scope or None,
        )

    def _place(self, place: Place) -> PlaceModel:
        waiting = place.waiting
        return PlaceModel(
            place=place.number,
            id=waiting.deployment,
            revision=waiting.revision,
            trigger=waiting.trigger,
            requested_at=waiting.requested_at,
            requested_by=place.deployment.request.by if place.deployment else None,
            destroy=place.deployment is not None and place.deployment.request.destroy is not None,
            headline=headline_model(place.deployment.request.headline) if place.deployment else None,
            url=self.deployment_url(waiting.deployment),
        )


def cost_of(plan: Plan | None) -> CostModel | None:
    """Return what a plan costs, None if nothing states it."""
    if plan is None or (cost := plan.cost) is None:
        return None
    return CostModel(
        currency=cost.currency,
        monthly=decimal_text(cost.monthly),
        difference=decimal_text(cost.difference),
        resources=[
            ResourceCostModel(address=each.address, difference=decimal_text(each.difference)) for each in cost.resources
        ],
        more=cost.more,
        unsupported=cost.unsupported,
        problem=cost.problem,
    )


def changes_of(changes: PlannedChanges) -> Changes:
    return Changes(
        add=changes.add,
        change=changes.change,
        destroy=changes.destroy,
        replace=changes.replace,
        outputs=changes.outputs,
        moved=changes.moved,
        actions=changes.actions,
        deferred=changes.deferred,
        destroyed=list(changes.destroyed),
        replaced=list(changes.replaced),
    )


def headline_model(headline: Headline) -> HeadlineModel | None:
    if headline == Headline():
        return None
    return HeadlineModel(
        title=headline.title,
        author=headline.author,
        avatar=headline.avatar,
        pull_request=headline.pull_request,
        pull_request_title=headline.pull_request_title,
    )


def _review(review: Review | None) -> ReviewModel | None:
    if review is None:
        return None
    approvals = [ApprovalModel(by=one.by, at=one.at, reason=one.reason) for one in review.approvals]
    return ReviewModel(
        asked_at=review.asked_at,
        expires_at=expires_at(review),
        approved=review.approved,
        by=review.by,
        at=review.at,
        reason=review.reason,
        approvals=approvals,
    )


def _orphaned(orphaned: Orphaned | None) -> OrphanedModel | None:
    if orphaned is None:
        return None
    return OrphanedModel(revision=orphaned.revision, at=orphaned.at, resources=orphaned.resources)


def _slot(wait: SlotWait | None) -> SlotModel | None:
    if wait is None:
        return None
    return SlotModel(since=wait.since, busy=wait.busy, limit=wait.limit, position=wait.position, reason=f"{wait}.")


def _done_by(done: Unlocking | Cancellation | None) -> ApprovalModel | None:
    return None if done is None else ApprovalModel(by=done.by, at=done.at)


def _wave(view: WaveView | None) -> WaveModel | None:
    if view is None:
        return None
    return WaveModel(
        max_concurrent=view.rules.max_concurrent,
        stop_on_failures=view.rules.stop_on_failures,
        held=view.is_held,
        failed=[each.root for each in view.wave.counted],
        continued=_decided(view.wave.continued),
        stopped=_decided(view.wave.stopped),
    )


def _decided(decision: WaveDecision | None) -> WaveDecisionModel | None:
    return WaveDecisionModel(by=decision.by, at=decision.at, reason=decision.reason) if decision else None
