"""What a test run tells at its end, also when its tests ran in several workers."""

from __future__ import annotations

import pytest

_TOLD = pytest.StashKey[dict[str, list[str]]]()


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
