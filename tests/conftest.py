"""What a test run tells at its end, also when its tests ran in several workers."""

from __future__ import annotations

from pathlib import PurePosixPath

import pytest
from xdist.scheduler import LoadScopeScheduling

#: Directories whose tests share one local cloud, which takes long to start: all of them run in one worker.
_TOGETHER = frozenset({"tests/e2e", "tests/local", "tests/soak", "tests/stepfunctions"})
_TOLD = pytest.StashKey[dict[str, list[str]]]()


class OneWorkerForEachCloud(LoadScopeScheduling):
    """Spreads tests one by one, and directories with one cloud as wholes.

    xdist 3.8 does this by marks (``--dist loadgroup``), but pytest 9.2 does not read the name that it marks with.
    """

    def _split_scope(self, nodeid):
        directory = str(PurePosixPath(nodeid.partition("::")[0]).parent)
        return directory if directory in _TOGETHER else nodeid


@pytest.hookimpl(optionalhook=True)
def pytest_xdist_make_scheduler(config, log):
    return OneWorkerForEachCloud(config, log)


def tell(config, heading, lines):
    """Have these lines printed under a heading when the whole run ends."""
    config.stash.setdefault(_TOLD, {})[heading] = lines


@pytest.hookimpl(trylast=True)
def pytest_sessionfinish(session):
    """Hand what was told in a worker to the process that prints."""
    output = getattr(session.config, "workeroutput", None)
    if output is not None:
        output["told"] = session.config.stash.get(_TOLD, {})


@pytest.hookimpl(optionalhook=True)
def pytest_testnodedown(node):
    for heading, lines in getattr(node, "workeroutput", {}).get("told", {}).items():
        tell(node.config, heading, lines)


def pytest_terminal_summary(terminalreporter, config):
    for heading, lines in config.stash.get(_TOLD, {}).items():
        terminalreporter.section(f"{heading}: {len(lines)}")
        for line in lines:
            terminalreporter.write_line(line)
