"""The engine's credentials: given on the loopback to whoever has the job's token, and renewed before they end."""

from __future__ import annotations

import http.client
import json
import socket
import struct
import threading
import time
from collections.abc import Callable, Iterator
from urllib.parse import urlsplit

import pytest
from botocore.credentials import ContainerProvider
from botocore.exceptions import CredentialRetrievalError

from runner.credentials_endpoint import CredentialsEndpoint
from runner.faults import JobFault, RoleRefused, RunnerFault
from runner.role_session import RoleSession
from tests.runner.accounts import RUN, TARGET, installed, session
from tests.runner.conftest import Bench
from tests.runner.engine_keys import COMMAND
from tests.runner.engines import provisioned
from tests.runner.fake_aws import ENGINE_ROLE, ENGINE_SECRET, Refusal
from tests.runner.speculation import resource
from tidegate.aws.signing import Credentials
from tidegate.deploys.rules.job import JobKind
from tidegate.deploys.rules.workflow import RunSettings, StepKind, WorkflowStep

__all__ = ["installed"]
Commit = Callable[..., str]
HOUR = 3600.0


class Role:
    """A role whose sessions live for an hour, from a moment that the test moves."""

    def __init__(self) -> None:
        self.at = time.time()
        self.sessions = 0
        self.fault: JobFault | None = None
        self.learned: list[str] = []
        self.tried = 0

    def assume(self) -> Credentials:
        self.tried += 1
        if self.fault:
            raise self.fault
        self.sessions += 1
        return Credentials(f"key-{self.sessions}", f"secret-{self.sessions}", "token", self.at + HOUR)

    def session(self) -> RoleSession:
        return RoleSession(self.assume, lambda each: self.learned.append(each.secret_key), lambda: self.at)


@pytest.fixture
def role() -> Role:
    return Role()


@pytest.fixture
def endpoint(role: Role) -> Iterator[CredentialsEndpoint]:
    endpoint = CredentialsEndpoint(role.session())
    yield endpoint
    endpoint.close()


def asked(
    endpoint: CredentialsEndpoint, token: str | None = None, path: str | None = None
) -> tuple[int, dict[str, str]]:
    address = urlsplit(endpoint.environment["AWS_CONTAINER_CREDENTIALS_FULL_URI"])
    connection = http.client.HTTPConnection(address.netloc, timeout=5)
    headers = {} if token is None else {"Authorization": token}
    connection.request("GET", path or address.path, headers=headers)
    answer = connection.getresponse()
    return answer.status, json.loads(answer.read())


def key_of(session: RoleSession) -> str:
    return session.get()[0].access_key


def test_a_session_is_renewed_in_its_last_third_and_what_it_gives_is_masked_before(role: Role) -> None:
    session = role.session()
    role.at += HOUR * 2 / 3 - 1
    assert key_of(session) == "key-1"
    role.at += 1
    assert key_of(session) == "key-2"
    role.at += HOUR / 2
    assert key_of(session) == "key-2"
    assert role.learned == ["secret-1", "secret-2"]


def test_a_renewal_that_fails_leaves_what_is_valid_and_is_tried_again_a_little_later(role: Role) -> None:
    session = role.session()
    role.at += HOUR - 60
    role.fault = RunnerFault("STS does not answer.")
    assert (key_of(session), key_of(session), role.tried) == ("key-1", "key-1", 2)
    assert "STS does not answer." in session.problem
    role.at += 10
    role.fault = None
    assert key_of(session) == "key-2"
    assert not session.problem


def test_while_a_renewal_takes_its_time_others_get_what_is_valid(role: Role) -> None:
    begun, answered = threading.Event(), threading.Event()
    slow = threading.Thread(target=lambda: key_of(session), daemon=True)

    def assume() -> Credentials:
        if slow.ident is not None:
            begun.set()
            answered.wait(10)
        return role.assume()

    session = RoleSession(assume, lambda _: None, lambda: role.at)
    role.at += HOUR - 60
    slow.start()
    assert begun.wait(10)
    found: list[str] = []
    other = threading.Thread(target=lambda: found.append(key_of(session)), daemon=True)
    other.start()
    other.join(2)
    answered.set()
    slow.join(10)
    assert found == ["key-1"]
    assert key_of(session) == "key-2"


def test_a_session_that_has_ended_is_given_to_nobody(role: Role) -> None:
    session = role.session()
    role.at += HOUR
    role.fault = RoleRefused("The role R does not let Tidegate in.")
    for _ in range(2):
        with pytest.raises(RoleRefused, match=r"expire at .* UTC and cannot be renewed\. The role R does not let"):
            session.get()


def test_a_session_whose_end_nobody_tells_is_renewed_within_the_shortest_time(role: Role) -> None:
    session = RoleSession(lambda: Credentials("key", "secret"), lambda _: None, lambda: role.at)
    assert session.get()[1] == role.at + 900


def test_botocore_reads_the_endpoint(endpoint: CredentialsEndpoint) -> None:
    loaded = ContainerProvider(environ=dict(endpoint.environment)).load()
    assert loaded is not None
    assert loaded.get_frozen_credentials()[:3] == ("key-1", "secret-1", "token")


