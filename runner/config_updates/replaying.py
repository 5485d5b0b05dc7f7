"""Makes the commits of a replay with the repository's own commands, and a bundle of them."""

from __future__ import annotations

import os
import shutil
import signal
import time
from collections.abc import Mapping
from contextlib import suppress
from dataclasses import replace
from datetime import datetime
from pathlib import Path

from runner.config_updates.work_tree import MOST_BYTES, WorkTree, write_bundle
from runner.descendants import kill_descendants
from runner.faults import RunnerFault, StepFailed
from runner.job import Tools
from runner.log import last_lines
from runner.workspace import Git
from tidegate.config.rules.config_updates import filled
from tidegate.config_updates.rules.replay import Author, Entry, Outcome, Replay, Replayed, State
from tidegate.config_updates.rules.trailers import InvalidTrailer, commit_message
from tidegate.roots.rules.root import commit_sha
from tidegate.vcs.git.environment import git_environment

#: What of the runner's environment a command gets: its place, language, certificates, and the way out.
_PASSED = (
    "PATH",
    "LANG",
    "LC_ALL",
    "TZ",
    "HTTPS_PROXY",
    "HTTP_PROXY",
    "NO_PROXY",
    "SSL_CERT_DIR",
    "SSL_CERT_FILE",
)
_LONGEST_SHOWN = 200
#: Bytes of all changed files after which a replay ends, as if its time were over.
_MOST_BYTES = 3 * MOST_BYTES
#: Commands that may destroy what the runner needs, before the replay is given up: each costs a new beginning.
_MOST_DESTROYING = 3


def replay(tools: Tools, clone: Git, order: Replay, bundle: Path, *, seconds: float, author: Author) -> Replayed:
    """Make the entries anew on the base, and write the new commits to ``bundle``, if there are any.

    ``clone`` is git in a place that does not exist yet, with the token to read; ``seconds`` are for all of it. What
    fails of one entry's own is in its outcome, and the next one goes on from the commit before. A command that
    destroys what the runner needs fails its own entry as well: all is made again without it, in another place. Entries
    without an outcome were not reached in time.

    Raise RunnerFault for what is no entry's fault, such as a time that does not suffice for any, and Interrupted.

    The same order makes the same commits: a commit's date is its entry's, but never before its parent's.
    """
    ends = time.monotonic() + seconds
    destroying: dict[str, Outcome] = {}
    while True:
        replaying = _begun(tools, clone, order, author)
        try:
            return replaying.all(bundle, ends, destroying)
        except (RunnerFault, OSError) as fault:
            if not replaying.last or len(destroying) == _MOST_DESTROYING:
                raise _of_runner(fault) from fault
            reason = f"After its command, the runner could not go on. {_of_runner(fault)}"
            destroying[replaying.last] = Outcome(replaying.last, State.FAILED, reason=reason)
            _say(tools, f"entry {replaying.last}: {reason}")
        # No process of a command is left that could read the token or be in the way.
        kill_descendants()
        for name in (clone.directory.name, "entry"):
            shutil.rmtree(clone.directory.with_name(name), ignore_errors=True)
        clone = replace(clone, directory=tools.directory / f"again-{os.urandom(8).hex()}" / clone.directory.name)


def _begun(tools: Tools, clone: Git, order: Replay, author: Author) -> _Replaying:
    """Fetch the base, and return what makes commits on it, without the token. Raise RunnerFault."""
    try:
        tools.directory.mkdir(exist_ok=True)
        tools.directory.chmod(0o700)
        clone.directory.parent.mkdir(exist_ok=True)
        clone.begin(commit_sha(order.base), "--bare")
        clone.fetch(order.base, options=())
        environ = git_environment(tools.environ, tools.directory, (clone.clone_url,), "")
        return _Replaying(tools, replace(clone, environ=environ, clone_url=""), order, author)
    except (StepFailed, OSError) as fault:
        raise _of_runner(fault) from fault


def _of_runner(fault: Exception) -> RunnerFault:
    if isinstance(fault, RunnerFault):
        return fault
    if isinstance(fault, OSError):
        return RunnerFault(f"The runner's disk cannot be used: {fault.strerror or fault}.")
    return RunnerFault(str(fault))


def _say(tools: Tools, text: str) -> None:
    """Write a line to the log, unless the disk is full."""
    with suppress(OSError):
        tools.log.say(text)


