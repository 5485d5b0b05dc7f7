"""``tidegate smoke``: what it refuses, what its course does when something fails, and that it removes its own alone."""

from __future__ import annotations

import json
import os
import re
import time
from collections.abc import Callable
from dataclasses import replace
from fnmatch import fnmatchcase
from pathlib import Path

import boto3
import pytest
from botocore.exceptions import ClientError
from moto import mock_aws
from typer.testing import CliRunner

from tidegate.config.loader import load_configuration
from tidegate_cli.main import app
from tidegate_cli.problems import Problem, Refused
from tidegate_cli.smoke import checks, cost, removal, trials
from tidegate_cli.smoke.course import Step, StepFailed, StepSkipped, Within, run
from tidegate_cli.smoke.forge import FILE, NOWHERE, Scratch, configuration, module
from tidegate_cli.smoke.leftovers import leftovers
from tidegate_cli.smoke.names import Names, is_prefix, new_names
from tidegate_cli.smoke.permissions import ACTIONS
from tidegate_cli.smoke.places import App, _ended
from tidegate_cli.smoke.remembered import remembered
from tidegate_cli.smoke.scene import Scene
from tidegate_local.forge.client import ForgeClient
from tidegate_local.forge.server import Forge
from tidegate_local.forge.settings import app_key

NAMES = Names("smoke-0a1b2c3d")
TOP = Path(__file__).parents[2]


def invoke(*arguments, environ=None):
    none = {"TIDEGATE_TOKEN": "", "GITHUB_TOKEN": "", "AWS_REGION": "us-east-1", "AWS_EC2_METADATA_DISABLED": "true"}
    return CliRunner().invoke(app, ["smoke", *arguments], env={**none, **(environ or {})})


@pytest.mark.parametrize(
    ("arguments", "said"),
    [
        ([], "--repository, --app-id or --app-key is missing"),
        (["--destroy", "tidegate"], "'tidegate' is not the prefix of a smoke test"),
        (["--destroy", "smoke-0A1B2C3D"], "is not the prefix of a smoke test"),
        (["--local", "--repository", "acme/scratch"], "--local makes its own repository and App"),
        (["--local", "-c", "prefix=tidegate"], "sets prefix"),
        (["--local", "-c", "architecture"], "A context key has no value"),
        (["--local", "-c", "kms_key=create"], "A key that the stack makes would stay"),
        (["--local", "-c", "forge=gitlab"], "The smoke test needs GitHub"),
    ],
)
def test_what_cannot_be_used_is_refused_before_anything_happens(arguments, said):
    result = invoke(*arguments)
    assert result.exit_code == 2, result.output
    assert said in result.output
    assert "Traceback" not in result.output


