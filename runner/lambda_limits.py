"""Detect on Lambda that a plan exceeds its time, memory or disk, so that it moves to Fargate."""

from __future__ import annotations

import shutil
import threading
import time
from pathlib import Path

from runner.faults import JobFault, TooLargeForLambda
from runner.interruption import Interruption
from runner.job_record import JobRecord
from tidegate.deploys.rules.plan_runner import Limit

_SECONDS = 0.5
#: A disk this full has refused a write.
_FULL_BYTES = 16 * 1024 * 1024
_FULL = "no space left on device"
_VMSTAT = Path("/proc/vmstat")
#: Failures caused by the code or by people, whatever the plan's size.
_FINAL = frozenset({"refused", "conflict"})


class LambdaLimits:
    """Watches one job. ``seconds`` is its time, ``directory`` is where it writes."""

    def __init__(self, interruption: Interruption, seconds: float, directory: Path, vmstat: Path = _VMSTAT) -> None:
        self._interruption, self._directory, self._vmstat = interruption, directory, vmstat
        self._deadline = time.monotonic() + seconds
        self._stopped = threading.Event()
        self._is_over = False
        self._free = self._space()
        self._killed = self._kills()

    def start(self) -> None:
        threading.Thread(target=self._watch, name="limits", daemon=True).start()

    def judged(self, fault: JobFault, lines: str, record: JobRecord) -> JobFault:
        """Return TooLargeForLambda if a limit may have caused the failure, and record it with the job."""
        self._stopped.set()
        limit = self._met(fault, lines.lower())
        if limit is None:
            return fault
        record.report_limit(limit)
        return TooLargeForLambda(f"{fault} The plan is too large for Lambda: {limit}. Tidegate moves it to Fargate.")

    def _met(self, fault: JobFault, lines: str) -> Limit | None:
        if fault.mark in _FINAL:
            return None
        if self._is_over:
            return Limit.TIME
        if self._interruption.reason:
            return None
        if self._kills() > self._killed:
            return Limit.MEMORY
        return Limit.DISK if min(self._free, self._space()) < _FULL_BYTES or _FULL in lines else None

    def _watch(self) -> None:
        while not self._stopped.wait(_SECONDS):
            self._free = min(self._free, self._space())
            if time.monotonic() > self._deadline and not self._interruption.reason:
                self._is_over = True
                self._interruption.request("The plan on Lambda exceeded its time limit.")

    def _space(self) -> int:
        return shutil.disk_usage(self._directory).free

    def _kills(self) -> int:
        """Return the kernel's kills for memory: on Lambda they are this environment's own."""
        try:
            lines = self._vmstat.read_text(encoding="ascii").splitlines()
        except OSError:
            return 0
        return next((int(line.split()[1]) for line in lines if line.startswith("oom_kill ")), 0)
