"""The doctor finds what is missing before a deploy does, and never shows a secret."""

from __future__ import annotations

import json
import os
import re
from collections.abc import Iterator
from functools import cache
from pathlib import Path
from typing import Any

import boto3
import pytest
from botocore.exceptions import ClientError, EndpointConnectionError, NoCredentialsError
from cryptography.hazmat.primitives.asymmetric import rsa
from cryptography.hazmat.primitives.serialization import Encoding, NoEncryption, PrivateFormat
from moto import mock_aws
from typer.testing import CliRunner

from tidegate.setup.rules.app_needs import NEEDED_EVENTS, NEEDED_PERMISSIONS
from tidegate_cli.doctor.builders import base_image
from tidegate_cli.doctor.checks import (
    App,
    AppRefusedError,
    Doctor,
    ForgeUnreachableError,
    ask_github,
    aws_client,
)
from tidegate_cli.doctor.result import Result
from tidegate_cli.main import app as cli
from tidegate_local.moto import quota_shims

REGION = "eu-west-1"
COMPLETE = App(NEEDED_PERMISSIONS, NEEDED_EVENTS, name="Tidegate")
SECRET = "a-webhook-secret-made-at-random"


@pytest.fixture(scope="session")
def pem() -> str:
    key = rsa.generate_private_key(public_exponent=65537, key_size=2048)
    return key.private_bytes(Encoding.PEM, PrivateFormat.TraditionalOpenSSL, NoEncryption()).decode()


@pytest.fixture
def aws(monkeypatch: pytest.MonkeyPatch) -> Iterator[None]:
    for name in [name for name in os.environ if name.startswith("AWS_")]:
        monkeypatch.delenv(name)
    for name in ("AWS_ACCESS_KEY_ID", "AWS_SECRET_ACCESS_KEY"):
        monkeypatch.setenv(name, "testing")
    monkeypatch.setenv("AWS_REGION", REGION)
    monkeypatch.setenv("AWS_DEFAULT_REGION", REGION)
    quota_shims.install()
    with mock_aws():
        yield


@pytest.fixture
def path(tmp_path: Path) -> str:
    builder = tmp_path / "podman"
    builder.write_text("#!/bin/sh\n")
    builder.chmod(0o755)
    return str(tmp_path)


@cache  # A client takes long to make, and is the same in every account that is played.
def _client(service: str) -> Any:
    return boto3.client(service, region_name=REGION)


def _store(name: str, value: object) -> None:
    text = value if isinstance(value, str) else json.dumps(value)
    _client("secretsmanager").create_secret(Name=name, SecretString=text)


def _bootstrap(version: str) -> None:
    _client("ssm").put_parameter(Name="/cdk-bootstrap/hnb659fds/version", Value=version, Type="String")


def _examine(path: str, answer: App | Exception = COMPLETE, region: str = REGION) -> dict[str, Result]:
    def ask(_url: str, _number: str, _key: str) -> App:
        if isinstance(answer, Exception):
            raise answer
        return answer

    doctor = Doctor({}, {"PATH": path, "AWS_REGION": region}, _client, ask)
    return {finding.check: finding for finding in doctor.results()}


def _examine_gitlab(path: str, url: str, **context: str) -> dict[str, Result]:
    environment = {"PATH": path, "AWS_REGION": REGION, "BURRITO_CONTROLLER_GITLABCONFIG_URL": url}
    doctor = Doctor({"forge": "gitlab", **context}, environment, _client, lambda *_: COMPLETE)
    return {finding.check: finding for finding in doctor.results()}


def _refused(code: str, message: str) -> ClientError:
    return ClientError({"Error": {"Code": code, "Message": message}}, "GetCallerIdentity")


@pytest.fixture
def complete(aws: None, pem: str) -> None:
    _store("tidegate/webhook-secret", {"secrets": [SECRET]})
    _store("tidegate/github-app", {"app_id": "42", "private_key": pem})
    _bootstrap("21")


