"""The job's log: lines go to standard output at once, to a file, and in small batches to the log store."""

from __future__ import annotations

import codecs
import re
import sys
import threading
from contextlib import suppress
from pathlib import Path
from typing import IO

from runner.masking import Masker

#: Longer lines are continued on the next one, so that no reader has to hold them.
LONGEST_LINE = 16_384
#: How engines begin an error, with and without a frame around it.
_ERROR = re.compile(r"^(?:╷\n)?(?:│ )?Error: ", re.MULTILINE)


class JobLog:
    """Takes the engine's output as bytes and the runner's own lines, and masks both.

    The file at ``path`` holds what was emitted, in UTF-8, one line each. May be used from several threads.
    """

    def __init__(self, path: Path, masker: Masker, console: IO[str] | None = None) -> None:
        self.path = path
        self.masker = masker
        self._console = console or sys.stdout
        self._file = path.open("wb")
        self._decoder = codecs.getincrementaldecoder("utf-8")("replace")
        self._rest = ""
        self._lock = threading.Lock()
        self.lines = 0
        self.size = 0
        self.grown = threading.Condition()

    def write(self, content: bytes) -> None:
        """Take some of the engine's output; whole lines are emitted at once."""
        with self._lock:
            *lines, rest = (self._rest + self._decoder.decode(content)).split("\n")
            self._rest = rest
            emitted = [piece for line in lines for piece in self._pieces(line)] + self._overlong()
            self._emit(emitted)

    def end_line(self) -> None:
        """Emit what stands after the last line break: the process that wrote it has ended."""
        with self._lock:
            rest, self._rest = self._rest + self._decoder.decode(b"", final=True), ""
            self._decoder.reset()
            if rest:
                self._emit(list(self._pieces(rest)))

    def say(self, text: str) -> None:
        """Emit a line of the runner's own."""
        with self._lock:
            self._emit([f"tidegate: {line}" for line in text.splitlines()])

    def close(self) -> None:
        with self._lock:
            self._file.close()
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
        """Cut pieces from an unfinished line, keeping back what may be the beginning of a secret."""
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
        with suppress(OSError, ValueError):  # Nobody reads the console any more; the engine goes on.
            self._console.write(text)
            self._console.flush()
        self._file.write(content)
        self._file.flush()
        with self.grown:
            self.lines += len(lines)
            self.size += len(content)
            self.grown.notify_all()


def last_lines(path: Path, masker: Masker, count: int = 60, size: int = 12_000) -> str:
    """Return the end of a log, masked: at most ``count`` lines and ``size`` characters."""
    with path.open("rb") as file:
        length = file.seek(0, 2)
        file.seek(max(0, length - 4 * size))
        text = file.read().decode("utf-8", "replace")
    lines = masker.mask(text).splitlines()[-count:]
    return "\n".join(lines)[-size:]


def error_lines(path: Path, masker: Masker) -> str:
    """Return the end of a log as ``last_lines`` does; from the first error on, if an engine tells one there."""
    lines = last_lines(path, masker)
    error = _ERROR.search(lines)
    return lines[error.start() :] if error else lines


def copy_masked(source: Path, target: Path, masker: Masker, start: int = 0, end: int | None = None) -> None:
    """Copy the lines of a log between two byte positions, masking what has become known since."""
    with source.open("rb") as reading, target.open("wb") as writing:
        reading.seek(start)
        position = start
        for line in reading:
            position += len(line)
            if end is not None and position > end:
                break
            writing.write(masker.mask(line.decode("utf-8", "replace")).encode())
