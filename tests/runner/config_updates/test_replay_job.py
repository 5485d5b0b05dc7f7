"""A whole replay job: the runner's program as a process, git over HTTP, and AWS."""

from __future__ import annotations

import hashlib
import json
import os
import subprocess
import threading
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from pathlib import Path
from uuid import uuid4

import pytest

from tests.http_server import Answer, Received, server
from tests.runner.config_updates.config_repository import announced, images
from tests.runner.conftest import Bench, Ended
from tests.runner.fake_aws import JOB_TOKEN, START_TOKEN, Refusal
from tests.runner.git_forge import CLONE_TOKEN
from tidegate.aws.records import pack, unpack
from tidegate.config.rules.config_updates import UpdateCommands
from tidegate.config_updates.rules.replay import (
    Entry,
    Replay,
    Replayed,
    State,
    bundle_key,
    order_key,
    result_key,
)
from tidegate.deploys.rules.job import Job, log_key, replay_job
from tidegate.deploys.rules.runner_size import RunnerSize
from tidegate.plans.rules.plan import Artifact
from tidegate.vcs.git.environment import authorization

JOB = "config-updates-3f2a-1-replay-1"
ENTERS = 'cp "$1" "$2"\n'
#: Of linux/prctl.h. Of root's rights, some allow to read other processes' memory.
PR_CAPBSET_DROP = 24
RIGHTS = range(int(Path("/proc/sys/kernel/cap_last_cap").read_text()) + 1)


@dataclass
class ReplayBench:
    """Replays entries with a shell script of the repository's, as ``introduce.sh IMAGE_FILE FILE``."""

    bench: Bench
    script: str = ENTERS
    files: Mapping[str, str] = field(default_factory=dict)
    base: str = ""

    def job(self, *entries: Entry) -> Job:
        self.base = self.bench.forge.commit(
            {"images/staging.json": images("web", build=0), "introduce.sh": self.script, **self.files}
        )
        commands = UpdateCommands(introduce=("sh", "introduce.sh", "{image_file}", "{file}"))
        order = json.dumps(pack(Replay(self.base, entries, commands))).encode()
        self.bench.aws.objects[order_key(JOB)] = order
        stored = Artifact(order_key(JOB), hashlib.sha256(order).hexdigest())
        job = replay_job(JOB, "acme/infra", self.base, self.bench.forge.clone_url, stored, RunnerSize())
        self.bench.aws.add_job(job, CLONE_TOKEN)
        return job

    def run(self, *entries: Entry, **environ: str) -> Ended:
        entries = entries or (announced(1, images("web", build=1)),)
        return self.bench.run(self.job(*entries), TIDEGATE_ENGINE_ROLE="", **environ)

    def replayed(self) -> Replayed:
        result = self.bench.aws.objects[result_key(JOB)]
        assert self.bench.result() == {"job": JOB, "result": hashlib.sha256(result).hexdigest()}
        return unpack(Replayed, json.loads(result))

    def read(self, path: str) -> str:
        """Return a file of the highest commit of the bundle."""
        bundle = self.bench.directory / "stored.bundle"
        bundle.write_bytes(self.bench.aws.objects[bundle_key(JOB)])
        git = ["git", "-C", str(self.bench.forge.repository)]
        subprocess.run([*git, "fetch", "--quiet", str(bundle), "+HEAD:refs/replays/1"], check=True)
        return subprocess.run([*git, "show", f"refs/replays/1:{path}"], check=True, capture_output=True).stdout.decode()


@pytest.fixture
def replays(bench: Bench) -> ReplayBench:
    return ReplayBench(bench)


def test_the_commits_and_what_became_of_each_entry_are_stored(replays: ReplayBench) -> None:
    replays.script = ENTERS + 'grep -q "t:2" "$2" && exit 3; echo "entered $2"'
    ended = replays.run(*(announced(number, images("web", build=number)) for number in (1, 2, 3)))
    assert ended.code == 0, ended.output
    replayed = replays.replayed()
    assert [each.state for each in replayed.outcomes] == [State.COMMITTED, State.FAILED, State.COMMITTED]
    assert replayed.tip == replayed.outcomes[2].sha
    assert replays.read("images/staging.json") == images("web", build=3)
    log = replays.bench.stored_log(JOB)
    assert "replaying 3 entries of acme/infra" in log
    assert "entered images/staging.json" in log
    assert replays.bench.aws.log_lines(JOB) == log.splitlines()
    assert replays.bench.left_behind() == []


