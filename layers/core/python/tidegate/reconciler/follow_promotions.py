"""Let promotions go on whose news were lost, start those again whose execution ended, and ask targets for their status.

A repeated call is harmless.
"""

from __future__ import annotations

import random
from collections.abc import Iterator
from dataclasses import replace
from datetime import timedelta
from functools import partial

from aws_lambda_powertools import Logger

from tidegate.config_updates.promotions.begin_promotion import start_promotion
from tidegate.config_updates.promotions.follow_update import ON_AUTO
from tidegate.config_updates.promotions.review_promotions import review_promotions
from tidegate.config_updates.read_configuration import CurrentUpdates, current_updates
from tidegate.config_updates.reports import DeployedTarget, report_target
from tidegate.config_updates.rules.environment import EnvironmentState
from tidegate.config_updates.rules.promotion import Promotion, execution_name
from tidegate.config_updates.rules.refusals import (
    NoFileAtCommit,
    NotOnDefaultBranch,
    UnknownEnvironment,
    UnknownImageSet,
)
from tidegate.config_updates.rules.status import StatusRefused, TargetStatus, read_status
from tidegate.ports import Ports
from tidegate.reconciler.reconciler_pass import ReconcilerPass
from tidegate.rules.errors import Conflict, NotFound

_AT_MOST = 200
#: How long after its landing an entry without a promotion gets one: longer than a message waits in its queue.
_SEARCHED = timedelta(days=7)

logger = Logger(service="tidegate", child=True)


def follow_promotions(ports: Ports, turn: ReconcilerPass) -> int:
    """Evaluate the promotions of all config repositories. Return in how many of these something was to do."""
    return turn.each(sorted(ports.config_updates.repositories()), partial(_follow, ports), _AT_MOST)


def _follow(ports: Ports, repository: str) -> bool:
    known = ports.config_updates.open_promotions(repository)
    started = _start_missing(ports, repository, {(each.entry, each.attempt) for each in known})
    restarted = [each for each in known if _restart(ports, each)]
    return bool(started + len(restarted) + review_promotions(ports, repository))


def _start_missing(ports: Ports, repository: str, known: set[tuple[str, int]]) -> int:
    """Start promotions of entries on the auto branch, and of those that landed lately, that have none."""
    since = ports.clock.now() - _SEARCHED
    newest = (each.newest for each in ports.config_updates.environments(repository))
    landed = [each.entry for each in newest if each is not None and each.entry and each.at > since]
    stacked = [each.entry for each in ports.config_updates.head(repository).stack]
    started = 0
    for entry in ports.config_updates.entries(repository, [*stacked, *landed]).values():
        what = repository, entry.id, entry.attempt
        if entry.state not in ON_AUTO or what[1:] in known or ports.config_updates.promotion(*what):
            continue
        if not _runs(ports, execution_name(entry.id, entry.attempt)):
            start_promotion(ports, entry)
            started += 1
    return started


def _restart(ports: Ports, promotion: Promotion) -> bool:
    """Start an open promotion again whose execution ended. Return False if it runs, or if it changed meanwhile."""
    if _runs(ports, promotion.execution):
        return False
    try:
        again = replace(promotion, restarts=promotion.restarts + 1, token="")
        saved = ports.config_updates.save_promotion(again)
    except Conflict:
        return False
    ports.update_workflows.start_promotion(saved.execution, saved.repository, saved.entry, saved.attempt)
    return True


def _runs(ports: Ports, execution: str) -> bool:
    try:
        return ports.update_workflows.promotion_ending(execution) is None
    except NotFound:
        return False


def poll_targets(ports: Ports, turn: ReconcilerPass) -> int:
    """Ask the status URLs of targets whose environment is not complete. Return of how many repositories some reported.

    A target that cannot be asked is logged: its environment stalls as one without a report does.
    """
    return turn.each(sorted(ports.config_updates.repositories()), partial(_poll, ports, turn), _AT_MOST)


def _poll(ports: Ports, turn: ReconcilerPass, repository: str) -> bool:
    waiting = [each for each in ports.config_updates.environments(repository) if not each.is_complete]
    if not waiting:
        return False
    current = current_updates(ports, repository)
    asked = [(each, *target) for each in waiting for target in _asked(current, each)]
    # Another order in each pass: those that take their time do not keep it from the others.
    order = random.Random(turn.number).sample(asked, len(asked))  # noqa: S311  # As in ReconcilerPass.
    return bool([each for each in order if ports.clock.now() < turn.until and _report(ports, *each)])


def _asked(current: CurrentUpdates, state: EnvironmentState) -> Iterator[tuple[str, str]]:
    """Yield the targets with a status URL that have not deployed the environment's image set."""
    try:
        declared = current.environment(state.image_set, state.name)
    except (UnknownImageSet, UnknownEnvironment):
        return
    identity = state.newest.identity if state.newest else ""
    done = {each.target for each in state.reports if each.identity == identity and each.succeeded}
    yield from ((each.name, each.status) for each in declared.targets if each.status and each.name not in done)


def _report(ports: Ports, state: EnvironmentState, target: str, url: str) -> bool:
    """Report for a target that is healthy. One that is not may just be on its way, and reports nothing."""
    try:
        status = read_status(ports.target_statuses.read(url))
        if not status.healthy or _is_stale(status, state):
            return False
        what = DeployedTarget(state.image_set, target, status.config_sha, succeeded=True)
        reported = report_target(ports, state.repository, what)
    except (StatusRefused, NotOnDefaultBranch, NoFileAtCommit) as error:
        logger.warning("A target's status does not count", extra={"target": target, "problem": str(error)})
        return False
    return not (reported.repeated or reported.outdated)


def _is_stale(status: TargetStatus, state: EnvironmentState) -> bool:
    """Tell whether the status was found out before the image set landed: it may be that of the one before."""
    landed = state.newest
    return status.assessed_at is not None and landed is not None and status.assessed_at < landed.at
