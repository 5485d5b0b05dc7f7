"""No process outlives the local cloud, and two of them do not disturb each other."""

from __future__ import annotations

import contextlib
import os
import signal
import subprocess
import sys
from pathlib import Path

import pytest

from tests.local.deadlines import until
from tidegate_local.client import LocalCloud
from tidegate_local.processes.process_supervisor import ProcessSupervisor

pytestmark = [pytest.mark.nightly, pytest.mark.cloud]

FORGETS = (
    "import os, subprocess, sys, time\n"
    "child = subprocess.Popen([sys.executable, '-c', 'import time; time.sleep(600)'], start_new_session=True)\n"
    "print(child.pid, flush=True)\n"
    "time.sleep(float(sys.argv[1]))\n"
)


def alive(pid):
    with contextlib.suppress(OSError):
        return "Z" not in Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()[0]
    return False


def start(process_supervisor, seconds, tmp_path, program=FORGETS):
    process = process_supervisor.start("p", [sys.executable, "-c", program, str(seconds)], dict(os.environ), tmp_path)
    with os.fdopen(process.output, "rb", buffering=0) as output:
        grandchild = int(output.readline())
    return process, grandchild


def test_what_a_process_started_and_forgot_ends_with_it(tmp_path):
    process_supervisor = ProcessSupervisor()
    process, grandchild = start(process_supervisor, 0, tmp_path)
    assert process.wait(60) == 0
    until(lambda: not alive(grandchild))
    process_supervisor.close()


def test_an_engine_without_its_runners_environment_ends_when_that_is_killed(tmp_path):
    process_supervisor = ProcessSupervisor()
    process, engine = start(
        process_supervisor, 600, tmp_path, FORGETS.replace("start_new_session", "env={}, start_new_session")
    )
    process.signal(signal.SIGKILL)
    assert process.wait(60) == -signal.SIGKILL
    until(lambda: not alive(engine))
    process_supervisor.close()


def test_closing_the_warden_ends_everything(tmp_path):
    process_supervisor = ProcessSupervisor()
    process, grandchild = start(process_supervisor, 600, tmp_path)
    process_supervisor.close()
    until(lambda: not alive(process.pid) and not alive(grandchild))


def test_a_signal_reaches_the_process(tmp_path):
    process_supervisor = ProcessSupervisor()
    process, _ = start(process_supervisor, 600, tmp_path)
    process.signal(signal.SIGTERM)
    assert process.wait(60) == -signal.SIGTERM
    process_supervisor.close()


def test_a_program_that_does_not_exist_is_an_error(tmp_path):
    process_supervisor = ProcessSupervisor()
    with pytest.raises(OSError, match="no-such-program"):
        process_supervisor.start("p", ["/no-such-program"], {}, tmp_path)
    process_supervisor.close()


def descendants(pid):
    found = subprocess.run(["ps", "-e", "-o", "pid=,ppid="], capture_output=True, text=True, check=True).stdout
    parents = dict(map(int, line.split()) for line in found.splitlines())
    children = {child for child, parent in parents.items() if parent == pid}
    return children.union(*map(descendants, children)) if children else set()


def test_nothing_is_left_when_the_supervisor_is_killed(assembly):
    cloud = LocalCloud(assembly=assembly, forge=False).start()
    cloud.warm()
    supervisor = cloud.info["pid"]
    processes = {supervisor, *descendants(supervisor)}
    assert len(processes) >= 3
    os.kill(supervisor, signal.SIGKILL)
    until(lambda: not any(map(alive, processes)))
    cloud.stop()


def test_two_local_clouds_run_at_the_same_time(assembly, shared_cloud):
    with LocalCloud(assembly=assembly, forge=False) as other:
        assert other.aws_endpoint_url != shared_cloud.aws_endpoint_url
        other.client("s3").create_bucket(Bucket="only-here")
        names = [bucket["Name"] for bucket in shared_cloud.client("s3").list_buckets()["Buckets"]]
        assert "only-here" not in names
