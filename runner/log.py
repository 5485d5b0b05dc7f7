"""The job's log: lines go to standard output immediately, to a file, and in small batches to the log store.

Output of programs before the plan's secrets are known is held back on the runner's disk (docs/decisions/0184).
"""

from __future__ import annotations

import codecs
import re
import sys
import threading
from collections.abc import Callable, Iterable, Iterator
from contextlib import suppress
from pathlib import Path
from typing import IO, TextIO

from runner.masking import Masker
from runner.progress import outline
from tidegate.deploys.rules.job import LONGEST_LOG

#: Longer lines continue on the next one, so that readers need not hold them.
LONGEST_LINE = 16_384
#: How engines begin an error, with and without a frame and colours.
_COLOURS = r"(?:\x1b\[[0-9;]*m)*"
_ERROR = re.compile(rf"^(?:{_COLOURS}╷{_COLOURS}\n)?{_COLOURS}(?:│{_COLOURS} {_COLOURS})?Error: ", re.MULTILINE)
#: Characters of a log's end that are reported.
_LONGEST_END = 12_000
#: Bytes of a failed step's output that are searched for its errors: a plan's text may come before them.
_SEARCHED = 256 * 1024


class JobLog:
    """Takes the engine's output as bytes and the runner's own lines, and masks both.

    The file at ``path`` holds what was emitted, in UTF-8, one line each. May be used from several threads.
    """

    def __init__(self, path: Path, masker: Masker, console: IO[str] | None = None) -> None:
        self.path = path
        self.masker = masker
        self._console = console or sys.stdout
        self._is_long = False
        self._file = path.open("wb")
        self._decoder = codecs.getincrementaldecoder("utf-8")("replace")
        self._rest = ""
        self._lock = threading.Lock()
        self._held: dict[str, TextIO] = {}
        self._holding = ""
        self._title = ""
        #: Whether the masker will learn the secrets of the job's plan.
        self.awaits_secrets = False
        self._passes: Callable[[str], str] = _nothing
        self.lines = 0
        self.size = 0
        #: Where the output of the newest step begins, in bytes.
        self.step_begins = 0
        self.grown = threading.Condition()

    def write(self, content: bytes) -> None:
        """Take program output; whole lines are emitted immediately, unless they are held back."""
        with self._lock:
            self._take(self._decoder.decode(content))

    def _take(self, text: str) -> None:
        *lines, self._rest = (self._rest + text).split("\n")
        if self._holding:
            self._keep_back(lines)
        else:
            self._emit([piece for line in lines for piece in self._pieces(line)] + self._overlong())

    def hold(self, name: str, passes: Callable[[str], str] | None = None, title: str = "") -> None:
        """Hold back output of programs, under a name, until ``release``. ``title`` is the runner's line above it.

        ``passes`` returns the part of a line that is shown immediately, empty for nothing.
        """
        with self._lock:
            self._finish_line()
            self._holding, self._passes = name, passes or _nothing
            if name not in self._held:
                place = self.path.with_name(f"held-{name}")
                self._held[name] = place.open("w+", encoding="utf-8", errors="replace", newline="\n")
            self._title = title

    def pause(self) -> None:
        """Stop holding back, and keep what is held."""
        with self._lock:
            self._finish_line()
            self._holding = self._title = ""

    def release(self, name: str) -> None:
        """Emit what is held under a name, masked with all secrets known now, and stop holding back."""
        with self._lock:
            if (held := self._end_of_hold(name)) is None:
                return
            with held:
                while text := held.read(LONGEST_LINE):
                    self._take(text)
            self._finish_line()

    def release_outline(self, name: str) -> bool:
        """Emit the kinds and locations of errors held under a name, without their text; tell whether there were any."""
        with self._lock:
            if (held := self._end_of_hold(name)) is None:
                return False
            with held:
                self._emit(list(outline(iter(lambda: held.readline(LONGEST_LINE), ""))))
            return True

    def held(self, name: str) -> Path | None:
        """Return the file that is held under a name, if any."""
        with self._lock:
            self._finish_line()
            if (held := self._held.get(name)) is None:
                return None
            held.flush()
            return Path(held.name)

    def _end_of_hold(self, name: str) -> TextIO | None:
        self._finish_line()
        self._holding = ""
        if held := self._held.pop(name, None):
            held.seek(0)
        return held

    def _keep_back(self, lines: list[str]) -> None:
        for line in lines:
            if shown := self._passes(line):
                self._emit([shown])
            else:
                self._write_held(f"{line}\n")
        if len(self._rest) > LONGEST_LINE:  # It is no progress, and is cut once its secrets are known.
            self._write_held(self._rest)
            self._rest = ""

    def _write_held(self, text: str) -> None:
        if self._title:
            text, self._title = f"tidegate: {self._title}\n{text}", ""
        self._held[self._holding].write(text)

    def end_line(self) -> None:
        """Emit an incomplete last line: its process has ended."""
        with self._lock:
            self._finish_line()

    def _finish_line(self) -> None:
        rest, self._rest = self._rest + self._decoder.decode(b"", final=True), ""
        self._decoder.reset()
        if rest and self._holding:
            self._write_held(f"{rest}\n")
        elif rest:
            self._emit(list(self._pieces(rest)))

    def say(self, text: str) -> None:
        """Emit one of the runner's own lines."""
        with self._lock:
            self._emit([f"tidegate: {line}" for line in text.splitlines()])

    def close(self) -> None:
        with self._lock:
            self._file.close()
            for held in self._held.values():
                held.close()
        with self.grown:
            self.grown.notify_all()

    def _pieces(self, line: str) -> list[str]:
        line = line.removesuffix("\r")
        pieces = []
        while len(line) > LONGEST_LINE:
            cut = self.masker.safe_cut(line, LONGEST_LINE)
            pieces.append(line[:cut])
            line = line[cut:]
        return [*pieces, line]

    def _overlong(self) -> list[str]:
        """Cut pieces from an incomplete line, keeping back the possible beginning of a secret."""
        pieces = []
        while len(self._rest) > LONGEST_LINE + self.masker.reach:
            cut = self.masker.safe_cut(self._rest, LONGEST_LINE)
            pieces.append(self._rest[:cut])
            self._rest = self._rest[cut:]
        return pieces

    def _emit(self, lines: list[str]) -> None:
        if not lines or self._file.closed:
            return
        text = "\n".join(self.masker.mask(line) for line in lines) + "\n"
        content = text.encode("utf-8", "replace")
        self._show(text)
        self._file.write(content)
        self._file.flush()
        with self.grown:
            self.lines += len(lines)
            self.size += len(content)
            self.grown.notify_all()

    def _show(self, text: str) -> None:
        """Write to the console, up to a length."""
        if self._is_long:
            return
        self._is_long = self.size > LONGEST_LOG
        if self._is_long:
            text += f"tidegate: only the first {LONGEST_LOG:,} bytes are shown here; the log in S3 has all\n"
        with suppress(OSError, ValueError):  # The console was closed; the engine continues.
            self._console.write(text)
            self._console.flush()