def test_outside_of_a_checkout_nothing_begins(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    result = invoke("--repository", "acme/scratch", "--app-id", "1", "--app-key", "missing.pem")
    assert result.exit_code == 1
    assert "no checkout of Tidegate" in result.output


def test_a_prefix_is_told_from_those_of_others():
    assert is_prefix(new_names().prefix)
    assert not any(map(is_prefix, ("tidegate", "smoke", "smoke-0a1b2c3", "smoke-0a1b2c3d-x", "smoke-0a1b2c3dd")))
    ours = ("smoke-0a1b2c3d", "smoke-0a1b2c3d-plan:1", "Smoke-0a1b2c3d-StorageTable", "smoke-0a1b2c3d/github-app")
    others = ("smoke-0a1b2c3d0", "tidegate-smoke-0a1b2c3d", "smoke-0a1b2c3e-plan", "/aws/lambda/x-smoke-0a1b2c3d")
    assert all(map(NAMES.is_ours, (*ours, "/aws/vendedlogs/states/smoke-0a1b2c3d-deploy")))
    assert not any(map(NAMES.is_ours, others))
    assert len(NAMES.state_bucket("123456789012", "ap-southeast-1")) <= 63


def course(*acts, cleaning=()):
    """Run steps that are called by numbers, and return their verdicts and what they said."""
    steps = [Step(str(number), 1, act) for number, act in enumerate(acts)]
    cleaners = [Step(f"clean {number}", 1, act) for number, act in enumerate(cleaning)]
    return [(each.step, each.verdict, each.said) for each in run(steps, cleaners, 0, lambda *_: None)]


def raising(error):
    def act(_within):
        raise error

    return act


@pytest.mark.parametrize(
    ("error", "said"),
    [
        (StepFailed("Nothing came.", "there"), "Nothing came."),
        (Refused("It is refused."), "It is refused."),
        (
            ClientError({"Error": {"Code": "AccessDenied", "Message": "no"}}, "PutObject"),
            "AWS answered: .*AccessDenied",
        ),
        (OSError("no space"), "This machine failed: no space"),
        (KeyError("WebhookUrl"), "Internal error .KeyError"),
        (KeyboardInterrupt(), "You pressed Ctrl-C."),
    ],
)
def test_whatever_a_step_fails_with_the_others_are_skipped_and_all_is_cleaned(error, said):
    told = course(lambda _: "well", raising(error), lambda _: "never", cleaning=[lambda _: "clean"])
    assert [verdict for _, verdict, _ in told] == ["passed", "failed", "skipped", "passed"]
    assert re.match(said, told[1][2])


def test_what_cannot_be_cleaned_keeps_nothing_else_from_being_cleaned():
    told = course(raising(StepSkipped("no task")), cleaning=[raising(Problem("stays")), lambda _: "clean"])
    assert [verdict for _, verdict, _ in told] == ["skipped", "failed", "passed"]


def test_a_second_interruption_ends_the_cleaning_too():
    with pytest.raises(KeyboardInterrupt):
        course(raising(KeyboardInterrupt()), cleaning=[raising(KeyboardInterrupt())])


def test_a_step_that_is_too_late_says_what_it_saw():
    with pytest.raises(StepFailed, match="It is queued") as late:
        Within(0, 0).until(lambda: None, lambda: "It is queued.", "the queue")
    assert late.value.look_at == "the queue"


def test_the_estimate_is_of_cents_and_grows_with_the_time():
    assert 0.005 < cost.estimate() < 0.10
    assert cost.estimate(7200) > cost.estimate(60)


class Account:
    """An account in which somebody else has things, too."""

    pause, hold, region = 0.0, 1, "us-east-1"

    def client(self, service):
        return boto3.client(service, region_name=self.region)

    def make(self, prefix):
        self.client("dynamodb").create_table(
            TableName=f"{prefix.capitalize()}-StorageTable",
            KeySchema=[{"AttributeName": "pk", "KeyType": "HASH"}],
            AttributeDefinitions=[{"AttributeName": "pk", "AttributeType": "S"}],
            BillingMode="PAY_PER_REQUEST",
            DeletionProtectionEnabled=True,
        )
        s3 = self.client("s3")
        for bucket in (f"{prefix}-storageartifacts", f"{prefix}-states-123456789012-us-east-1"):
            s3.create_bucket(Bucket=bucket)
            s3.put_bucket_versioning(Bucket=bucket, VersioningConfiguration={"Status": "Enabled"})
            for _ in range(2):
                s3.put_object(Bucket=bucket, Key="a", Body=b"1")
            s3.delete_object(Bucket=bucket, Key="a")
        self.client("logs").create_log_group(logGroupName=f"/aws/vendedlogs/states/{prefix}-deploy")
        self.client("sqs").create_queue(QueueName=f"{prefix}-alarm-probe")
        self.client("secretsmanager").create_secret(Name=f"{prefix}/github-app", SecretString="{}")
        container = {"name": "runner", "image": "x", "memory": 64}
        self.client("ecs").register_task_definition(family=f"{prefix}-plan", containerDefinitions=[container])

    def has(self, names):
        return [(each.kind, each.name) for each in leftovers(self.client, names)]


@pytest.fixture
def account(monkeypatch):
    for name in ("AWS_ACCESS_KEY_ID", "AWS_SECRET_ACCESS_KEY"):
        monkeypatch.setenv(name, "testing")
    monkeypatch.setenv("AWS_DEFAULT_REGION", "us-east-1")
    monkeypatch.delenv("AWS_ENDPOINT_URL", raising=False)
    with mock_aws():
        yield Account()


def test_everything_with_the_prefix_is_removed_and_nothing_else(account):
    neighbour = Names("smoke-0a1b2c3e")
    for names in (NAMES, neighbour):
        account.make(names.prefix)
    kept = account.has(neighbour)
    assert [kind for kind, _ in account.has(NAMES)] == [
        *("table", "log group", "queue", "task definition", "secret", "bucket", "bucket"),
    ]
    scene = remembered(NAMES, account, lambda: "never asked for")
    within = Within(10, 0)
    assert "2 buckets" in removal.delete_leftovers(scene, within)
    assert account.has(NAMES) == []
    assert removal.see_nothing(scene, within) == "No resource with the prefix is left."
    assert account.has(neighbour) == kept


def test_a_prefix_that_something_has_is_refused_and_the_removal_is_named(account):
    account.client("secretsmanager").create_secret(Name=NAMES.app_secret, SecretString="{}")
    scene = Scene(NAMES, account, Scratch(App("", "", "", "", ""), ""), {})
    with pytest.raises(Refused, match="secret smoke-0a1b2c3d/github-app exists") as refused:
        checks.refuse_taken(scene)
    assert refused.value.hint == "tidegate smoke --destroy smoke-0a1b2c3d removes it."


def test_a_removal_of_nothing_skips_what_is_not_there(account):
    scene = remembered(NAMES, account, lambda: "never asked for")
    acts = (removal.release_webhook, removal.clean_repository, removal.stop_work, removal.delete_stack)
    for act in acts:
        with pytest.raises(StepSkipped):
            act(scene, Within(1, 0))
    assert removal.delete_leftovers(scene, Within(1, 0)) == "Nothing."


def test_what_another_account_remembers_in_a_bucket_of_this_name_is_not_read(account, monkeypatch):
    asked = []
    make = account.client

    def client(service):
        made = make(service)
        made.meta.events.register("before-parameter-build.s3.GetObject", lambda params, **_: asked.append(dict(params)))
        return made

    monkeypatch.setattr(account, "client", client)
    remembered(NAMES, account, lambda: "never asked for")
    assert [each.get("ExpectedBucketOwner") for each in asked] == ["123456789012"]


@pytest.mark.parametrize(("program", "seconds", "code"), [("exit 3", 60, 3), ("sleep 60; true", 1, None)])
def test_a_deploy_that_takes_too_long_is_ended_with_all_that_it_started(tmp_path, program, seconds, code):
    with (tmp_path / "log").open("wb") as log:
        assert _ended(["sh", "-c", f"echo $$; {program}"], os.environ, log, seconds) == code
    group = int((tmp_path / "log").read_text())
    # A killed process is in its group until its new parent has read its exit code.
    until = time.monotonic() + 10
    while _is_there(group) and time.monotonic() < until:
        pass
    assert not _is_there(group)


def _is_there(group):
    try:
        os.killpg(group, 0)
    except ProcessLookupError:
        return False
    return True


@pytest.fixture(scope="module")
def key(tmp_path_factory):
    """One key for all forges: making one takes longer than a test."""
    return app_key(tmp_path_factory.mktemp("app"))


@pytest.fixture
def scratch(tmp_path, key):
    (tmp_path / "forge").mkdir()
    (tmp_path / "forge/app-private-key.pem").write_text(key)
    with Forge(tmp_path / "forge") as forge:
        person = ForgeClient(forge.url)
        person.create_repository("smoke/scratch")
        person.point_webhook_at(NOWHERE, "nobody's")
        known = App(str(forge.settings.app_id), forge.app_private_key, forge.url, forge.api_url, token="maintainer")
        yield Scratch(known, "smoke/scratch")


def test_what_was_committed_is_deleted_and_what_others_committed_stays(scratch):
    assert "is installed on smoke/scratch" in scratch.check()
    scratch.push({"README.md": "Ours.\n"}, "Begin")
    scratch.push({f"{NAMES.root}/main.tf": "", FILE: configuration(NAMES.prefix)}, "Deploy")
    with pytest.raises(Refused, match="has files of an earlier smoke test") as refused:
        scratch.check()
    assert refused.value.hint == f"tidegate smoke --destroy {NAMES.prefix}"
    assert not scratch.clean("smoke-0a1b2c3e")
    assert scratch.clean(NAMES.prefix)
    assert not scratch.clean(NAMES.prefix)
    assert "is installed on" in scratch.check()


def test_a_repository_and_an_app_that_others_use_are_refused(scratch):
    scratch.point_webhook_at("https://tidegate.acme.test/webhooks/github", "theirs")
    with pytest.raises(Refused, match=r"sends its webhooks to tidegate\.acme\.test, which would get none"):
        scratch.check()
    scratch.point_webhook_at("https://not-example.com/", "theirs")
    with pytest.raises(Refused, match="sends its webhooks to not-example"):
        scratch.check()
    scratch.point_webhook_at(NOWHERE, "nobody's")
    scratch.push({FILE: "version: 1\n"}, "Configure")
    with pytest.raises(Refused, match="the test would deploy its roots"):
        scratch.check()


@pytest.fixture
def commit(scratch, tmp_path):
    """Commit a tree as somebody who may push to the repository."""

    def commit(make: Callable[[Path], object]) -> None:
        (tmp_path / "other").mkdir()
        tree = scratch._clone(tmp_path / "other")
        make(tree)
        scratch._git(tree, "add", "--all")
        scratch._git(tree, "commit", "--quiet", "-m", "Set a trap")
        scratch._git(tree, "push", "--quiet", "origin", "HEAD:main")

    scratch.push({"README.md": "Ours.\n"}, "Begin")
    return commit


@pytest.mark.parametrize("there", [True, False])
def test_a_configuration_that_is_a_link_is_refused_and_never_written_through(scratch, commit, tmp_path, there):
    target = tmp_path / "of-the-person"
    if there:
        target.write_text("")
    commit(lambda tree: (tree / FILE).symlink_to(target))
    with pytest.raises(Refused, match=rf"smoke/scratch has {FILE} as a link"):
        scratch.check()
    with pytest.raises(StepFailed, match=f"{FILE} is a link in smoke/scratch"):
        scratch.push({FILE: configuration(NAMES.prefix)}, "Deploy")
    assert (target.read_text() if there else target.exists()) == ("" if there else False)


def test_nothing_is_deleted_through_a_link(scratch, commit, tmp_path):
    (tmp_path / "home").mkdir()
    (tmp_path / "home/key").write_text("mine")
    commit(lambda tree: (tree / NAMES.prefix).symlink_to(tmp_path / "home"))
    with pytest.raises(StepFailed, match=f"{NAMES.prefix} is a link"):
        scratch.clean(NAMES.prefix)
    assert (tmp_path / "home/key").read_text() == "mine"


@pytest.mark.parametrize("token", ["visitor", "outsider", "nobody"])
def test_a_token_that_may_not_push_is_refused(scratch, token):
    weak = Scratch(replace(scratch.app, token=token), "smoke/scratch")
    with pytest.raises(Refused, match=r"may not push|GitHub answered GET /repos/smoke/scratch with"):
        weak.check()


def test_an_app_that_is_not_installed_is_refused(scratch):
    with pytest.raises(Refused, match="GitHub answered GET /repos/acme/nothing/installation with 404") as refused:
        Scratch(scratch.app, "acme/nothing").check()
    assert "Install" in refused.value.hint


def test_no_token_is_in_what_git_says(scratch):
    strange = Scratch(App("1", "", scratch.app.forge_url, scratch.app.api_url, "s3cret"), "smoke/scratch")
    with pytest.raises(StepFailed) as failed:
        strange._clone(TOP / "tests")
    assert "s3cret" not in failed.value.seen


@pytest.mark.parametrize("hold", [0, 90])
def test_the_configuration_is_one_that_tidegate_takes(hold):
    loaded = load_configuration(configuration(NAMES.prefix, hold).encode(), "smoke/scratch")
    assert NAMES.root in repr(loaded)


def test_the_root_needs_no_provider():
    text = module("bucket", "key", "us-east-1", "one", "sleep 1")
    assert "terraform_data" in text
    assert "provider " not in text


def statements():
    """Return the statements of the policy that the document gives to the caller."""
    text = (TOP / "docs/smoke.md").read_text(encoding="utf-8")
    return json.loads(text.partition("```json\n")[2].partition("```")[0])["Statement"]


def test_the_policy_of_the_document_allows_the_caller_what_is_called():
    known = {"account": "111122223333", "region": "eu-west-1", "prefix": NAMES.prefix, "stack": NAMES.stack}
    denied = [
        (action, resource)
        for resource, actions in ((each.format(**known), actions) for each, actions in ACTIONS.items())
        for action in actions
        if not any(action in each["Action"] and fits(resource, each["Resource"]) for each in statements())
    ]
    assert denied == []


def test_the_policy_of_the_document_allows_nothing_that_nothing_calls():
    allowed = {action for each in statements() for action in each["Action"]}
    others = {"sts:AssumeRole", "ssm:GetParameter", "iam:GetRole", "iam:SimulatePrincipalPolicy"}
    assert allowed == {action for actions in ACTIONS.values() for action in actions} | others


def test_the_policy_of_the_document_names_no_resource_of_others():
    acting = [each for each in statements() if not all(":List" in x or ":Describe" in x for x in each["Action"])]
    every = [resource for each in acting for resource in listed(each["Resource"])]
    assert [each for each in every if not re.search("[sS]moke-|/cdk-|^\\*$", each)] == []


def listed(value):
    return [value] if isinstance(value, str) else value


def fits(resource, patterns):
    return any(fnmatchcase(resource, pattern) for pattern in listed(patterns))


class Planned:
    """What a smoke test sees of a deployment whose plan was begun by these tasks, each given as its job."""

    names, outputs = NAMES, {"Cluster": "smoke"}

    def __init__(self, kind, tasks):
        self.context, self.tasks = {"plan_runner": kind}, tasks

    def client(self, _service):
        return self

    def list_tasks(self, *, cluster, desiredStatus):
        return {"taskArns": self.tasks if (cluster, desiredStatus) == ("smoke", "STOPPED") else []}

    def describe_tasks(self, *, tasks, **_):
        variables = [[{"name": "TIDEGATE_JOB", "value": each}] for each in tasks]
        return {"tasks": [{"overrides": {"containerOverrides": [{"environment": each}]}} for each in variables]}

    def where(self, deployment):
        return f"the page of {deployment}"


@pytest.mark.parametrize(
    ("kind", "tasks", "said"),
    [
        ("fargate", ["d-plan-1"], "Fargate"),
        ("lambda", ["d-apply-1", "e-plan-1"], "Lambda"),
        ("auto", [], "Lambda"),
        ("auto", ["d-plan-1"], "Fargate"),
    ],
)
def test_a_report_says_where_a_plan_ran(kind, tasks, said):
    assert trials.plan_runner(Planned(kind, tasks), "d") == said


@pytest.mark.parametrize("job", ["d-plan-1", "d-plan-2"])
def test_a_plan_that_lambda_should_have_made_and_fargate_made_fails_the_step(job):
    with pytest.raises(StepFailed, match="plan_runner is lambda, and its plan ran on Fargate") as failed:
        trials.plan_runner(Planned("lambda", [job]), "d")
    assert failed.value.look_at == "the page of d"