def test_a_complete_account_has_nothing_that_fails(complete: None, path: str):
    found = _examine(path)
    assert not [finding for finding in found.values() if finding.verdict == "fail"]
    assert found["secret tidegate/webhook-secret"].verdict == "ok"
    assert found["secret tidegate/github-app"].verdict == "ok"
    assert found["GitHub App"].verdict == "ok"
    assert found["CDK bootstrap"].found == "Version 21."


def test_another_installation_is_looked_at_by_its_own_names(complete: None, path: str):
    doctor = Doctor({"prefix": "acme"}, {"PATH": path, "AWS_REGION": REGION}, _client, lambda *_: COMPLETE)
    found = {finding.check: finding for finding in doctor.results()}
    assert found["secret acme/webhook-secret"].verdict == "warn"
    assert "`tidegate secret webhook --prefix acme`" in found["secret acme/webhook-secret"].do
    assert "`tidegate secret app --prefix acme " in found["secret acme/github-app"].do


def test_a_secret_with_a_name_of_its_own_is_stored_under_it(complete: None, path: str):
    doctor = Doctor({"webhook_secret_name": "mine"}, {"PATH": path, "AWS_REGION": REGION}, _client, lambda *_: COMPLETE)
    assert "`tidegate secret webhook --name mine`" in {each.check: each for each in doctor.results()}["secret mine"].do


def test_secrets_are_never_shown(complete: None, path: str, pem: str):
    shown = " ".join(f"{finding.found} {finding.do}" for finding in _examine(path).values())
    assert SECRET not in shown
    assert pem.splitlines()[1] not in shown


def test_an_empty_account_is_told_everything_that_is_missing(aws: None, tmp_path: Path):
    found = _examine(str(tmp_path))
    failing = {name for name, finding in found.items() if finding.verdict == "fail"}
    assert failing == {"container builder", "CDK bootstrap"}
    secrets = {"secret tidegate/webhook-secret", "secret tidegate/github-app"}
    assert all(found[name].do for name in failing | secrets)
    assert all("`tidegate setup`" in found[name].do for name in secrets)


def test_one_of_the_apps_secrets_without_the_other_fails(aws: None, path: str):
    _store("tidegate/webhook-secret", {"secrets": [SECRET]})
    found = _examine(path)["secret tidegate/github-app"]
    assert (found.verdict, "tidegate setup" in found.do) == ("fail", False)


@pytest.mark.parametrize(
    "content", ["not json", "[]", {}, {"secrets": []}, {"secrets": "text"}, {"secrets": [""]}, {"secrets": [1]}]
)
def test_a_webhook_secret_of_another_form_fails(aws: None, path: str, content: object):
    _store("tidegate/webhook-secret", content)
    assert _examine(path)["secret tidegate/webhook-secret"].verdict == "fail"


def test_a_short_webhook_secret_is_warned_of(aws: None, path: str):
    _store("tidegate/webhook-secret", {"secrets": ["short"]})
    assert _examine(path)["secret tidegate/webhook-secret"].verdict == "warn"


@pytest.mark.parametrize("content", [{"app_id": "x", "private_key": "PEM"}, {"app_id": "42", "private_key": "PEM"}, {}])
def test_an_app_secret_that_cannot_sign_fails(aws: None, path: str, content: object):
    _store("tidegate/github-app", content)
    found = _examine(path)
    assert found["secret tidegate/github-app"].verdict == "fail"
    assert "GitHub App" not in found


def test_an_app_without_its_permissions_and_events_fails(complete: None, path: str):
    app = App({"checks": "read", "metadata": "read"}, frozenset({"push"}), name="Tidegate")
    finding = _examine(path, app)["GitHub App"]
    assert finding.verdict == "fail"
    assert "checks: write, contents: read, pull_requests: write, statuses: read, the event check_run" in finding.found