class _Replaying:
    """The commits so far. ``local`` is git in the store of objects, without the clone's token."""

    def __init__(self, tools: Tools, local: Git, order: Replay, author: Author) -> None:
        self._tools, self._local, self._order, self._author = tools, local, order, author
        self.tip = order.base
        self.outcomes: list[Outcome] = []
        #: The tip's files, if they are at hand.
        self._tree: WorkTree | None = None
        #: Where in the log begins what programs said of the entry at hand.
        self._spoken = 0
        self._bytes = 0
        self._date = int(local.ask("show", "--no-patch", "--format=%ct", order.base)[1])
        #: The entry whose command ran last: what is destroyed afterwards, it has destroyed.
        self.last = ""

    def all(self, bundle: Path, ends: float, destroying: Mapping[str, Outcome]) -> Replayed:
        """Make the commits and the bundle, as far as there is time; entries that destroy have their outcome."""
        for entry in self._order.entries:
            if (known := destroying.get(entry.trailers.id)) is not None:
                self.outcomes.append(known)
            elif time.monotonic() + self._tools.settings.program_seconds <= ends and self._bytes <= _MOST_BYTES:
                self._add(entry)
            else:
                self._end_early()
                break
        if self.tip != self._order.base:
            bundle.parent.mkdir(parents=True, exist_ok=True)
            write_bundle(self._local, bundle, self._order.base, self.tip)
        return Replayed(self.tip, tuple(self.outcomes))

    def _end_early(self) -> None:
        """Tell how far it came. Raise RunnerFault if that is nowhere: the next replay would come no further."""
        done, all_ = len(self.outcomes), len(self._order.entries)
        text = (
            f"The limit of {'size' if self._bytes > _MOST_BYTES else 'time'} ended it after {done} of {all_} entries."
        )
        if not done:
            raise RunnerFault(f"{text} Nothing was pushed.")
        _say(self._tools, f"{text} The others stay in the queue.")

    def _add(self, entry: Entry) -> None:
        """Make an entry's commit, and note its outcome."""
        log = self._tools.log
        self._spoken = log.size
        try:
            sha = self._committed(entry)
        except (StepFailed, InvalidTrailer) as fault:
            lines = last_lines(log.path, log.masker, start=self._spoken)
            _say(self._tools, f"entry {entry.trailers.id}: {fault}")
            self.outcomes.append(Outcome(entry.trailers.id, State.FAILED, reason=str(fault), last_lines=lines))
            return
        self.tip = sha or self.tip
        state = State.COMMITTED if sha else State.NOOP
        _say(self._tools, f"entry {entry.trailers.id}: {sha[:12] or 'changes nothing'}")
        self.outcomes.append(Outcome(entry.trailers.id, state, sha))

    def _committed(self, entry: Entry) -> str:
        message = commit_message(entry.trailers)
        tree = self._tree or WorkTree.made(self._local, self._local.directory, self.tip)
        self._tree = None
        target = tree.file(entry.file)
        image_file = tree.place / "images.json"
        command = self._order.commands.introduce
        if not entry.images:
            content = tree.content(entry.trailers.source_sha, entry.copied)
            if content is None:
                raise StepFailed(
                    f"The default branch has no file {entry.copied!a} at {entry.trailers.source_sha[:12]}."
                )
            command = self._order.commands.promote or ()
        else:
            content = entry.images.encode()
        image_file.write_bytes(content)
        if not command:
            try:
                target.parent.mkdir(parents=True, exist_ok=True)
                target.write_bytes(content)
            except OSError as error:
                raise StepFailed(f"The file {entry.file!a} cannot be written: {error.strerror}.") from error
            command = self._order.commands.generate
        self.last = entry.trailers.id
        self._run(command, tree, _values(entry, image_file))
        date = max(self._date, int(entry.authored.timestamp()))
        sha, size = tree.committed(message, _people(self._author, entry.authored, date))
        self._bytes += size
        self._date = date if sha else self._date
        self._tree = tree.after(sha or self.tip)
        return sha

    def _run(self, command: tuple[str, ...], tree: WorkTree, values: Mapping[str, str]) -> None:
        """Run a command of the repository's in the tree. Raise StepFailed, and Interrupted."""
        tools = self._tools
        shown = ascii(" ".join(command))[1:-1][:_LONGEST_SHOWN]
        environ = {
            **{name: tools.environ[name] for name in _PASSED if name in tools.environ},
            "HOME": str(tree.place / "home"),
            "TMPDIR": str(tree.place / "tmp"),
            "AWS_EC2_METADATA_DISABLED": "true",
        }
        tools.log.say(shown)
        self._spoken = tools.log.size
        argv = list(filled(command, values))
        try:
            code = tools.processes.run_program(argv, tree.top, environ, tools.settings.program_seconds)
        except StepFailed as fault:
            problem = str(fault)
        except (OSError, ValueError) as error:
            problem = f"cannot be started: {error}"
        else:
            problem = _problem(code)
        tools.log.end_line()
        tools.interruption.check()
        if problem:
            raise StepFailed(f"The command ({shown}) {problem}.")


def _problem(code: int) -> str:
    if code < 0:
        known = {each.value: each.name for each in signal.Signals}
        return f"was killed by {known.get(-code, f'signal {-code}')}"
    return f"failed with exit code {code}" if code else ""


def _values(entry: Entry, image_file: Path) -> Mapping[str, str]:
    """Return the values of a command's placeholders."""
    trailers = entry.trailers
    return {
        "image_file": str(image_file),
        "file": entry.file,
        "set": trailers.image_set,
        "environment": trailers.environment,
    }


def _people(author: Author, authored: datetime, committed: int) -> Mapping[str, str]:
    names = {
        f"GIT_{role}_{what}": value
        for role in ("AUTHOR", "COMMITTER")
        for what, value in (("NAME", author.name), ("EMAIL", author.email))
    }
    date = f"@{int(authored.timestamp())} {authored:%z}"
    return {**names, "GIT_AUTHOR_DATE": date, "GIT_COMMITTER_DATE": f"@{committed} +0000"}
