"""Record what a target deployed: reports are counted for the image set, whatever else a commit changed."""

from __future__ import annotations

from dataclasses import dataclass
from datetime import datetime, timedelta

from tidegate.config.rules.config_updates import Environment
from tidegate.config_updates.promotions.review_promotions import review_promotions
from tidegate.config_updates.read_configuration import CurrentUpdates, current_updates
from tidegate.config_updates.rules.environment import EnvironmentState
from tidegate.config_updates.rules.fan_in import Progress, TargetReport, rollout_of
from tidegate.config_updates.rules.image_set import identity_of
from tidegate.config_updates.rules.refusals import NoFileAtCommit, NotOnDefaultBranch, UnknownTarget
from tidegate.config_updates.rules.trailers import COMMIT
from tidegate.ports import Ports
from tidegate.rules.decide_again import deciding_again
from tidegate.vcs.rules.branch_moves import FORWARD
from tidegate.vcs.rules.comparison import Comparison


@dataclass(frozen=True, slots=True)
class DeployedTarget:
    """What a target reports: the commit of the config repository that it deployed, and whether that worked.

    ``operation_id`` is the target's own id of that deployment, ``finished_at`` its end by the target's clock.
    """

    image_set: str
    target: str
    config_sha: str
    succeeded: bool
    operation_id: str = ""
    finished_at: datetime | None = None


@dataclass(frozen=True, slots=True)
class Reported:
    """What a report did. ``repeated``: nothing new. ``outdated``: the target had reported a later commit before.

    ``progress`` is how far the environment's targets are with the reported image set.
    """

    environment: str
    identity: str
    progress: Progress
    repeated: bool = False
    outdated: bool = False


def report_target(ports: Ports, repository: str, deployed: DeployedTarget) -> Reported:
    """Store a target's report, complete its environment once all targets deployed its image set, and promote that.

    Reports of a target are ordered by their commits: one of an earlier commit that comes late changes nothing. Those of
    one commit are ordered by the target's own clock, if it tells when it finished, and otherwise as they come. A
    repeated report is harmless: of the same operation, or of the same commit with the same result.

    Raise UnknownImageSet, UnknownTarget, NotOnDefaultBranch, NoFileAtCommit, and what ``current_updates`` raises.
    """
    current = current_updates(ports, repository)
    environment = _environment(current, deployed)
    _check_branch(ports, current, deployed.config_sha)
    content = ports.config_branches.file_content(repository, deployed.config_sha, environment.file)
    if content is None:
        raise NoFileAtCommit(deployed.config_sha, environment.file)
    identity = identity_of(content)
    reported = deciding_again(lambda: _store(ports, repository, environment, deployed, identity))
    deciding_again(lambda: _complete(ports, repository, environment, deployed.image_set))
    review_promotions(ports, repository)
    return reported


def _environment(current: CurrentUpdates, deployed: DeployedTarget) -> Environment:
    declared = current.image_set(deployed.image_set).environments
    for each in declared:
        if any(target.name == deployed.target for target in each.targets):
            return each
    raise UnknownTarget(deployed.target, [target.name for each in declared for target in each.targets])


def _check_branch(ports: Ports, current: CurrentUpdates, sha: str) -> None:
    """Raise NotOnDefaultBranch unless the default branch has the commit."""
    if sha == current.commit:
        return
    if not COMMIT.fullmatch(sha) or ports.commits.compare(current.repository, sha, current.commit) not in FORWARD:
        raise NotOnDefaultBranch(sha, current.default_branch)


def _store(
    ports: Ports, repository: str, environment: Environment, deployed: DeployedTarget, identity: str
) -> Reported:
    state = ports.config_updates.environment(repository, deployed.image_set, environment.name)
    now = ports.clock.now()
    report = TargetReport(
        deployed.target,
        identity,
        deployed.config_sha,
        deployed.succeeded,
        now,
        deployed.operation_id,
        deployed.finished_at,
    )
    before = next((each for each in state.reports if each.target == deployed.target), None)
    is_same = before is not None and _is_same(before, report)
    is_old = before is not None and not is_same and _is_behind(ports, repository, before, report)
    if not is_same and not is_old:
        state = ports.config_updates.save_environment(state.with_report(report))
    return Reported(environment.name, identity, _progress(ports, state, environment, identity), is_same, is_old)


def _is_same(before: TargetReport, report: TargetReport) -> bool:
    """Tell whether a report says nothing new: a sender repeats one until it has an answer."""
    if report.operation_id and before.operation_id == report.operation_id:
        return True
    return (before.config_sha, before.succeeded) == (report.config_sha, report.succeeded)


def _is_behind(ports: Ports, repository: str, before: TargetReport, report: TargetReport) -> bool:
    """Tell whether a report is of an earlier commit, or of an earlier deployment of the same one."""
    if before.config_sha == report.config_sha:
        ends = before.finished_at, report.finished_at
        return ends[0] is not None and ends[1] is not None and ends[1] < ends[0]
    return ports.commits.compare(repository, before.config_sha, report.config_sha) is Comparison.BEHIND


def _progress(ports: Ports, state: EnvironmentState, environment: Environment, identity: str) -> Progress:
    targets = [each.name for each in environment.targets]
    now = ports.clock.now()
    return rollout_of(identity, targets, state.reports, now, now, timedelta())


def _complete(ports: Ports, repository: str, environment: Environment, image_set: str) -> None:
    state = ports.config_updates.environment(repository, image_set, environment.name)
    completed = state.completed([each.name for each in environment.targets], ports.clock.now())
    if completed != state:
        ports.config_updates.save_environment(completed)
