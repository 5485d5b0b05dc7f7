"""How tests are spread over workers, what is measured, what Hypothesis tries, and what a test run tells at its end."""

from __future__ import annotations

import gc
import os
import secrets
from datetime import UTC, datetime
from pathlib import PurePosixPath

import pytest
from hypothesis import HealthCheck, settings
from hypothesis import strategies as st
from xdist.scheduler import LoadScopeScheduling

# moto reads 600 machine images for each account with a network: no test starts a virtual machine.
os.environ["MOTO_EC2_LOAD_DEFAULT_AMIS"] = "false"
#: What a busy machine or an unlucky draw decides, and not what is tested.
_BY_CHANCE = (HealthCheck.too_slow, HealthCheck.data_too_large, HealthCheck.filter_too_much)
# Each run of the suite tries a few examples that no run before it tried; its head says the seed that repeats them. A
# night tries many: pytest --hypothesis-profile search.
settings.register_profile("suite", deadline=None, max_examples=25, suppress_health_check=_BY_CHANCE)
settings.register_profile("search", deadline=None, max_examples=1000, suppress_health_check=_BY_CHANCE)
settings.load_profile("suite")
# Instants have a zone, and are in UTC.
st.register_type_strategy(datetime, st.datetimes(timezones=st.just(UTC)))

#: Rules and verbs are covered by tests of their own. Measuring makes a test take twice as long, so that these are left
#: out: what covers them by the way or by chance, and what does much of the same.
_MEASURED = ("tests/unit/", "tests/contract/")
_NOT_MEASURED = ("hypothesis", "large")
#: What only changes of the stand-ins can break runs at night. (A file or a directory marks what else does.)
_AT_NIGHT = ("tests/forge/", "tests/gitlab/")
#: Directories whose tests share a local cloud, or a template, which takes long to make: all of them run in one worker.
#: Of the others, a file's tests do, as they share what the file prepares.
_TOGETHER = frozenset({"tests/cdk", "tests/e2e", "tests/local", "tests/soak"})
#: At night end-to-end tests take longest by far: two clouds share them. These files are half of their time.
_SECOND_CLOUD = frozenset(
    f"tests/e2e/test_{name}.py"
    for name in (
        "function_deaths",
        "blocked_by_policy",
        "large_plans",
        "queue_positions",
        "plan_command",
        "pull_request_hostile",
    )
)
_ON_THEIR_OWN = frozenset(
    {
        "tests/e2e/test_hand_over.py",
        "tests/e2e/test_tutorial.py",
        "tests/e2e/test_two_installations.py",
        "tests/local/test_command.py",
    }
)
#: What takes longest begins first, so that no worker is left alone with it in the end.
_LONGEST_FIRST = (
    "tests/e2e",
    "tests/stepfunctions",
    "tests/soak",
    "tests/bench",
    "tests/local",
    "tests/browser",
    "tests/cdk",
    "tests/runner",
    "tests/contract",
    "tests/cli",
    "tests/api",
)


class OneWorkerForEachCloud(LoadScopeScheduling):
    """Spreads tests file by file, and directories with one cloud as wholes.

    xdist 3.8 does this by marks (``--dist loadgroup``), but pytest 9.2 does not read the name that it marks with.
    """

    def _split_scope(self, nodeid):
        file = nodeid.partition("::")[0]
        directory = str(PurePosixPath(file).parent)
        if file in _ON_THEIR_OWN:
            return file
        if file in _SECOND_CLOUD:
            return f"{directory}, second cloud"
        return directory if directory in _TOGETHER else file


@pytest.hookimpl(tryfirst=True)
def pytest_configure(config):
    """Choose the seed here, before Hypothesis reads it: it can be told, and all workers get the same.

    While tests are collected nothing becomes garbage: a quarter of that time went into looking for some.
    """
    gc.disable()
    if config.option.hypothesis_seed is None:
        config.option.hypothesis_seed = str(secrets.randbelow(2**32))


def pytest_report_header(config):
    return f"random examples: repeat these with --hypothesis-seed={config.option.hypothesis_seed}"


@pytest.hookimpl(wrapper=True, tryfirst=True)
def pytest_runtest_protocol(item):
    """Pause the measuring of coverage where it costs and proves nothing."""
    plugin = item.config.pluginmanager.getplugin("_cov")
    controller = plugin and plugin.cov_controller
    measured = item.nodeid.startswith(_MEASURED) and not any(map(item.get_closest_marker, _NOT_MEASURED))
    if controller and controller.started != measured:
        controller.resume() if measured else controller.pause()
    return (yield)


@pytest.hookimpl(optionalhook=True)
def pytest_xdist_make_scheduler(config, log):
    config.option.loadscopereorder = False  # By number of tests, as if all took equally long.
    return OneWorkerForEachCloud(config, log)


@pytest.hookimpl(tryfirst=True)
def pytest_collection_modifyitems(config, items):
    """In a worker, put what takes longest first. In one process, what is quick comes as it is found."""
    for item in items:
        if item.nodeid.startswith(_AT_NIGHT):
            item.add_marker("nightly")
    if hasattr(config, "workerinput"):
        items.sort(key=lambda item: _rank(item.nodeid))


@pytest.hookimpl(trylast=True)
def pytest_collection_finish():
    """From now on collect garbage, but leave alone what stays to the end: millions of values."""
    gc.freeze()
    gc.enable()


def _rank(nodeid):
    return next((rank for rank, start in enumerate(_LONGEST_FIRST) if nodeid.startswith(start)), len(_LONGEST_FIRST))
