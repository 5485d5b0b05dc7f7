"""How tests are spread over workers and what Hypothesis tries; what a test run tells at its end."""

from __future__ import annotations

from pathlib import PurePosixPath

import pytest
from hypothesis import HealthCheck, settings
from xdist.scheduler import LoadScopeScheduling

#: What a busy machine or an unlucky draw decides, and not what is tested.
_BY_CHANCE = (HealthCheck.too_slow, HealthCheck.data_too_large, HealthCheck.filter_too_much)
# Each run of the suite tries the same examples, however slowly: it fails for what was changed. The other profile looks
# for new ones, if it is asked for: pytest --hypothesis-profile search.
settings.register_profile("suite", deadline=None, derandomize=True, suppress_health_check=_BY_CHANCE)
settings.register_profile("search", deadline=None, max_examples=1000, suppress_health_check=_BY_CHANCE)
settings.load_profile("suite")

#: Directories whose tests share one local cloud, which takes long to start: all of them run in one worker. So do the
#: tests of a file with a cloud of its own.
_TOGETHER = frozenset({"tests/e2e", "tests/local", "tests/soak", "tests/stepfunctions"})
#: The end-to-end tests take longest by far: two clouds share them. These files are half of their time.
_SECOND_CLOUD = frozenset(
    f"tests/e2e/test_{name}.py" for name in ("large_plans", "neighbours_faults", "promotion", "repairs")
)
_ON_THEIR_OWN = frozenset({"tests/e2e/test_hand_over.py", "tests/local/test_command.py"})
#: What takes longest begins first, so that no worker is left alone with it in the end.
_LONGEST_FIRST = (
    "tests/e2e",
    "tests/stepfunctions",
    "tests/soak",
    "tests/bench",
    "tests/local",
    "tests/contract/test_queue_machine.py",
    "tests/browser",
)
_TOLD = pytest.StashKey[dict[str, list[str]]]()


class OneWorkerForEachCloud(LoadScopeScheduling):
    """Spreads tests one by one, and directories with one cloud as wholes.

    xdist 3.8 does this by marks (``--dist loadgroup``), but pytest 9.2 does not read the name that it marks with.
    """

    def _split_scope(self, nodeid):
        file = nodeid.partition("::")[0]
        directory = str(PurePosixPath(file).parent)
        if file in _ON_THEIR_OWN:
            return file
        if file in _SECOND_CLOUD:
            return f"{directory}, second cloud"
        return directory if directory in _TOGETHER else nodeid


@pytest.hookimpl(optionalhook=True)
def pytest_xdist_make_scheduler(config, log):
    config.option.loadscopereorder = False  # By number of tests, as if all took equally long.
    return OneWorkerForEachCloud(config, log)


@pytest.hookimpl(tryfirst=True)
def pytest_collection_modifyitems(config, items):
    """In a worker, put what takes longest first. In one process, what is quick comes as it is found."""
    if hasattr(config, "workerinput"):
        items.sort(key=lambda item: _rank(item.nodeid))


def _rank(nodeid):
    return next((rank for rank, start in enumerate(_LONGEST_FIRST) if nodeid.startswith(start)), len(_LONGEST_FIRST))


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
    """Under one heading, keep what each worker told that told something."""
    for heading, lines in getattr(node, "workeroutput", {}).get("told", {}).items():
        before = node.config.stash.get(_TOLD, {}).get(heading, lines)
        tell(node.config, heading, [line for line in lines if line in before])


def pytest_terminal_summary(terminalreporter, config):
    for heading, lines in config.stash.get(_TOLD, {}).items():
        terminalreporter.section(f"{heading}: {len(lines)}")
        for line in lines:
            terminalreporter.write_line(line)
