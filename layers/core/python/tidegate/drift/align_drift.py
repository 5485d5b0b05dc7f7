"""Create, change and delete EventBridge schedules to match the default branch's configuration.

Idempotent.
"""

from __future__ import annotations

from dataclasses import replace
from functools import partial

from tidegate.config.declarations import Drift, DriftSchedule
from tidegate.config.rules.drift import DriftEntry, DriftRecord
from tidegate.config.rules.timetable import timetable
from tidegate.drift.report_drift import withdraw_drift
from tidegate.ports import KnownRepository, Ports
from tidegate.rules.decide_again import deciding_again
from tidegate.rules.errors import NotFound, ScheduleRefused


def align_drift(ports: Ports, known: KnownRepository, drift: Drift) -> tuple[str, ...]:
    """Create, change and delete schedules; return a sentence for each refused one.

    ``known`` is the commit of ``drift``; if a newer one is known, its configuration applies instead. Without schedules,
    before and now, this is one read. Raise CloudUnavailable and ForgeUnavailable.
    """
    wanted = {each.name: _entry(known.name, each) for each in drift.schedules} if drift.enabled else {}
    stored = {record.entry.name: record for record in ports.drifts.of(known.name)}
    if not (wanted or stored) or ports.repository_index.repository(known.name).seen != known.seen:
        return ()
    for name in sorted(stored.keys() - wanted.keys()):
        remove_drift(ports, stored[name])
    problems = [deciding_again(partial(_put, ports, known, entry)) for entry in wanted.values()]
    return tuple(filter(None, problems))


def remove_drift(ports: Ports, record: DriftRecord) -> None:
    """Delete a schedule that is no longer configured; its record last, so that a repeated call finds it."""
    ports.schedules.remove(record.repository, record.entry.name)
    withdraw_drift(ports, record)
    ports.drifts.remove(record.repository, record.entry.name)


def _put(ports: Ports, known: KnownRepository, entry: DriftEntry) -> str:
    """Return what is wrong with a schedule, or an empty text. The record is written last, for the same reason."""
    before = _stored(ports, known.name, entry.name)
    first = DriftRecord(known.name, known.default_branch, entry)
    after = first if before is None else _changed(before, first)
    if before is None or before.problem or before.entry.timetable != entry.timetable:
        after = replace(after, problem=_refusal(ports, after))
    if after != before:
        ports.drifts.save(after)
    return f"drift.schedules.{entry.name}: {after.problem}" if after.problem else ""


def _stored(ports: Ports, repository: str, name: str) -> DriftRecord | None:
    try:
        return ports.drifts.get(repository, name)
    except NotFound:
        return None


def _refusal(ports: Ports, record: DriftRecord) -> str:
    try:
        ports.schedules.put(record)
    except ScheduleRefused as error:
        return str(error)
    return ""


def _changed(before: DriftRecord, now: DriftRecord) -> DriftRecord:
    return replace(before, branch=now.branch, entry=now.entry)


def _entry(repository: str, schedule: DriftSchedule) -> DriftEntry:
    own = f"{repository} {schedule.name}"
    return DriftEntry(
        schedule.name,
        schedule.query.text,
        timetable(own, schedule.interval, schedule.window),
        schedule.reconcile,
        schedule.report,
    )
