"""``tidegate local``: which local cloud is meant, what is said of it, and its end."""

from __future__ import annotations

import json
import os
import subprocess
import sys
import threading

import pytest
from typer.testing import CliRunner

from tidegate_cli.local_info import readable
from tidegate_cli.main import app
from tidegate_local import instances


def run(*words):
    return CliRunner().invoke(app, ["local", *words])


def running(port, pid=None, command_pid=None):
    """Write down a local cloud that runs, as another process; the later one with the higher port."""
    path = instances.write(
        {
            "pid": pid or os.getpid(),
            "command_pid": command_pid or os.getpid(),
            "forge_url": f"http://localhost:{port}",
            "webhook_url": f"http://127.0.0.1:{port + 1}/webhooks/github",
            "api_url": f"http://127.0.0.1:{port + 1}",
            "aws_endpoint_url": f"http://127.0.0.1:{port + 2}",
            "state_bucket": "states",
            "region": "us-east-1",
            "queues": {
                "MessagingPush48B63B5B": "http://127.0.0.1/1",
                "MessagingPushDeadC48473FC": "http://127.0.0.1/2",
            },
            "log_groups": {"FunctionsRecordPlanFunctionLog87CCE1E1": "a-log-group"},
        }
    )
    os.utime(path, (port, port))
    return path


def test_a_model_of_latencies_that_there_is_not_is_refused(monkeypatch):
    monkeypatch.setenv("TIDEGATE_LATENCY", "mars")
    refused = run("up")
    assert refused.exit_code == 1
    assert "'mars'" in refused.output


@pytest.fixture
def sleeper():
    """Start processes that end by SIGTERM, and are seen off by who waits for them."""
    started = []

    def start():
        process = subprocess.Popen([sys.executable, "-c", "import signal; signal.pause()"])
        thread = threading.Thread(target=process.wait)
        thread.start()
        started.append((process, thread))
        return process.pid

    yield start
    for process, thread in started:
        process.kill()
        thread.join()


def test_the_information_is_for_people_and_for_scripts():
    running(5000)
    assert "http://localhost:5000" in run("info").stdout
    shown = json.loads(run("info", "--json").stdout)
    assert set(shown["queues"]) == {"push", "push_dead"}
    assert shown["log_groups"] == {"record_plan": "a-log-group"}
    assert shown["aws_environment"]["AWS_ENDPOINT_URL"] == "http://127.0.0.1:5002"
    assert shown["aws_environment"]["AWS_DEFAULT_REGION"] == shown["aws_environment"]["AWS_REGION"]
    told = " ".join(run("info").stdout.split())
    assert all(user["login"] in told for user in shown["users"])
    teams = {user["login"]: user["teams"] for user in shown["users"]}
    assert (teams["maintainer"], teams["reviewer"], teams["visitor"]) == (["platform"], ["platform"], [])
    assert "in the team platform: maintainer and reviewer" in " ".join(run("info").stdout.split())


def test_of_several_local_clouds_the_newest_is_shown_and_that_is_said(sleeper):
    running(5000, sleeper())
    running(6000, sleeper())
    result = run("info")
    assert "http://localhost:6000" in result.stdout
    assert "--port: 6000, 5000" in result.stderr
    assert "http://localhost:5000" in run("info", "--port", "5000").stdout
    assert run("info", "--port", "5000").stderr == ""


def test_of_several_local_clouds_none_is_ended_by_accident(sleeper):
    running(5000, sleeper())
    running(6000, sleeper())
    result = run("down")
    assert result.exit_code == 1
    assert "--port: 6000, 5000" in result.stderr


def test_down_returns_once_the_local_cloud_has_ended(sleeper):
    pid = sleeper()
    running(5000, pid, pid)
    result = run("down", "--json")
    assert json.loads(result.stdout) == {"forge_url": "http://localhost:5000", "ended": True}
    assert not instances.is_alive(pid)


def test_without_a_local_cloud_there_is_nothing_to_end():
    result = run("down")
    assert result.exit_code == 3
    assert "make up" in result.stderr


def test_names_that_would_be_the_same_stay_as_they_are():
    assert set(readable({"DeployLog104E17DC": 1, "DeployLog204E17DC": 2})) == {"DeployLog104E17DC", "DeployLog204E17DC"}
    assert set(readable({"Queue": 1})) == {"Queue"}


@pytest.mark.parametrize(("options", "is_gitlab"), [((), False), (("--gitlab",), True)])
def test_the_forge_is_a_gitlab_where_that_is_asked_for(monkeypatch, options, is_gitlab):
    asked = []

    def start(options, log):
        asked.append(options)
        raise OSError("not here")

    monkeypatch.setattr("tidegate_local.client.LocalCloud", start)
    assert run("up", *options).exit_code == 1
    assert [one.gitlab for one in asked] == [is_gitlab]