def test_no_engine_is_looked_for_and_no_role_is_assumed(replays: ReplayBench) -> None:
    ended = replays.run()
    assert ended.code == 0, ended.output
    assert replays.bench.aws.assumed == replays.bench.aws.tokens == []
    assert {service for service, _ in replays.bench.aws.calls} == {"states", "dynamodb", "s3"}
    assert "terraform" not in ended.output


def test_a_replay_that_changes_nothing_has_no_bundle(replays: ReplayBench) -> None:
    replays.run(announced(1, images("web", build=0)))
    assert replays.replayed().tip == replays.base
    assert bundle_key(JOB) not in replays.bench.aws.objects


def test_an_order_that_was_changed_is_not_carried_out(replays: ReplayBench) -> None:
    job = replays.job(announced(1, images("web", build=1)))
    replays.bench.aws.objects[order_key(JOB)] += b" "
    ended = replays.bench.run(job, TIDEGATE_ENGINE_ROLE="")
    assert ended.code == 1
    assert "order.json was changed after the job was created. Nothing was run." in replays.bench.result()["message"]
    assert replays.bench.forge.requests == []
    assert set(replays.bench.aws.objects) == {order_key(JOB), log_key(JOB)}


@pytest.mark.parametrize("operation", ["GetObject", "PutObject"])
def test_a_bucket_that_refuses_fails_the_job(replays: ReplayBench, operation: str) -> None:
    replays.bench.aws.refuse = lambda _, asked: Refusal(403, "AccessDenied") if asked == operation else None
    assert replays.run().code == 1
    assert replays.bench.result()["error"] == "RunnerFault"
    assert "AccessDenied" in replays.bench.result()["message"]


def test_what_git_needs_too_long_for_fails_its_own_entry(replays: ReplayBench) -> None:
    replays.script = ENTERS + 'grep -q "t:1" "$2" && truncate -s 1T large; true'
    entries = [announced(number, images("web", build=number)) for number in (1, 2)]
    assert replays.run(*entries, TIDEGATE_PROGRAM_SECONDS="3").code == 0
    first, second = replays.replayed().outcomes
    assert (first.state, second.state) == (State.FAILED, State.COMMITTED)


def test_a_replay_that_nobody_waits_for_ends_its_command(replays: ReplayBench) -> None:
    replays.script = f"echo $$ > {replays.bench.directory}/pid; sleep 300"
    job = replays.job(announced(1, images("web", build=1)))
    process = replays.bench.start(job, TIDEGATE_ENGINE_ROLE="", TIDEGATE_HEARTBEAT_SECONDS="0.1")
    replays.bench.aws.wait_for((replays.bench.directory / "pid").exists)
    replays.bench.aws.gone.add(JOB_TOKEN)
    ended = replays.bench.finish(process)
    assert "This replay was cancelled or has expired." in ended.output
    assert replays.bench.aws.answer(JOB_TOKEN) is None


def test_a_command_that_deletes_the_jobs_directory_is_reported(replays: ReplayBench) -> None:
    replays.script = ENTERS + "rm -rf ../.."
    ended = replays.run()
    assert ended.code == 0, ended.output
    assert "Traceback" not in ended.output
    (outcome,) = replays.replayed().outcomes
    assert (outcome.state, replays.replayed().tip) == (State.FAILED, replays.base)


PROBE = r"""
import json, os, pathlib, urllib.request

found = [f"own {name}={value}" for name, value in os.environ.items()]
for process in pathlib.Path("/proc").glob("[0-9]*"):
    for file in ("environ", "cmdline"):
        try:
            found += (process / file).read_bytes().decode("utf-8", "replace").split("\0")
        except OSError as error:
            found.append(f"refused {type(error).__name__}")
variables = dict(each.removeprefix("own ").partition("=")[::2] for each in found if "=" in each)
port = PORT
addresses = {f"http://127.0.0.1:{port}/", f"http://127.0.0.1:{port}/v2/credentials"}
addresses |= {value for name, value in variables.items() if name.startswith("AWS_CONTAINER_CREDENTIALS")}
for address in addresses:
    try:
        token = {"Authorization": variables.get("AWS_CONTAINER_AUTHORIZATION_TOKEN", "")}
        found.append(urllib.request.urlopen(urllib.request.Request(address, headers=token), timeout=5).read().decode())
    except (OSError, ValueError) as error:
        found.append(f"asked {address}: {error}")
for top in ("../..", os.environ["HOME"]):
    for file in pathlib.Path(top).rglob("*"):
        try:
            found.append(file.read_bytes().decode("latin-1") if file.is_file() else "")
        except OSError:
            pass
pathlib.Path("found").write_text(json.dumps(found))
"""