def test_members_need_be_readable_only_where_there_is_an_operators_team(complete: None, path: str):
    context = {"operators_team": "acme/operators"}
    doctor = Doctor(context, {"PATH": path, "AWS_REGION": REGION}, _client, lambda *_: COMPLETE)
    finding = next(finding for finding in doctor.results() if finding.check == "GitHub App")
    assert finding.verdict == "fail"
    assert "members: read" in finding.found


def test_what_only_some_repositories_ask_for_is_a_warning(complete: None, path: str):
    found = _examine(path)
    assert found["GitHub App"].verdict == "ok"
    assert found["GitHub App, if wanted"].verdict == "warn"
    for words in (
        "issues: write (Report drift in issues)",
        "contents: write (Merge pull requests after the apply)",
        "actions: write, the event status (Update config repositories",
        "members: read (Name teams in access control)",
    ):
        assert words in found["GitHub App, if wanted"].found
    some = App({**NEEDED_PERMISSIONS, "contents": "write"}, COMPLETE.events, name="Tidegate")
    assert "contents" not in _examine(path, some)["GitHub App, if wanted"].found
    more = {"issues": "write", "actions": "write", "members": "read"}
    every = App({**some.permissions, **more}, COMPLETE.events | {"status"}, name="Tidegate")
    assert "GitHub App, if wanted" not in _examine(path, every)


def test_an_app_that_nobody_can_sign_in_with_is_a_warning(complete: None, path: str):
    assert _examine(path)["sign-in"].verdict == "warn"


def test_an_app_with_its_oauth_client_lets_people_sign_in(aws: None, pem: str, path: str):
    _store("tidegate/github-app", {"app_id": "42", "private_key": pem, "client_id": "x", "client_secret": SECRET})
    found = _examine(path)
    assert found["sign-in"].verdict == "ok"
    assert SECRET not in str(found)


@pytest.mark.parametrize(
    ("content", "verdict"),
    [
        ({"token": "api", "clone_token": "read"}, "ok"),
        ({"token": "api"}, "fail"),
        ({"clone_token": "read", "token": ""}, "fail"),
        ("no json", "fail"),
    ],
)
def test_gitlab_needs_both_tokens(aws: None, path: str, content: object, verdict: str):
    _store("tidegate/gitlab", content)
    found = _examine_gitlab(path, "http://127.0.0.1:9")
    assert found["secret tidegate/gitlab"].verdict == verdict
    assert "secret tidegate/github-app" not in found
    assert "GitHub App" not in found
    assert (found["sign-in"].verdict if verdict == "ok" else "warn") == "warn"
    assert ("this machine reaches" in found["GitLab"].do) if verdict == "ok" else ("GitLab" not in found)


@pytest.mark.parametrize(
    ("error", "do"),
    [
        (_refused("SignatureDoesNotMatch", "Signature expired: 20261124T1 is now earlier than 20261124T2"), "clock"),
        (_refused("SignatureDoesNotMatch", "Signature not yet current: 20261124T3 is still later than"), "clock"),
        (_refused("RequestExpired", "Request has expired."), "clock"),
        (_refused("InvalidClientTokenId", "The security token included in the request is invalid."), "Sign in"),
        (NoCredentialsError(), "Sign in"),
        (EndpointConnectionError(endpoint_url="https://sts.eu-west-9.amazonaws.com"), "the region exists"),
    ],
)
def test_whoever_aws_does_not_know_is_told_why(path: str, error: Exception, do: str):
    class Sts:
        def get_caller_identity(self) -> None:
            raise error

    doctor = Doctor({}, {"PATH": path, "AWS_REGION": REGION}, lambda _: Sts(), lambda *_: COMPLETE)
    *_, last = doctor.results()
    assert (last.check, last.verdict, do in last.do) == ("credentials", "fail", True)


def test_an_app_that_the_forge_refuses_fails(complete: None, path: str):
    assert _examine(path, AppRefusedError("no"))["GitHub App"].verdict == "fail"


def test_a_forge_that_does_not_answer_is_only_a_warning(complete: None, path: str):
    assert _examine(path, ForgeUnreachableError("no"))["GitHub App"].verdict == "warn"


