"""Replays as the runner does: in a process of its own, which ends everything that commands leave behind."""

from __future__ import annotations

import os
import pickle
import subprocess
import sys
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from tidegate.config_updates.rules.replay import Author, Replay, Replayed

TOP = Path(__file__).parents[3]
#: What the runner has, and no command may see.
SECRETS = {
    "AWS_SECRET_ACCESS_KEY": "runner-secret-key-0123456789",
    "AWS_CONTAINER_CREDENTIALS_RELATIVE_URI": "/v2/credentials/of-the-task",
    "TIDEGATE_START_TOKEN": "start-token-0123456789",
}
CLONE_TOKEN = "clone-token-0123456789"


@dataclass
class Ran:
    """What a replay returned, its log, and how many git processes it ran."""

    replayed: Replayed
    log: str
    git_processes: int
    fault: str = ""

    @property
    def tip(self) -> str:
        return self.replayed.tip

    @property
    def states(self) -> list[str]:
        return [str(outcome.state) for outcome in self.replayed.outcomes]


def ran(order: Replay, url: str, directory: Path, **options: Any) -> Ran:
    """Replay in ``directory``/job, with the bundle beside it."""
    directory.mkdir()
    given, taken = directory / "order", directory / "ran"
    given.write_bytes(pickle.dumps((order, url, directory, options)))
    environ = {"PATH": os.environ["PATH"], "PYTHONPATH": f"{TOP}:{TOP / 'layers/core/python'}", **SECRETS}
    argv = [sys.executable, "-m", "tests.runner.config_updates.replaying", str(given), str(taken)]
    subprocess.run(argv, env=environ, check=True, timeout=300, stdout=subprocess.DEVNULL)
    result: Ran = pickle.loads(taken.read_bytes())  # noqa: S301  # Of our own.
    return result


def _replay(
    order: Replay, url: str, directory: Path, *, program_seconds: str = "60", seconds: float = 900.0
) -> dict[str, Any]:
    from runner.config_updates.replaying import replay
    from runner.descendants import adopt_descendants
    from runner.faults import JobFault
    from runner.interruption import Interruption
    from runner.job import Tools
    from runner.log import JobLog
    from runner.masking import Masker
    from runner.settings import read_settings
    from runner.workspace import Git
    from tests.runner.environment import SETTINGS
    from tidegate.aws.client import Aws
    from tidegate.vcs.git.environment import git_environment

    adopt_descendants()
    (directory / "job").mkdir()
    masker = Masker([r"ghp_\w+"])
    masker.add([CLONE_TOKEN])
    log = JobLog(directory / "job" / "log", masker)
    settings = read_settings(SETTINGS | {"TIDEGATE_PROGRAM_SECONDS": program_seconds})
    environ = dict(os.environ)
    tools = Tools(settings, environ, Aws({"AWS_REGION": "eu-west-1"}), log, Interruption(), directory / "job")
    count = 0

    def run(argv: list[str], cwd: Path, variables: Any, output: Any) -> int:
        nonlocal count
        count += 1
        return tools.processes.run(argv, cwd, variables, output)

    git_environ = git_environment(environ, directory, (url,), CLONE_TOKEN)
    clone = Git(run, git_environ, directory / "job" / "store", url)
    fault, replayed = "", Replayed("", ())
    try:
        replayed = replay(tools, clone, order, directory / "bundle", seconds=seconds, author=Author())
    except JobFault as error:
        fault = f"{type(error).__name__}: {error}"
    log.close()
    return {"replayed": replayed, "log": log.path.read_text(), "git_processes": count, "fault": fault}


if __name__ == "__main__":
    from tests.runner.config_updates.replaying import Ran as Result  # By its full name, so that it can be read.

    order, url, directory, options = pickle.loads(Path(sys.argv[1]).read_bytes())  # noqa: S301  # Of our own.
    Path(sys.argv[2]).write_bytes(pickle.dumps(Result(**_replay(order, url, directory, **options))))
