"""The runner's program: ``python -m runner``. One process runs one job, once, under a parent that can end it.

Exit codes: 0 the result was reported, whatever it is; 1 an unexpected fault (reported if possible); 2 a variable is
missing; 3 this runner's start token has expired; 4 the job is not this runner's; 5 the result could not be reported; 6
it hung, or exceeded its time, and its parent killed it.
"""

from __future__ import annotations

import os
import shutil
import sys
from collections.abc import Mapping
from pathlib import Path

from runner.descendants import adopt_descendants
from runner.interruption import Interruption, listening
from runner.job_record import JobNotForUs, runner_name
from runner.report import NobodyWaits, Reporter
from runner.run import ExitCode, run_job
from runner.settings import Settings, SettingsError, read_settings
from runner.supervisor import Limits, supervised
from tidegate.aws.client import Aws

#: Of linux/prctl.h.
_PR_SET_DUMPABLE = 4


def main(environ: Mapping[str, str]) -> int:
    """Run the job that ``environ`` names."""
    try:
        settings = read_settings(environ)
    except SettingsError as error:
        return _ended(ExitCode.UNUSABLE_SETTINGS, str(error))
    # Before the fork: the parent has the same secrets in its memory and environment.
    keep_to_itself()
    limits = Limits(settings.life_seconds, settings.silence_seconds, settings.stop_seconds)
    return supervised(lambda: _work(settings, environ), limits)


def _work(settings: Settings, environ: Mapping[str, str]) -> ExitCode:
    """Run the job in this process."""
    adopt_descendants()
    interruption = Interruption()
    # tempfile would do the same and cost 10 ms to import.
    directory = Path(environ.get("TMPDIR") or "/tmp") / f"tidegate-{os.urandom(8).hex()}"  # noqa: S108  # With a name of its own.
    directory.mkdir(mode=0o700)
    with listening(interruption):
        try:
            return _run(settings, environ, interruption, directory)
        except Exception as error:  # noqa: BLE001  # The program's edge. No result is due yet: nothing was taken.
            return _ended(ExitCode.FAULT, f"{type(error).__name__}: {error}")
        finally:
            if not interruption.left_running:
                shutil.rmtree(directory, ignore_errors=True)


def _run(settings: Settings, environ: Mapping[str, str], interruption: Interruption, directory: Path) -> ExitCode:
    aws = Aws(environ)
    name = runner_name(environ)
    try:
        Reporter(aws).succeed(settings.start_token, {"runner": name})
    except NobodyWaits:
        return _ended(ExitCode.NOBODY_WAITS, "the job was already decided or expired; nothing to do")
    try:
        return run_job(settings, environ, aws=aws, name=name, interruption=interruption, directory=directory)
    except JobNotForUs as error:
        return _ended(ExitCode.NOT_OURS, str(error))


def keep_to_itself() -> None:
    """Protect this process' memory and environment from other processes of the same user, such as the engine."""
    import ctypes  # noqa: PLC0415  # Nothing else here needs it.

    if sys.platform == "linux":
        ctypes.CDLL(None).prctl(_PR_SET_DUMPABLE, 0, 0, 0, 0)


def _ended(code: ExitCode, why: str) -> ExitCode:
    print(f"tidegate: {why}", file=sys.stderr, flush=True)  # noqa: T201  # The container's log.
    return code


if __name__ == "__main__":
    sys.exit(main(os.environ))