@pytest.mark.parametrize(("version", "verdict"), [("5", "fail"), ("6", "ok"), ("new", "warn")])
def test_an_old_bootstrap_fails(aws: None, path: str, version: str, verdict: str):
    _bootstrap(version)
    assert _examine(path)["CDK bootstrap"].verdict == verdict


def test_the_region_the_quotas_and_ecss_own_role_are_looked_at(complete: None, path: str):
    found = _examine(path)
    assert (found["Fargate vCPUs"].verdict, found["ECS's own role"].verdict) == ("ok", "warn")


def test_a_chosen_container_builder_must_be_there(aws: None, path: str):
    doctor = Doctor({}, {"PATH": path, "AWS_REGION": REGION, "CDK_DOCKER": "finch"}, _client, lambda *_: COMPLETE)
    found = {finding.check: finding for finding in doctor.results()}
    assert found["container builder"].verdict == "fail"
    assert "finch" in found["container builder"].found


def _program(directory: Path, name: str, script: str) -> None:
    program = directory / name
    program.write_text(f"#!/bin/sh\n{script}\n")
    program.chmod(0o755)


def _builder(directory: Path) -> Result:
    environment = {"PATH": str(directory), "AWS_REGION": REGION}
    doctor = Doctor({}, environment, _client, lambda *_: COMPLETE)
    return next(finding for finding in doctor.results() if finding.check == "container builder")


def test_docker_without_its_daemon_is_no_container_builder(aws: None, tmp_path: Path):
    _program(tmp_path, "docker", 'test "$1" = info && echo "Cannot connect to the Docker daemon." >&2; exit 1')
    finding = _builder(tmp_path)
    assert finding.verdict == "fail"
    assert "Cannot connect to the Docker daemon." in finding.found
    assert "Start" in finding.do


def test_another_builder_is_taken_when_docker_does_not_answer(aws: None, tmp_path: Path):
    _program(tmp_path, "docker", "exit 1")
    _program(tmp_path, "podman", "exit 0")
    finding = _builder(tmp_path)
    assert finding.verdict == "ok"
    assert finding.do == "Set CDK_DOCKER=podman."


def test_a_builder_that_never_answers_is_not_waited_for(aws: None, tmp_path: Path, monkeypatch: pytest.MonkeyPatch):
    monkeypatch.setattr("tidegate_cli.doctor.builders._BUILDER_SECONDS", 0.2)
    _program(tmp_path, "docker", "while :; do :; done")
    finding = _builder(tmp_path)
    assert finding.verdict == "fail"
    assert "did not answer" in finding.found


def _architecture(directory: Path, **context: str) -> Result:
    environment = {"PATH": f"{directory}:{os.environ['PATH']}", "AWS_REGION": REGION}
    doctor = Doctor(context, environment, _client, lambda *_: COMPLETE, image="python:3.13")
    return next(finding for finding in doctor.results() if finding.check.startswith("images for"))


def test_an_image_is_tried_on_the_machines_that_it_is_deployed_to(aws: None, tmp_path: Path):
    _program(tmp_path, "docker", 'echo "$@" >> "$0.log"; test "$1" = info || echo aarch64')
    assert _architecture(tmp_path).verdict == "ok"
    tried = (tmp_path / "docker.log").read_text().splitlines()[1]
    assert tried == "run --rm --platform linux/arm64 --entrypoint uname python:3.13 -m"


def test_a_machine_that_lacks_emulation_is_told_how_to_get_it(aws: None, tmp_path: Path):
    _program(tmp_path, "docker", 'test "$1" = info || { echo "exec /usr/bin/uname: exec format error" >&2; exit 255; }')
    finding = _architecture(tmp_path)
    assert finding.verdict == "fail"
    assert "exec format error" in finding.found
    assert "--install arm64" in finding.do
    assert "set `architecture` to x86_64" in finding.do


