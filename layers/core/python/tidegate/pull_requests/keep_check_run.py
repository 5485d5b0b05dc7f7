"""Create a pull request's check run once, and update it in place, with few calls.

An unchanged check run costs no call.

The intent to create one is stored before: only if that is found without an id, the check run is searched.
"""

from __future__ import annotations

from collections.abc import Collection
from dataclasses import replace

from tidegate.ports import Ports, PublishedCheckRun
from tidegate.vcs.rules.check_run import MAXIMUM_ANNOTATIONS, CheckRun, annotation_digest, digest_of


def show_check_run(ports: Ports, repository: str, check_run: CheckRun) -> None:
    """Show it. Raise ForgeUnavailable and ForgeRefused."""
    key = check_run.external_id
    shown = ports.pull_check_runs.published(key)
    closed, digest = check_run.status == "completed", digest_of(replace(check_run, annotations=()))
    wanted = PublishedCheckRun(key, shown.id if shown else 0, 0, closed, digest, noted=shown.noted if shown else ())
    first, *others = _batches(check_run, wanted.noted)
    if shown is not None and shown.digest == wanted.digest and not first.annotations:
        return
    if shown is None:
        ports.pull_check_runs.remember(replace(wanted, digest="", closed=False))
        wanted = replace(wanted, id=ports.check_run_publisher.create_check_run(repository, first))
    else:
        wanted = replace(wanted, id=_again(ports, repository, shown, first))
    wanted = _noted(wanted, first)
    ports.pull_check_runs.remember(wanted)
    for each in others:
        ports.check_run_publisher.update_check_run(repository, wanted.id, each)
        wanted = _noted(wanted, each)
        ports.pull_check_runs.remember(wanted)


def is_check_run_open(ports: Ports, key: str) -> bool:
    """Tell whether a check run was or may have been created, and has not completed yet."""
    shown = ports.pull_check_runs.published(key)
    return shown is not None and not shown.closed


def made_check_run(ports: Ports, keys: Collection[str]) -> Collection[str]:
    """Return those of these keys whose check run was or may have been created."""
    return ports.pull_check_runs.many(keys).keys()


def _again(ports: Ports, repository: str, shown: PublishedCheckRun, check_run: CheckRun) -> int:
    made = shown.id or ports.check_run_publisher.find_check_run(repository, check_run.sha, check_run.external_id)
    if not made:
        return ports.check_run_publisher.create_check_run(repository, check_run)
    ports.check_run_publisher.update_check_run(repository, made, check_run)
    return made


def _batches(check_run: CheckRun, noted: Collection[str]) -> list[CheckRun]:
    """Return the check run once for each batch of missing annotations, at least once."""
    new = [each for each in check_run.annotations if annotation_digest(each) not in noted]
    parts = [new[at : at + MAXIMUM_ANNOTATIONS] for at in range(0, len(new), MAXIMUM_ANNOTATIONS)]
    return [replace(check_run, annotations=tuple(part)) for part in parts or [[]]]


def _noted(published: PublishedCheckRun, check_run: CheckRun) -> PublishedCheckRun:
    return replace(published, noted=(*published.noted, *map(annotation_digest, check_run.annotations)))