@dataclass(frozen=True)
class TaskCredentials:
    """What the credentials endpoint of a task gives, at a secret path, as ECS has one."""

    path: str = field(default_factory=lambda: f"/v2/credentials/{uuid4()}")
    token: str = field(default_factory=lambda: f"endpoint-token-{uuid4()}")
    secret: str = field(default_factory=lambda: f"task-secret-{uuid4()}")
    session: str = field(default_factory=lambda: f"task-session-{uuid4()}")

    def answer(self, request: Received) -> Answer:
        if (request.path, request.headers.get("authorization")) != (self.path, self.token):
            return 404, {}, b"{}"
        keys = {"AccessKeyId": "ASIATASK", "SecretAccessKey": self.secret, "Token": self.session}
        return 200, {}, json.dumps({**keys, "Expiration": "2099-01-01T00:00:00Z"}).encode()


def as_in_a_task(act: Callable[[], Ended]) -> Ended:
    """Do something whose processes have no rights of root's: a task's user has none either."""
    results: list[Ended] = []

    def unprivileged() -> None:
        import ctypes

        if os.geteuid() == 0:
            # These are the thread's own: the processes that it starts lose the rights.
            for right in RIGHTS:
                assert ctypes.CDLL(None).prctl(PR_CAPBSET_DROP, right, 0, 0, 0) == 0
        results.append(act())

    thread = threading.Thread(target=unprivileged)
    thread.start()
    thread.join()
    return results[0]


def test_a_command_finds_no_token_and_no_credentials_wherever_it_looks(replays: ReplayBench) -> None:
    endpoint, another = TaskCredentials(), {"PATH": os.environ["PATH"], "OF_ANOTHER": "visible"}
    with server(endpoint.answer) as (url, received):
        # As if it knew the token: the file itself does not hold it.
        printed = CLONE_TOKEN.replace("-", "-''", 1)
        replays.script = f"{ENTERS}python3 probe.py; echo {printed} ghp_abcdef"
        replays.files = {"probe.py": PROBE.replace("PORT", url.rpartition(":")[2])}
        variables = {
            "AWS_ACCESS_KEY_ID": "",
            "AWS_SECRET_ACCESS_KEY": "",
            "AWS_CONTAINER_CREDENTIALS_FULL_URI": f"{url}{endpoint.path}",
            "AWS_CONTAINER_AUTHORIZATION_TOKEN": endpoint.token,
            "TIDEGATE_MASK_PATTERNS": json.dumps([r"ghp_\w+"]),
        }

        def beside_another() -> Ended:
            with subprocess.Popen(["sleep", "60"], env=another) as other:
                ended = replays.run(**variables)
                other.kill()
            return ended

        ended = as_in_a_task(beside_another)
    assert replays.replayed().outcomes[0].state is State.COMMITTED, ended.output
    found = "\n".join(json.loads(replays.read("found")))
    assert "OF_ANOTHER=visible" in found, "the probe reads the environment of other processes"
    assert "refused PermissionError" in found, "but not the runner's"
    requests = [each.path for each in received]
    assert requests.count(endpoint.path) == 1, "the runner's own request"
    assert {"/", "/v2/credentials"} <= set(requests), "the probe asks the endpoint"
    secrets = [
        *(endpoint.path, endpoint.token, endpoint.secret, endpoint.session),
        *(START_TOKEN, JOB_TOKEN, CLONE_TOKEN, authorization(CLONE_TOKEN)),
    ]
    assert [each for each in secrets if each in found] == []
    for text in (ended.output, replays.bench.stored_log(JOB)):
        assert "(masked) (masked)" in text
        assert [each for each in (*secrets, "ghp_abcdef") if each in text] == []


def test_what_a_command_leaves_running_or_writes_outside_reaches_nothing(replays: ReplayBench) -> None:
    number = f"300.{uuid4().int}"
    replays.script = (
        ENTERS
        + f"""
        setsid sleep {number} &
        touch ../stray ~/stray $TMPDIR/stray
        git config --file ~/.gitconfig core.hooksPath $PWD/hooks
    """
    )
    entries = [announced(number, images("web", build=number)) for number in (1, 2)]
    ended = replays.run(*entries)
    assert [each.state for each in replays.replayed().outcomes] == [State.COMMITTED] * 2, ended.output
    assert replays.read("images/staging.json") == images("web", build=2)
    assert replays.bench.left_behind() == []
    running = [path.read_bytes() for path in Path("/proc").glob("[0-9]*/cmdline") if path.exists()]
    assert not [each for each in running if number.encode() in each]