def test_a_container_of_another_machine_than_asked_for_does_not_count(aws: None, tmp_path: Path):
    _program(tmp_path, "docker", 'test "$1" = info || echo aarch64')
    finding = _architecture(tmp_path, architecture="x86_64")
    assert (finding.check, finding.verdict) == ("images for x86_64", "fail")
    assert "set `architecture` to arm64" in finding.do


def test_an_architecture_that_there_is_not_fails(aws: None, path: str):
    finding = _architecture(Path(path), architecture="riscv")
    assert (finding.verdict, finding.do) == ("fail", "Set it to arm64 or x86_64.")


@pytest.mark.parametrize("script", ["exit 125", "while :; do :; done"])
def test_a_container_that_was_never_started_says_nothing(
    aws: None, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, script: str
):
    monkeypatch.setattr("tidegate_cli.doctor.builders._RUN_SECONDS", 0.2)
    _program(tmp_path, "docker", f'test "$1" = info || {{ {script}; }}')
    assert _architecture(tmp_path).verdict == "warn"


def test_the_image_that_is_tried_is_the_one_that_a_deploy_pulls():
    top = Path(__file__).parents[3]
    image = base_image(top / "runner" / "Dockerfile")
    assert re.fullmatch(r"public\.ecr\.aws/\S+@sha256:[0-9a-f]{64}", image)
    assert base_image(top / "no-such-file") == ""


def test_a_forge_that_cannot_be_reached_is_told_apart_from_a_refusal(pem: str):
    with pytest.raises(ForgeUnreachableError):
        ask_github("http://127.0.0.1:9", "42", pem)


def test_the_command_prints_json_and_exits_1_when_something_fails(aws: None, tmp_path: Path):
    result = CliRunner().invoke(cli, ["doctor", "--json", "--configuration", str(tmp_path / "cdk.json")])
    results = json.loads(result.stdout)["checks"]
    assert result.exit_code == 1
    assert {"check", "verdict", "found", "do"} == set(results[0])
    assert "secret tidegate/webhook-secret" in {finding["check"] for finding in results}


def test_the_region_is_the_one_that_awss_other_tools_take(aws: None, monkeypatch: pytest.MonkeyPatch):
    monkeypatch.delenv("AWS_DEFAULT_REGION")
    assert aws_client("sts").meta.region_name == REGION


def test_context_keys_are_taken_as_by_a_deploy(aws: None, tmp_path: Path):
    command = ["doctor", "--json", "--configuration", str(tmp_path / "cdk.json"), "-c"]
    results = json.loads(CliRunner().invoke(cli, [*command, "forge=gitlab"]).stdout)["checks"]
    assert "secret tidegate/gitlab" in {finding["check"] for finding in results}
    refused = CliRunner().invoke(cli, [*command, "forge"])
    assert (refused.exit_code, "-c KEY=VALUE" in refused.output) == (2, True)


def test_the_command_tells_people_what_to_do(aws: None, tmp_path: Path):
    result = CliRunner().invoke(cli, ["doctor", "--configuration", str(tmp_path / "cdk.json")], env={"COLUMNS": "80"})
    assert result.exit_code == 1
    assert "! warn  secret tidegate/webhook-secret" in result.stdout
    assert "failed" in result.stdout.splitlines()[-1]


def test_a_profile_that_does_not_exist_is_a_finding(aws: None, path: str, monkeypatch: pytest.MonkeyPatch):
    monkeypatch.setenv("AWS_PROFILE", "nope")
    result = CliRunner().invoke(cli, ["doctor", "--json", "--configuration", path])
    results = {finding["check"]: finding for finding in json.loads(result.stdout)["checks"]}
    assert (results["region"]["verdict"], "(nope)" in results["region"]["found"]) == ("fail", True)
    assert "AWS_PROFILE" in results["region"]["do"]


def test_a_pipe_gets_lines_without_blanks_at_their_ends(aws: None, tmp_path: Path):
    result = CliRunner().invoke(cli, ["doctor", "--configuration", str(tmp_path / "cdk.json")])
    assert [line for line in result.stdout.splitlines() if len(line) > 1000] == []
