"""``make up`` as a person uses it: start, look, start a second one, end with Ctrl-C."""

from __future__ import annotations

import json
import os
import signal
import subprocess
import sys
import time
import urllib.request
from pathlib import Path

import pytest

from tests.local.ports import free_ports

TOP = Path(__file__).parents[2]
PATIENCE = 420.0

pytestmark = [pytest.mark.nightly, pytest.mark.cloud]


def poll(condition, what):
    end = time.monotonic() + PATIENCE
    while not (found := condition()):
        assert time.monotonic() < end, f"{what} did not come about within {PATIENCE:.0f} s"
        time.sleep(0.1)
    return found


def tidegate(*arguments, **options):
    command = [sys.executable, "-m", "tidegate_cli.main", "local", *map(str, arguments)]
    return subprocess.run(command, cwd=TOP, capture_output=True, text=True, check=False, **options)


def info(port, environment):
    result = tidegate("info", "--json", "--port", port, env=environment)
    return json.loads(result.stdout) if result.returncode == 0 else None


def descendants(pid):
    """Return all processes below ``pid``, from the kernel's own lists."""
    found = []
    for task in Path(f"/proc/{pid}/task").glob("*/children"):
        for child in map(int, task.read_text().split()):
            found += [child, *descendants(child)]
    return found


@pytest.fixture(scope="module")
def clouds(tmp_path_factory):
    """Two local clouds that were started at once, as by ``make up PORT=``, each with its process; end what is left."""
    home = tmp_path_factory.mktemp("state")
    environment = {**os.environ, "XDG_STATE_HOME": str(home)}
    ports = [free_ports()]
    ports.append(poll(lambda: (port := free_ports()) != ports[0] and port, "three other free ports"))
    started = [begin(port, home, environment) for port in ports]
    try:
        yield [(process, look(port, home, environment)) for process, port in zip(started, ports, strict=True)]
    finally:
        for process in started:
            if process.poll() is None:
                process.send_signal(signal.SIGINT)
                process.wait(PATIENCE)


def begin(port, home, environment):
    command = [sys.executable, "-m", "tidegate_cli.main", "local", "up", "--no-warm", "--port", str(port)]
    with (home / f"{port}.log").open("w") as log:
        return subprocess.Popen(command, cwd=TOP, env=environment, stdout=log, stderr=log, start_new_session=True)


def look(port, home, environment):
    """Return what ``tidegate local info`` says of a local cloud. It is asked once there is something to say."""
    poll(lambda: any(f":{port}" in file.read_text() for file in home.glob("tidegate/local/*.json")), "a note of it")
    return poll(lambda: info(port, environment), f"the local cloud on port {port}")


def test_the_information_names_all_that_a_script_needs(clouds):
    [(_, cloud), _] = clouds
    assert set(cloud) >= {
        "forge_url",
        "webhook_url",
        "api_url",
        "aws_endpoint_url",
        "region",
        "account",
        "webhook_secret",
        "table",
        "artifact_bucket",
        "state_machines",
        "audit_topic",
        "users",
        "aws_environment",
        "operators_team",
    }
    assert {"discovery", "action", "check_run"} <= set(cloud["queues"])
    assert {"webhook", "forge_steps", "runners", "deploy", "terraform"} <= set(cloud["log_groups"])
    people = {person["login"]: person for person in cloud["users"]}
    reviewer = {"login": "reviewer", "password": "reviewer", "token": "reviewer", "permission": "write"}
    assert reviewer.items() <= people["reviewer"].items()
    assert set(cloud["state_machines"]) == {"deploy", "terraform", "pull_request", "drift"}
    assert all(cloud.values())


def test_two_local_clouds_run_side_by_side_and_end_without_a_trace(clouds):
    addresses = [cloud["forge_url"] for _, cloud in clouds]
    assert len(set(addresses)) == 2
    for address in addresses:
        with urllib.request.urlopen(address, timeout=120) as page:
            assert page.status == 200
    for process, cloud in clouds:
        below = descendants(process.pid)
        assert below
        process.send_signal(signal.SIGINT)
        assert process.wait(PATIENCE) == 0
        poll(lambda below=below: not any(Path(f"/proc/{pid}").exists() for pid in below), "the end of all processes")
        with pytest.raises(OSError, match="refused"):
            urllib.request.urlopen(cloud["webhook_url"], timeout=120)


def test_without_a_local_cloud_the_information_says_how_to_start_one(tmp_path):
    result = tidegate("info", env={**os.environ, "XDG_STATE_HOME": str(tmp_path)})
    assert result.returncode == 3
    assert "make up" in result.stderr
