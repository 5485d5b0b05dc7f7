"""The parent of every Lambda and task process: starts them, and leaves none behind.

It is a process of its own because the local cloud may die by SIGKILL: its end of the socket then
closes, and the supervisor ends every descendant, also those that a task started and forgot. (A child
subreaper inherits orphans; without Linux's prctl only direct children's groups are ended.)

Protocol, one JSON object a message: ``{"id", "argv", "env", "cwd"}`` with the write end of a pipe for
stdout and stderr attached starts a process; ``{"id", "signal"}`` signals its group. Answers:
``{"id", "pid"}``, ``{"id", "error"}`` and ``{"id", "exit"}`` with Python's return code (negative: signal).
"""

from __future__ import annotations

import array
import contextlib
import ctypes
import json
import os
import select
import signal
import socket
import subprocess
import sys
import threading
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

_PR_SET_CHILD_SUBREAPER = 36
_MESSAGE_LIMIT = 512 * 1024
_MARK = "TIDEGATE_LOCAL_PROCESS"


@dataclass(slots=True)
class Process:
    """A process under the supervisor. ``wait`` returns its return code; ``output`` is its stdout and stderr."""

    mark: str
    output: int
    process_supervisor: ProcessSupervisor
    pid: int = 0
    error: str = ""
    returncode: int | None = None
    started: threading.Event = field(default_factory=threading.Event)
    ended: threading.Event = field(default_factory=threading.Event)

    def wait(self, timeout: float | None = None) -> int | None:
        """Return the return code, or None when it still runs after ``timeout`` seconds."""
        self.ended.wait(timeout)
        return self.returncode

    def signal(self, number: int) -> None:
        """Signal the process and its group. After its end, nothing happens."""
        if not self.ended.is_set():
            self.process_supervisor.send({"id": self.mark, "signal": number})


class ProcessSupervisor:
    """The local cloud's side: starts the supervisor process and talks to it."""

    def __init__(self) -> None:
        ours, theirs = socket.socketpair(socket.AF_UNIX, socket.SOCK_SEQPACKET)
        for end in (ours, theirs):
            end.setsockopt(socket.SOL_SOCKET, socket.SO_SNDBUF, _MESSAGE_LIMIT)
        self._socket = ours
        self._lock = threading.Lock()
        self._processes: dict[str, Process] = {}
        self._child = subprocess.Popen(
            [sys.executable, "-P", "-S", __file__, str(theirs.fileno())],
            pass_fds=[theirs.fileno()],
            start_new_session=True,
        )
        theirs.close()
        self._listener = threading.Thread(target=self._listen, name="supervisor", daemon=True)
        self._listener.start()

    def start(self, mark: str, argv: list[str], env: Mapping[str, str], cwd: Path) -> Process:
        """Start a process in a session of its own. Raise OSError when the program cannot be started."""
        read, write = os.pipe()
        process = Process(mark=mark, output=read, process_supervisor=self)
        self._processes[mark] = process
        message = {"id": mark, "argv": argv, "env": {**env, _MARK: mark}, "cwd": str(cwd)}
        with self._lock:
            socket.send_fds(self._socket, [json.dumps(message).encode()], [write])
        os.close(write)
        process.started.wait(30)
        if process.error or not process.pid:
            os.close(read)
            raise OSError(process.error or "the supervisor does not answer")
        return process

    def send(self, message: Mapping[str, Any]) -> None:
        """Send a message to the supervisor process."""
        with self._lock, contextlib.suppress(OSError):
            self._socket.send(json.dumps(message).encode())

    def close(self) -> None:
        """End every process and the supervisor itself."""
        with contextlib.suppress(OSError):
            self._socket.shutdown(socket.SHUT_WR)
        try:
            self._child.wait(10)
        except subprocess.TimeoutExpired:
            self._child.kill()
            self._child.wait()
        self._listener.join(5)
        self._socket.close()

    def _listen(self) -> None:
        while data := self._receive():
            message = json.loads(data)
            process = self._processes.get(message["id"])
            if process is not None:
                self._tell(process, message)

    def _receive(self) -> bytes:
        try:
            return self._socket.recv(_MESSAGE_LIMIT)
        except OSError:
            return b""

    def _tell(self, process: Process, message: Mapping[str, Any]) -> None:
        if "exit" in message:
            process.returncode = int(message["exit"])
            self._processes.pop(process.mark, None)
            process.ended.set()
            return
        process.pid = int(message.get("pid", 0))
        process.error = str(message.get("error", ""))
        process.started.set()


def _become_subreaper() -> None:
    if sys.platform == "linux":
        ctypes.CDLL(None).prctl(_PR_SET_CHILD_SUBREAPER, 1, 0, 0, 0)