def test_the_endpoint_listens_on_the_loopback_alone_until_it_is_closed(role: Role) -> None:
    endpoint = CredentialsEndpoint(role.session())
    assert urlsplit(endpoint.environment["AWS_CONTAINER_CREDENTIALS_FULL_URI"]).hostname == "127.0.0.1"
    endpoint.close()
    with pytest.raises(OSError, match="refused"):
        asked(endpoint, endpoint.token)


@pytest.mark.parametrize("token", [None, "", "another", "Bearer another", "t\xf6ken"])
def test_who_has_not_the_jobs_token_gets_nothing(endpoint: CredentialsEndpoint, token: str | None) -> None:
    status, answer = asked(endpoint, token)
    assert (status, answer["code"]) == (401, "Unauthorized")
    assert asked(endpoint, token, "/other")[0] == 401


def test_nothing_is_printed_of_who_hangs_up(endpoint: CredentialsEndpoint, capfd: pytest.CaptureFixture[str]) -> None:
    address = urlsplit(endpoint.environment["AWS_CONTAINER_CREDENTIALS_FULL_URI"])
    with socket.create_connection((address.hostname, address.port)) as hasty:
        hasty.sendall(b"GET /credentials HTTP/1.1\r\n")
        hasty.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, struct.pack("ii", 1, 0))
    while any("process_request_thread" in each.name for each in threading.enumerate()):
        threading.Event().wait(0.01)
    assert asked(endpoint, endpoint.token)[0] == 200
    assert capfd.readouterr().err == ""


def test_each_endpoint_has_a_token_of_its_own(endpoint: CredentialsEndpoint, role: Role) -> None:
    other = CredentialsEndpoint(role.session())
    assert asked(other, endpoint.token)[0] == 401
    other.close()


def test_credentials_are_at_one_path(endpoint: CredentialsEndpoint) -> None:
    assert asked(endpoint, endpoint.token, "/other")[0] == 404
    assert asked(endpoint, endpoint.token)[1]["AccessKeyId"] == "key-1"


@pytest.mark.parametrize(("fault", "status"), [(RoleRefused, 403), (RunnerFault, 503)])
def test_sdks_are_told_why_there_are_no_more(
    role: Role, endpoint: CredentialsEndpoint, fault: type[JobFault], status: int
) -> None:
    role.at += HOUR
    role.fault = fault("Change the trust policy of R.")
    found, answer = asked(endpoint, endpoint.token)
    assert (found, answer["code"]) == (status, fault.__name__)
    assert "Change the trust policy of R." in answer["message"]
    with pytest.raises(CredentialRetrievalError, match="Change the trust policy of R"):
        ContainerProvider(environ=dict(endpoint.environment)).load()


def applied(bench: Bench, sha: str, run: RunSettings) -> None:
    plan = bench.plan(sha, run=run)
    bench.aws.session_seconds = 2
    bench.run(bench.job(JobKind.APPLY, sha, plan, run=run))


@pytest.mark.parametrize(("run", "name"), [(RunSettings(), ENGINE_ROLE), (RUN, TARGET.apply_role)])
def test_an_apply_goes_on_after_its_first_session_with_the_same_tags(
    installed: Bench, commit: Commit, run: RunSettings, name: str
) -> None:
    applied(installed, commit(provisioned(f"{COMMAND} another > {installed.directory}/keys")), run)
    assert installed.result()["last_lines"]
    keys = (installed.directory / "keys").read_text().split()
    assert len(keys) == 4
    assert len(installed.aws.assumed) > 2
    assert installed.aws.assumed[1] == installed.aws.assumed[-1]
    assert session(installed)["RoleArn"] == name


def test_renewed_credentials_and_the_token_are_masked(bench: Bench, commit: Commit) -> None:
    asking = 'curl -s -H "Authorization: $AWS_CONTAINER_AUTHORIZATION_TOKEN" $AWS_CONTAINER_CREDENTIALS_FULL_URI'
    show = f"{COMMAND} another; {asking}; env"
    sha = commit(resource("network"))
    bench.aws.session_seconds = 2
    plan = bench.plan(sha, run=RunSettings(plan=(*RunSettings().plan, WorkflowStep(StepKind.RUN, ("sh", "-c", show)))))
    log = bench.stored_log(plan["job"])
    assert len(bench.aws.assumed) > 1
    assert "AWS_CONTAINER_AUTHORIZATION_TOKEN=(masked)" in log
    assert '"SecretAccessKey": "(masked)"' in log
    assert ENGINE_SECRET not in log


def test_a_renewal_that_is_refused_fails_the_apply_with_the_role_and_what_to_do(
    installed: Bench, commit: Commit
) -> None:
    script = f"touch {installed.directory}/begun; while {COMMAND}; do :; done >> {installed.directory}/keys; exit 1"
    sha = commit(provisioned(script))
    plan = installed.plan(sha, run=RUN)
    installed.aws.session_seconds = 2
    job = installed.job(JobKind.APPLY, sha, plan, run=RUN)

    def refuse(service: str, _operation: str) -> Refusal | None:
        begun = (installed.directory / "begun").exists()
        return Refusal(403, "AccessDenied") if service == "sts" and begun else None

    installed.aws.refuse = refuse
    installed.run(job)
    result = installed.result()
    assert result["error"] == "TerraformClientError"
    for said in ("terraform apply failed", "cannot be renewed", TARGET.apply_role, "sts:TagSession"):
        assert said in result["message"]
    assert "cannot be renewed" in (installed.directory / "keys").read_text()
