"""Read a job's log: from the chunks while the job runs, from the stored log once it has ended.

The stored log that was read last is cached, as it does not change.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from enum import StrEnum

from tidegate.deploys.rules.deployment import Deployment
from tidegate.deploys.rules.job import LONGEST_LOG, JobKind, job_parts, log_key
from tidegate.deploys.rules.speculative_plan import SpeculativePlan
from tidegate.deploys.rules.state import State, is_final
from tidegate.ports import LogChunk, Ports
from tidegate.rules.errors import NotFound


@dataclass(frozen=True, slots=True)
class ReplayRun:
    """A replay of a config repository, on the commit ``sha``. ``is_over``: nobody waits for its result any more."""

    id: str
    repository: str
    sha: str
    is_over: bool


#: Kinds of subjects that jobs belong to.
Subject = Deployment | SpeculativePlan | ReplayRun

#: Lines and characters of one answer at most. Callers return fewer if the escaped text is too long.
PAGE_LINES = 2000
PAGE_SIZE = 1_000_000
#: Chunks that are read in one query while a job runs; a chunk has 64 lines or more when output is fast.
PAGE_CHUNKS = 64
#: Bytes of the cached log: its pages are usually requested one after the other.
KEPT_LOG = 24_000_000
#: More lines than any log has.
_LAST_LINE = 10**9
MISSING_LINE = "[This line has not reached CloudWatch Logs yet. It appears once the job has ended.]"


class LogState(StrEnum):
    """What is available of a log. ``LOST``: the job ended, but its runner could not store the whole log."""

    WAITING = "waiting"
    RUNNING = "running"
    ENDED = "ended"
    LOST = "lost"


@dataclass(frozen=True, slots=True)
class LogPage:
    """Lines of a log. ``start`` is the number of the first, from 0; ``next`` is the number to request next.

    ``ended`` tells that there is nothing after ``next``.
    """

    state: LogState
    start: int
    lines: tuple[str, ...] = ()
    next: int = 0
    ended: bool = False

    def first(self, count: int) -> LogPage:
        """Return the page shortened to its first lines."""
        return replace(self, lines=self.lines[:count], next=self.start + count, ended=False)


@dataclass(frozen=True, slots=True)
class RawLog:
    """A log as it was written. ``is_whole`` is False if only the beginning of a long log was read."""

    content: bytes
    is_whole: bool = True


def read_log(ports: Ports, subject: Subject, job: str, after: int) -> LogPage:
    """Return lines from number ``after`` on of a job of ``subject``. Raise NotFound if the subject has no such job."""
    over = has_passed(subject, job) or _is_ended_task(ports, subject, job)
    stored = _stored(ports, job) if over else None
    if stored is None:
        lines = _running(ports, job, after)
        if lines:
            return LogPage(LogState.LOST if over else LogState.RUNNING, after, lines, after + len(lines))
        stored = None if over else _stored(ports, job)
    if stored is not None:
        lines = _page(stored[after:])
        end = min(after, len(stored)) + len(lines)
        return LogPage(LogState.ENDED, after, lines, end, ended=end >= len(stored))
    return _without_lines(ports, job, after, over=over)


def read_tail(ports: Ports, subject: Subject, job: str, count: int) -> LogPage:
    """Return the last ``count`` lines or so of a job that runs. Raise NotFound if the subject has no such job."""
    newest = ports.job_logs.last_before(job, _LAST_LINE)
    end = newest.position + len(newest.lines) if newest else 0
    return read_log(ports, subject, job, max(0, end - count))


def read_whole_log(ports: Ports, subject: Subject, job: str) -> RawLog:
    """Return the log, or what exists of it so far. Raise NotFound if the subject has no such job."""
    try:
        start = ports.artifacts.get_start(log_key(job), LONGEST_LOG)
    except NotFound:
        _without_lines(ports, job, 0, over=has_passed(subject, job))
        return _so_far(ports, job)
    return RawLog(start.content, start.size <= LONGEST_LOG)


def _so_far(ports: Ports, job: str) -> RawLog:
    lines: list[str] = []
    size = 0
    while came := _joined(ports.job_logs.read(job, len(lines), PAGE_CHUNKS), len(lines)):
        size += sum(len(line.encode()) + 1 for line in came)
        if size > LONGEST_LOG:
            return RawLog(_text(lines), is_whole=False)
        lines += came
    return RawLog(_text(lines))


def _without_lines(ports: Ports, job: str, after: int, *, over: bool) -> LogPage:
    """Return the answer for a job without lines, which may not exist."""
    ports.jobs.get(job)
    if over:
        return LogPage(LogState.LOST, after, next=after, ended=True)
    begun = after > 0 or ports.jobs.runner(job) is not None
    return LogPage(LogState.RUNNING if begun else LogState.WAITING, after, next=after)


def _running(ports: Ports, job: str, after: int) -> tuple[str, ...]:
    chunks = ports.job_logs.read(job, after, PAGE_CHUNKS)
    if not chunks or chunks[0].position > after:
        # The reader stopped inside a chunk, has read all, or lines are missing: the chunk before shows which.
        before = ports.job_logs.last_before(job, after)
        if before is not None and before.position + len(before.lines) > after:
            chunks = [before, *chunks]
    return _page(_joined(chunks, after))


def _stored(ports: Ports, job: str) -> tuple[str, ...] | None:
    if job in ports.kept_logs:
        return ports.kept_logs[job]
    try:
        start = ports.artifacts.get_start(log_key(job), LONGEST_LOG)
    except NotFound:
        return None
    lines = start.content.decode("utf-8", "replace").split("\n")
    if lines[-1] == "":
        lines.pop()
    if start.size > LONGEST_LOG:
        lines.append(f"[The log is truncated here. Its full size is {start.size} bytes.]")
    ports.kept_logs.clear()
    if start.size <= KEPT_LOG:
        ports.kept_logs[job] = tuple(lines)
    return tuple(lines)


def has_passed(subject: Subject, job: str) -> bool:
    """Tell whether a deployment, layer or replay is past one of its jobs, so that its runner sends nothing more."""
    of, kind, _ = job_parts(job)
    if of != subject.id:
        raise NotFound("job", job)
    if isinstance(subject, ReplayRun):
        return subject.is_over
    if isinstance(subject, SpeculativePlan):
        return subject.is_done or subject.job != job
    if kind is JobKind.PLAN:
        return subject.state not in {State.QUEUED, State.PLANNING}
    return is_final(subject.state)


def _is_ended_task(ports: Ports, subject: Subject, job: str) -> bool:
    """Tell whether a job is that of a cluster's task that has ended: its deployment goes on with others."""
    if not isinstance(subject, Deployment) or job_parts(job)[1] is not JobKind.TASK:
        return False
    record = ports.clusters.cluster(subject.repository, subject.root.name)
    run = record.run if record else None
    if run is None or run.deployment != subject.id:
        return True
    return all(each.job != job or each.ended_at is not None for each in run.phases)


def _joined(chunks: Sequence[LogChunk], after: int) -> list[str]:
    """Return the chunks' lines from number ``after`` on, with a note in place of missing lines."""
    lines: list[str] = []
    for chunk in chunks:
        missing = chunk.position - after - len(lines)
        lines += [MISSING_LINE] * missing
        lines += chunk.lines[max(0, -missing) :]
    return lines


def _text(lines: Sequence[str]) -> bytes:
    return "".join(f"{line}\n" for line in lines).encode()


def _page(lines: Sequence[str]) -> tuple[str, ...]:
    """Return as many of the first lines as one answer holds, at least one if there is one."""
    size = 0
    for number, line in enumerate(lines[:PAGE_LINES]):
        size += len(line)
        if size > PAGE_SIZE and number:
            return tuple(lines[:number])
    return tuple(lines[:PAGE_LINES])
