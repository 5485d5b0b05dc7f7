"""Which roots a pull request affects, each as a temporary layer: by git, and by what the default branch grants."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace

from tidegate.domain.change_set import Key
from tidegate.domain.errors import CyclicChange, InvalidConfiguration, NotFound, quoted
from tidegate.domain.policy import HeldPolicySet
from tidegate.domain.pull_request_record import PullRequestRecord, PullRequestSpec
from tidegate.domain.root import layer_id
from tidegate.domain.temporary_layer import TemporaryLayer
from tidegate.usecases.discover_roots import Discovery, discover_roots
from tidegate.usecases.repository_source import Granted, RepositorySource
from tidegate.usecases.root_index import Deployable

#: Layers of one pull request: an execution's history has 25,000 events, and each layer takes up to 60 of them.
MOST_LAYERS = 400

_FORK = (
    "The pull request comes from a fork: a plan would run its code with credentials, so nothing of it is run. "
    "Push its branch to this repository, and open a pull request from there."
)
_DRAFT = "The pull request is a draft: it is planned once it is ready for review."
_UNRELATED = "The pull request's branch and the base branch have no commit in common. Rebase the branch."

#: Stores the policy sets that hold for members of a change, as the default branch has them; returns them by member.
HoldPolicies = Callable[[PullRequestSpec, Granted, Sequence[Deployable]], Mapping[Key, tuple[HeldPolicySet, ...]]]


@dataclass(frozen=True, slots=True)
class Affected:
    """What a pull request affects. ``notice`` says in sentences, a line each, what is left out, and why.

    ``skipped`` tells that it is not planned as long as it is a draft, ``pressing`` that the notice is to be commented
    also if there are no layers.
    """

    layers: tuple[TemporaryLayer, ...] = ()
    notice: str = ""
    skipped: bool = False
    pressing: bool = False


@dataclass(frozen=True, slots=True)
class LayerFinder:
    """Finds what pull requests affect."""

    source: RepositorySource
    hold_policies: HoldPolicies

    def find(self, record: PullRequestRecord, at: str) -> Affected:
        """Return what a pull request affects as of ``at``.

        Raise NotFound when the forge does not have its head any more, ForgeUnavailable and ForgeRefused.
        """
        if record.spec.from_fork:
            return Affected(notice=_FORK, pressing=True)
        try:
            return self._granted(record, at)
        except (InvalidConfiguration, CyclicChange) as error:
            return Affected(notice=str(error), pressing=True)

    def _granted(self, record: PullRequestRecord, at: str) -> Affected:
        spec = record.spec
        granted = self.source.granted(*spec.where, spec.branch, spec.base)
        if spec.is_draft and not granted.configuration.pull_requests.drafts:
            return Affected(notice=_DRAFT, skipped=True)
        if not granted.is_destination:
            return Affected(notice=_elsewhere(spec))
        found = self._discovered(spec, granted)
        if found is None:
            return Affected(notice=_UNRELATED, pressing=True)
        if len(found.members) > MOST_LAYERS:
            return Affected(notice=_too_many(len(found.members)), pressing=True)
        held = self.hold_policies(spec, granted, found.members)
        layers = tuple(_layer(record, granted, each, found, at) for each in found.members)
        layers = tuple(replace(each, policy_sets=held.get((each.root.name, each.stack), ())) for each in layers)
        return Affected(layers, "\n".join((*found.refused, *found.notes)), pressing=bool(found.refused))

    def _discovered(self, spec: PullRequestSpec, granted: Granted) -> Discovery | None:
        """Return what the commits of the pull request change, None if they are none of this repository's history."""
        try:
            change = self.source.forge.change(*spec.where, spec.base_sha, spec.head_sha)
        except NotFound:
            return None
        with self.source.fetch(*spec.where, spec.head_sha, change.after) as trees:
            return discover_roots(trees, spec.repository, self.source.review, granted)


def _elsewhere(spec: PullRequestSpec) -> str:
    return (
        f"Pull requests from {quoted(spec.branch)} to {quoted(spec.base)} are not planned. "
        "What is planned is said by destination_branches in the default branch's tidegate.yaml."
    )


def _too_many(number: int) -> str:
    return (
        f"The pull request affects {number} roots in their stacks, and at most {MOST_LAYERS} are planned at once: "
        "none is. Split it."
    )


def _layer(record: PullRequestRecord, granted: Granted, each: Deployable, found: Discovery, at: str) -> TemporaryLayer:
    spec, member, configured, rules = record.spec, each.member, each.configured, granted.configuration.pull_requests
    return TemporaryLayer(
        layer_id(spec.id, member.root.name, member.stack, spec.revision, record.attempt),
        spec.repository,
        spec.number,
        spec.installation,
        member.root,
        spec.head_sha,
        spec.base_sha,
        member.stack,
        configured.shared,
        rules.checkout,
        rules.allowed_providers,
        rules.allowed_modules,
        member.why,
        tier=member.layer,
        tiers=max(other.member.layer for other in found.members),
        waits=member.waits,
        review=configured.review_rule,
        access=configured.access,
        run=configured.run,
        changed_at=at,
    )
