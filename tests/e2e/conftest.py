"""One installation for all end-to-end tests of a process, and a repository of its own for each test.

In parallel two processes share the tests (tests/conftest.py says which), so what looks at a whole run does so in each.
"""

from __future__ import annotations

import re
import uuid
from pathlib import Path

import httpx
import pytest

from tests.e2e.installation import Installation
from tests.e2e.pages import SECONDS
from tests.e2e.project import Project
from tests.e2e.receiver import running
from tidegate_local.client import LocalCloud
from tidegate_local.forge.pages.visit import COOKIE

_HERE = Path(__file__).parent
#: What takes long on AWS for good reasons and would only make tests wait.
_SHORTER = {"terraform": {"Wait before planning again": {"Seconds": 1}}}
#: A config repository and one of roots that may wait for each other.
WAITED_FOR = ("acme/waiting-config", "acme/waiting-infra")


def pytest_collection_modifyitems(items):
    """What looks at the whole run comes last."""
    for item in items:
        if item.path.is_relative_to(_HERE):
            item.add_marker(pytest.mark.cloud)
    items.sort(key=lambda item: item.path.name == "test_whole_run.py")


@pytest.fixture(scope="session")
def receiver():
    """A server that takes notifications, as the installation's destinations say."""
    with running() as one:
        yield one


@pytest.fixture(scope="session")
def whole_run(tmp_path_factory, receiver):
    """The installation that the tests share. Its schedules run only when a test fires them, and no call is denied."""
    log = tmp_path_factory.mktemp("e2e") / "cloud.log"
    context = {
        "operators_team": "acme/platform",
        "update_repositories": list(WAITED_FOR),
        "cluster_registrars": ["iam-authentication", "gitops", "packages", "configuration"],
        "destinations": receiver.destinations,
    }
    with LocalCloud(limits=_SHORTER, context=context, clock=False, warm=True, log=log) as cloud:
        receiver.store_secrets(cloud.client("secretsmanager"))
        yield Installation(cloud)
        assert denied(cloud) == set()


def denied(cloud):
    """Return role and call of all calls of the run that one of Tidegate's own roles was not allowed to make."""
    calls = cloud.read("permissions")["denied"]
    return {(call["role"].rpartition("/")[2], call["call"]) for call in calls if "EngineRole" not in call["role"]}


@pytest.fixture
def tidegate(whole_run):
    yield whole_run
    whole_run.cloud.clear_faults()
    whole_run.maintainer.clear_faults()


@pytest.fixture
def browser(tidegate):
    """A browser without scripts in which the reviewer is signed in at the forge."""
    with httpx.Client(
        base_url=tidegate.cloud.api_url, follow_redirects=True, trust_env=False, timeout=SECONDS
    ) as client:
        client.cookies.set(COOKIE, "reviewer")
        yield client


@pytest.fixture
def project(tidegate, request):
    readable = re.sub("[^a-z0-9]+", "-", request.node.name.lower())[5:65].strip("-")
    return Project(tidegate, f"acme/{readable}-{uuid.uuid4().hex[:6]}")


@pytest.fixture
def gate(tmp_path):
    """Return the file that plans wait for; it is there at the end, so that nobody waits for ever."""
    gate = tmp_path / "gate"
    yield gate
    gate.touch()
