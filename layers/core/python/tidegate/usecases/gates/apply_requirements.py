"""Tell what is missing, of all that its root requires, before a deployment is applied."""

from __future__ import annotations

from collections.abc import Callable, Collection, Sequence
from dataclasses import dataclass, field, replace

from tidegate.domain.deploys.authors import Authors
from tidegate.domain.deploys.deployment import Deployment, State
from tidegate.domain.deploys.origin import Pushed
from tidegate.domain.deploys.requirements import Requirements
from tidegate.domain.deploys.requirements_gate import demanded, is_of_head
from tidegate.domain.errors import ForgeRefused, NotFound
from tidegate.domain.markdown import code
from tidegate.domain.policies.unapproved import approvable, refusals, unapproved
from tidegate.domain.pull_requests.judged_plan import says_the_same
from tidegate.domain.pull_requests.requirements import UNMATCHED, Merged, Origin, missing_before_apply
from tidegate.ports import Forge, PullRequests
from tidegate.usecases.comments.check_requirements import RequirementsChecker

#: Commits whose pull requests are asked for, each with a call: a merge takes one or two, a rebase one for each commit.
_MOST_ASKED = 50
#: Characters of why the forge could not be asked.
_LETTERS = 500


def _never(_deployment: Deployment) -> tuple[str, ...]:
    return ()


@dataclass(frozen=True, slots=True)
class ApplyRequirements:
    """Judges deployments that are about to be applied: whatever asked for them, but for what operators override.

    What a merge deploys is judged on the pull requests that its commits came with. A plan that policy sets refuse needs
    the approval of their owners, besides what the root requires. ``frozen`` tells of freeze windows, which only an
    operator passes over.
    """

    forge: Forge
    records: PullRequests
    frozen: Callable[[Deployment], tuple[str, ...]] = _never

    def missing(self, deployment: Deployment) -> tuple[str, ...]:
        """Return what is missing, a sentence in Markdown for each. Raise ForgeUnavailable.

        What is withdrawn is not applied, whatever is there.
        """
        if deployment.withdrawn and deployment.state is State.AWAITING_REQUIREMENTS:
            return (deployment.withdrawn,)
        if deployment.override is not None:
            return ()
        return (*self.frozen(deployment), *self._required(deployment))

    def _required(self, deployment: Deployment) -> tuple[str, ...]:
        told = (UNMATCHED,) if deployment.unmatched and not deployment.forced else ()
        wanted, refused = () if told or deployment.forced else demanded(deployment), refusals(deployment)
        asking = (*wanted, *approvable(refused))
        if not asking and not refused:
            return told
        try:
            origin = self._origin(deployment, asking) if asking else Origin()
            of_policies = unapproved(origin, refused, self._same(deployment, origin))
            return (*told, *missing_before_apply(origin, wanted), *of_policies)
        except (ForgeRefused, NotFound) as error:
            return (f"It could not be checked: {code(str(error), _LETTERS)}",)

    def _origin(self, deployment: Deployment, wanted: Sequence[Requirements]) -> Origin:
        checker, where = RequirementsChecker(self.forge, self.records), (deployment.installation, deployment.repository)
        here = checker.people(where, approving_here(deployment), wanted)
        merged: list[Merged] = []
        search = _Search(self.forge, where)
        if is_of_head(deployment):
            merged.append(self._head(checker, where, deployment, wanted))
        for push in _pushes(deployment):
            search.look(push)
        merged += [checker.of_merged(where, number, base, wanted) for number, base in search.found.items()]
        if deployment.destroys_deployed:
            search.without.append(deployment.revision.sha)
        makers = Authors((*deployment.authors, deployment.requested_by), deployment.authors_known)
        without, altered = tuple(search.without), tuple(dict.fromkeys(search.altered))
        return Origin(tuple(merged), without, search.complete, here, makers, altered)

    def _same(self, deployment: Deployment, origin: Origin) -> Collection[int]:
        """Return the pull requests that showed the very plan of a deployment, at the heads that were merged.

        A head that is deployed by itself is what its owners approve, whatever its plan comes to.
        """
        if is_of_head(deployment):
            return (deployment.pull_request or 0,)
        heads = {each.pull_request.number: each.pull_request.head_sha for each in origin.merged}
        known = self.records.many([(deployment.repository, number) for number in heads])
        numbers = ((each.spec.number, each.plans) for each in known)
        return {number for number, plans in numbers if says_the_same(deployment, heads[number], plans)}

    def _head(
        self,
        checker: RequirementsChecker,
        where: tuple[int, str],
        deployment: Deployment,
        wanted: Sequence[Requirements],
    ) -> Merged:
        """Return a pull request whose head is deployed. Its checks were read when somebody asked for that."""
        head, base, number = deployment.revision.sha, deployment.base_sha, deployment.pull_request or 0
        found = checker.of_merged(where, number, base, wanted, head=head)
        return replace(found, pull_request=replace(found.pull_request, failing_checks=()))


def approving_here(deployment: Deployment) -> tuple[str, ...]:
    """Return who approved the deployment itself, by its plan's review or in place of a pull request's, each once."""
    reviews = deployment.review.approvals if deployment.review is not None else ()
    return tuple({each.by.casefold(): each.by for each in (*reviews, *deployment.approved_here)}.values())


def _pushes(deployment: Deployment) -> tuple[Pushed, ...]:
    if deployment.pushed or is_of_head(deployment) or deployment.destroys_deployed:
        return deployment.pushed
    return (Pushed("", deployment.revision.sha, deployment.revision.branch),)


@dataclass(slots=True)
class _Search:
    """Searches for the pull requests that commits came with; each with the commit before, where that is known."""

    forge: Forge
    where: tuple[int, str]
    found: dict[int, str] = field(default_factory=dict)
    without: list[str] = field(default_factory=list)
    altered: list[str] = field(default_factory=list)
    complete: bool = True
    asked: int = 0

    def look(self, push: Pushed) -> None:
        commits = self._commits(push.before, push.after)
        self.complete &= commits is not None
        self.altered += push.altered
        left = dict.fromkeys((push.after, *reversed(commits or ())))
        while left:
            if self.asked >= _MOST_ASKED:
                self.complete = False
                return
            sha = next(iter(left))
            del left[sha]
            for head in self._came_with(push, sha):
                for reviewed in (self._commits(push.before, head) or ()) if left else ():
                    left.pop(reviewed, None)

    def _came_with(self, push: Pushed, sha: str) -> Sequence[str]:
        """Remember what a commit came with; return the heads of what was not known before."""
        self.asked += 1
        every = self.forge.pull_requests_of(*self.where, sha)
        pulls = [each.spec for each in every if each.merged and each.spec.base == push.branch]
        if not pulls:
            self.without.append(sha)
        new = [each for each in pulls if each.number not in self.found]
        is_range = bool(push.before.strip("0")) and push.before != push.after
        self.found |= {each.number: push.before if is_range else "" for each in new}
        return [each.head_sha for each in new]

    def _commits(self, before: str, after: str) -> Sequence[str] | None:
        """Return the commits that come after another; None where not all are known."""
        if before == after:
            return ()
        if not before.strip("0"):
            return None
        try:
            return self.forge.change(*self.where, before, after).commits
        except NotFound:
            return None
