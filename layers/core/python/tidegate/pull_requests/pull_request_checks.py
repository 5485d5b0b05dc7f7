"""Show a pull request by its check runs: on the whole, on each layer, and on each policy set."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass, replace
from datetime import datetime

from tidegate.deploys.rules.approval import SetState, Standing
from tidegate.deploys.rules.temporary_layer import LayerState, TemporaryLayer
from tidegate.deploys.slots.look_at_places import PlaceLooker
from tidegate.deploys.texts.policies import render_policy
from tidegate.discovery.texts.configuration_check import (
    external_id,
    render_corrected,
    render_invalid,
    render_misleading,
)
from tidegate.ports import Clock, PullRequests, TemporaryLayers
from tidegate.pull_requests.judge_policies import PolicyJudge
from tidegate.pull_requests.keep_check_run import CheckRunKeeper
from tidegate.pull_requests.pull_request_view import LayerPainter, PlanPainter, known
from tidegate.pull_requests.rules.checks import render_layer, render_stopped, render_whole, verdict_kind
from tidegate.pull_requests.rules.record import LetPass, PullRequestRecord, PullRequestVerdict
from tidegate.rules.errors import InvalidConfiguration, NotFound, NotYet
from tidegate.vcs.rules.check_run import CheckRun


@dataclass(frozen=True, slots=True)
class ForgeChecks:
    """The port ``PullRequestChecks``. Raises ForgeUnavailable and ForgeRefused."""

    keeper: CheckRunKeeper
    painter: LayerPainter
    judge: PolicyJudge

    def show(
        self,
        record: PullRequestRecord,
        layers: Sequence[TemporaryLayer] = (),
        fault: str = "",
        standings: Sequence[Standing] | None = None,
        unwritten: str = "",
    ) -> None:
        """Bring them to what the record says. ``fault`` is why Tidegate itself failed.

        ``standings`` are those of the policy sets, for callers who know, ``unwritten`` is why comments are missing.
        """
        for check_run in self._all(record, layers, fault, standings, unwritten):
            self.keeper.show(*record.spec.where, check_run)

    def configuration(
        self, record: PullRequestRecord, mistakes: InvalidConfiguration | None, warnings: Sequence[str] = ()
    ) -> None:
        """Show them as a push to the default branch has them shown, in a check run of their own."""
        sha = record.spec.head_sha
        if mistakes is not None:
            self.keeper.show(*record.spec.where, render_invalid(sha, mistakes, proposed=True))
        elif warnings:
            self.keeper.show(*record.spec.where, render_misleading(sha, warnings))
        elif self.keeper.made([external_id(sha)]):
            self.keeper.show(*record.spec.where, render_corrected(sha))

    def verdict(
        self, record: PullRequestRecord, layers: Sequence[TemporaryLayer], fault: str, standings: Sequence[Standing]
    ) -> PullRequestVerdict | None:
        """Return what they say of the whole, None while it goes on."""
        whole = next(iter(self._all(record, layers, fault, standings)))
        blocking = tuple(each.policy_set.name for each in standings if each.blocks)
        if whole.conclusion is None:
            return None
        kind = verdict_kind(record, layers, blocking, fault)
        let_pass = [each for each in standings if each.state is SetState.APPROVED]
        passed = tuple(LetPass(each.policy_set.name, each.approved_by) for each in let_pass)
        return PullRequestVerdict(whole.title, whole.conclusion, kind, blocking, passed)

    def standings(self, record: PullRequestRecord, layers: Sequence[TemporaryLayer]) -> Sequence[Standing]:
        """Return where the policy sets stand, once all layers have ended."""
        done = record.discovered == record.spec.revision and all(each.is_done for each in layers)
        return self.judge.judge(record.spec, layers, record.rule_changes) if done else ()

    def stop(self, record: PullRequestRecord, layers: Sequence[TemporaryLayer], reason: str) -> None:  # noqa: ARG002  # Others show reason and layers.
        """End what goes on. Those of layers are made once these have ended, so they never do."""
        if self.keeper.is_open(record.execution):
            self.keeper.show(*record.spec.where, render_stopped(record, reason, self.painter.page(record.spec)))

    def repeat(self, record: PullRequestRecord, layers: Sequence[TemporaryLayer], sha: str, fault: str = "") -> None:
        """Say the same on another commit."""
        for check_run in self._all(record, layers, fault):
            there = replace(check_run, sha=sha, external_id=f"{check_run.external_id}@{sha[:12]}", annotations=())
            self.keeper.show(*record.spec.where, there)

    def _all(
        self,
        record: PullRequestRecord,
        layers: Sequence[TemporaryLayer],
        fault: str,
        known: Sequence[Standing] | None = None,
        unwritten: str = "",
    ) -> Iterable[CheckRun]:
        standings = self.standings(record, layers) if known is None else known
        blocking = [each.policy_set.name for each in standings if each.blocks]
        views = [self.painter.row(each) for each in layers]
        page = self.painter.page(record.spec)
        yield render_whole(record, views, page, blocking, fault, unwritten=unwritten)
        for each in standings:
            yield render_policy(each, f"{record.execution}/policy/{each.policy_set.name}", page)


@dataclass(frozen=True, slots=True)
class ProgressShower:
    """Shows how far the plans of a pull request are, and how each layer ended."""

    records: PullRequests
    layers: TemporaryLayers
    keeper: CheckRunKeeper
    plans: PlanPainter
    clock: Clock
    places: PlaceLooker

    def progress(self, pull_request: str, not_before: float) -> None:
        """Bring the check run of the whole up to date while layers are planned.

        Raise NotYet before ``not_before`` (seconds since 1970), as well as ForgeUnavailable and ForgeRefused.
        """
        early = not_before - datetime.fromisoformat(self.clock.now()).timestamp()
        if early > 0:
            raise NotYet(max(1, round(early)))
        record = known(self.records, pull_request)
        if record is None or not record.is_open or record.discovered != record.spec.revision:
            return
        layers = self.layers.many(record.layers)
        is_going_on = any(not each.is_done for each in layers) and self.keeper.is_open(record.execution)
        if is_going_on:
            painter = self.plans.painter
            views = [painter.row(each) for each in layers]
            waiting = self.places.look(record.spec.repository, layers)
            shown = render_whole(record, views, painter.page(record.spec), waiting=waiting)
            self.keeper.show(*record.spec.where, shown)

    def layer(self, layer_id: str) -> None:
        """Show how a layer ended; one that was cancelled, or is gone, has nothing to show."""
        try:
            layer = self.layers.get(layer_id)
        except NotFound:
            return
        if layer.is_done and layer.state is not LayerState.CANCELLED:
            self.keeper.show(layer.installation, layer.repository, render_layer(self.plans.one(layer)))