def _nothing(_line: str) -> str:
    return ""


def last_lines(path: Path, masker: Masker, count: int = 60, size: int = _LONGEST_END, *, start: int = 0) -> str:
    """Return the end of a log from the byte ``start`` on, masked: at most ``count`` lines and ``size`` characters.

    It is empty if a program has deleted the log.
    """
    return "\n".join(_masked(_end(path, start, 4 * size).splitlines()[-count:], masker))[-size:]


def error_lines(log: JobLog) -> str:
    """Return the output of the newest step from the engine's first error on, as long as ``last_lines`` may be.

    Without an error, it is the end of the log.
    """
    text = _end(log.path, log.step_begins, _SEARCHED)
    error = _ERROR.search(text)
    if error is None:
        return last_lines(log.path, log.masker)
    shown = ""
    for line in _masked(text[error.start() :].splitlines(), log.masker):
        shown += f"{line}\n"
        if len(shown) > _LONGEST_END:
            break
    return shown[:-1][:_LONGEST_END]


def _end(path: Path, start: int, most: int) -> str:
    """Return at most ``most`` bytes of a log's end, from the byte ``start`` on."""
    try:
        with path.open("rb") as file:
            file.seek(max(start, file.seek(0, 2) - most))
            return file.read().decode("utf-8", "replace")
    except OSError:
        return ""


def _masked(lines: Iterable[str], masker: Masker) -> Iterator[str]:
    """Yield lines without secrets, one after the other: with many secrets, heartbeats must come in between."""
    return map(masker.mask, lines)


def copy_masked(source: Path, target: Path, masker: Masker, start: int = 0, end: int | None = None) -> None:
    """Copy the lines of a log between two byte positions, masking secrets that became known since."""
    with source.open("rb") as reading, target.open("wb") as writing:
        reading.seek(start)
        position = start
        for line in reading:
            position += len(line)
            if end is not None and position > end:
                break
            writing.write(masker.mask(line.decode("utf-8", "replace")).encode())