def _receive_with_descriptors(connection: socket.socket) -> tuple[bytes, list[int]]:
    size = array.array("i").itemsize
    data, ancillary, _, _ = connection.recvmsg(_MESSAGE_LIMIT, socket.CMSG_LEN(4 * size))
    descriptors = array.array("i")
    for level, kind, content in ancillary:
        if level == socket.SOL_SOCKET and kind == socket.SCM_RIGHTS:
            descriptors.frombytes(content[: len(content) - len(content) % size])
    return data, list(descriptors)


def _start(connection: socket.socket, message: Mapping[str, Any], output: int) -> int | None:
    try:
        child = subprocess.Popen(
            message["argv"],
            env=message["env"],
            cwd=message["cwd"],
            stdin=subprocess.DEVNULL,
            stdout=output,
            stderr=output,
            start_new_session=True,
        )
    except OSError as error:
        connection.send(json.dumps({"id": message["id"], "error": str(error)}).encode())
        return None
    finally:
        os.close(output)
    connection.send(json.dumps({"id": message["id"], "pid": child.pid}).encode())
    child.returncode = 0  # Reaped by _reap below, not by subprocess.
    return child.pid


def _reap(ended: Callable[[int, int], None]) -> None:
    with contextlib.suppress(ChildProcessError):
        while True:
            pid, status = os.waitpid(-1, os.WNOHANG)
            if not pid:
                return
            ended(pid, os.waitstatus_to_exitcode(status))


def _end_marked(mark: str | None) -> None:
    """Kill every process that was started under this mark (all marks of this supervisor: None)."""
    for entry in Path("/proc").glob("[0-9]*"):
        with contextlib.suppress(OSError, ValueError):
            environ = (entry / "environ").read_bytes().split(b"\0")
            marks = [item.partition(b"=")[2].decode() for item in environ if item.startswith(_MARK.encode() + b"=")]
            if marks and (marks[0] == mark if mark else _is_below(int(entry.name), os.getpid())):
                os.kill(int(entry.name), signal.SIGKILL)


def _below(top: int) -> list[int]:
    """Return the descendants of a process, whatever groups and environments they have by now."""
    found = []
    for entry in Path("/proc").glob("[0-9]*"):
        with contextlib.suppress(OSError, ValueError):
            if _is_below(int(entry.name), top):
                found.append(int(entry.name))
    return found


def _is_below(pid: int, top: int) -> bool:
    while pid > 1:
        fields = Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()
        pid = int(fields[1])
        if pid == top:
            return True
    return False


def _serve(connection: socket.socket) -> None:
    pids: dict[int, str] = {}
    wake_read, wake_write = os.pipe()
    os.set_blocking(wake_write, False)
    signal.signal(signal.SIGCHLD, lambda *_: None)
    signal.set_wakeup_fd(wake_write)

    def ended(pid: int, code: int) -> None:
        mark = pids.pop(pid, None)
        if mark is not None:
            _end_marked(mark)
            with contextlib.suppress(OSError):
                connection.send(json.dumps({"id": mark, "exit": code}).encode())

    while True:
        readable: list[Any] = [connection, wake_read]
        ready, _, _ = select.select(readable, [], [])
        if wake_read in ready:
            os.read(wake_read, 4096)
            _reap(ended)
        if connection in ready and not _handle(connection, pids):
            break
    for pid in pids:
        with contextlib.suppress(OSError):
            os.killpg(pid, signal.SIGKILL)
    _end_marked(None)


def _handle(connection: socket.socket, pids: dict[int, str]) -> bool:
    data, descriptors = _receive_with_descriptors(connection)
    if not data:
        return False
    message = json.loads(data)
    if "argv" in message:
        pid = _start(connection, message, descriptors[0])
        if pid is not None:
            pids[pid] = message["id"]
        return True
    for pid in [pid for pid, mark in pids.items() if mark == message["id"]]:
        # A container that is killed ends with all that runs in it: also an engine that has a group of its own.
        others = _below(pid) if message["signal"] == signal.SIGKILL else []
        for end, each in ((os.killpg, pid), *((os.kill, other) for other in others)):
            with contextlib.suppress(OSError):
                end(each, message["signal"])
    return True


def _main() -> None:
    _become_subreaper()
    # Handlers, because a child would inherit that a signal is ignored.
    signal.signal(signal.SIGINT, lambda *_: None)
    signal.signal(signal.SIGTERM, lambda *_: None)
    with socket.socket(fileno=int(sys.argv[1])) as connection:
        _serve(connection)


if __name__ == "__main__":
    _main()
