"""Exports of HCP Terraform and Spacelift: roots of one repository, with their states, variables and reviews in mind."""

from __future__ import annotations

import json

import pytest

from tests.cli.foreign_files import Conversions, said

REPOSITORY = {"identifier": "acme/live", "branch": "", "ingress-submodules": False, "tags-regex": None}


@pytest.fixture
def files(tidegate, tmp_path):
    return Conversions(tidegate, tmp_path)


def workspace(name="net", place="live/net", **attributes):
    given = {"name": name, "working-directory": place, "vcs-repo": REPOSITORY, **attributes}
    return {"id": f"ws-{name}", "type": "workspaces", "attributes": given}


def variable(of="net", **attributes):
    owner = {"configurable": {"data": {"id": f"ws-{of}", "type": "workspaces"}}}
    return {"id": "var-1", "type": "vars", "attributes": attributes, "relationships": owner}


REGION = variable(key="region", value="eu", category="terraform", sensitive=False, hcl=False)
AGREED = ("--lossy", "states")


def export(*items, **more):
    return json.dumps({"data": [*items], **more}, indent=1)


def test_workspaces_become_roots_with_their_files_versions_and_reviews(files):
    one = workspace(**{"terraform-version": "1.9.5", "auto-apply": True, "trigger-prefixes": ["/modules", "shared"]})
    two = workspace("app", "", **{"trigger-patterns": ["/app/**/*.tf"], "auto-apply": False})
    made, report = files.made(export(one, two, REGION), "workspaces.json", *AGREED)
    net, app = made["dirs"]["live/net"], made["dirs"]["."]
    assert net["engine"] == {"name": "terraform", "version": "1.9.5"}
    assert net["when_modified"]["file_patterns"] == ["**", "/modules/**", "/shared/**"]
    assert (net["plan_review"], app["plan_review"]) == ("manual", "always")
    assert app["when_modified"]["file_patterns"] == ["/app/**/*.tf"]
    assert made["apply"] == "on_merge"
    assert "everything would be created a second time" in said(report, 1)


def test_variables_are_options_of_plans_and_of_programs(files):
    values = variable(key="LEVEL", value="a$b", category="env", sensitive=False)
    made, _ = files.made(json.dumps([json.loads(export(workspace())), {"data": [REGION, values]}]), "w.json", *AGREED)
    [workflow] = made["workflows"]
    assert workflow["tag_query"] == "name:net"
    assert workflow["plan"][1] == {"type": "plan", "extra_args": ["-var=region=eu"], "env": {"LEVEL": "a$$b"}}
    assert workflow["apply"] == [{"type": each, "env": {"LEVEL": "a$$b"}} for each in ("init", "apply")]


def test_workspaces_of_one_directory_are_workspaces_there(files):
    made, _ = files.made(export(workspace("dev"), workspace("prod"), variable("dev", key="a", value="b",
                         category="terraform")), "w.json", *AGREED)  # fmt: skip
    assert set(made["dirs"]["live/net"]["workspaces"]) == {"dev", "prod"}


def test_an_export_of_several_repositories_needs_the_name_of_one(files):
    other = workspace("other", **{"vcs-repo": {"identifier": "acme/other"}})
    text = export(workspace(), other, REGION)
    result = files.run(text, "w.json", *AGREED)
    assert result.exit_code == 1
    assert "acme/live, acme/other" in result.output
    made, _ = files.made(text, "w.json", "--repository", "acme/live", *AGREED)
    assert set(made["dirs"]) == {"live/net"}
    assert files.run(text, "w.json", "--repository", "acme/none").exit_code == 1


LOST = {
    "a lock": (workspace(locked=True), "workspaces.locked"),
    "states alone": (workspace(**{"execution-mode": "local"}), "workspaces.execution-mode"),
    "a branch": (workspace(**{"vcs-repo": {**REPOSITORY, "branch": "main"}}), "workspaces.vcs-repo.branch"),
    "tags": (workspace(**{"vcs-repo": {**REPOSITORY, "tags-regex": "v.*"}}), "workspaces.vcs-repo.tags-regex"),
    "no plans": (workspace(**{"speculative-enabled": False}), "workspaces.speculative-enabled"),
    "a range": (workspace(**{"terraform-version": "~> 1.5"}), "data.attributes.terraform-version"),
    "what is new": (workspace(**{"new-thing": True}), "workspaces.new-thing"),
}


@pytest.mark.parametrize(("one", "name"), LOST.values(), ids=LOST)
def test_what_a_workspace_would_lose_is_an_error(files, one, name):
    assert files.lost(export(one, REGION), "w.json") == ["states", name]


def test_variables_pages_and_workspaces_that_are_not_there_are_an_error(files):
    assert files.lost(export(workspace()), "w.json", *AGREED) == ["variables"]
    secret = variable(key="a", value=None, category="env", sensitive=True)
    assert files.lost(export(workspace(), secret), "w.json", *AGREED) == ["variables.sensitive"]
    pages = export(workspace(), REGION, meta={"pagination": {"total-pages": 3}})
    assert files.lost(pages, "w.json", *AGREED) == ["pages"]
    loose = workspace("cli", **{"vcs-repo": None})
    assert files.lost(export(workspace(), loose, REGION), "w.json", *AGREED) == ["workspaces.without-repository"]


BLUEPRINT = """\
stacks:
- key: net
  name: net
  auto_deploy: true
  vcs: {provider: GITHUB, namespace: acme, repository: live, project_root: live/net, project_globs: ["modules/**"]}
  vendor: {terraform: {manage_state: false, version: 1.5.7, workflow_tool: OPEN_TOFU}}
  environment: {variables: [{name: TF_VAR_region, value: eu}]}
  hooks: {init: {before: [make gen]}, apply: {after: [./tell.sh]}}
  schedules: {drift: {cron: ["0 4 * * *"], reconcile: true}}
- key: app
  name: the app
  depends_on: [net]
  vcs: {provider: GITHUB, namespace: acme, repository: live}
  vendor: {terraform: {manage_state: false, workspace: prod}}
"""


def test_stacks_of_spacelift_become_roots_with_their_hooks_variables_and_drift(files):
    made, _ = files.made(BLUEPRINT, "blueprint.yaml")
    net = made["dirs"]["live/net"]
    assert net["engine"] == {"name": "tofu", "version": "1.5.7"}
    assert net["when_modified"]["file_patterns"] == ["**", "/modules/**"]
    assert net["plan_review"] == "manual"
    assert made["dirs"]["."]["workspaces"]["prod"]["name"] == "the-app"
    assert made["dirs"]["."]["workspaces"]["prod"]["when_modified"]["depends_on"] == "name:net"
    assert made["drift"]["schedules"]["net"] == {"tag_query": "name:net", "schedule": "daily", "reconcile": True}
    [workflow] = made["workflows"]
    assert [step["type"] for step in workflow["plan"]] == ["run", "init", "plan"]
    assert [step["type"] for step in workflow["apply"]] == ["run", "init", "apply", "run"]
    assert all(step["env"] == {"TF_VAR_region": "eu"} for step in workflow["plan"])


def test_stacks_of_another_repository_are_left_out_and_change_nothing_of_the_others(files):
    other = "- {key: first, name: first, vcs: {namespace: acme, repository: other}, vendor: {terraform: {}}}\n"
    made, _ = files.made(BLUEPRINT.replace("- key: net", f"{other}- key: net"), "b.yaml", "--repository", "acme/live")
    assert made["dirs"]["."]["workspaces"]["prod"]["when_modified"]["depends_on"] == "name:net"
    assert set(made["dirs"]) == {"live/net", "."}
    nowhere = "- {key: first, name: first, vendor: {terraform: {}}}\n"
    assert files.lost(BLUEPRINT.replace("- key: net", f"{nowhere}- key: net"), "b.yaml") == [
        "stacks.without-repository"
    ]


RUNTIME = """\
version: "1"
stack_defaults:
  before_init: [tflint]
  environment: {A: b}
stacks:
  first: &shared
    before_apply: [hostname]
    project_root: infra
    terraform_version: 0.12.4
  second:
    <<: *shared
    project_root: other
    environment: {B: c}
"""


def test_the_runtime_configuration_of_spacelift_says_what_runs_around_each_stack(files):
    made, _ = files.made(RUNTIME, "config.yml", *AGREED)
    assert set(made["dirs"]) == {"infra", "other"}
    first, second = made["workflows"]
    assert [step["type"] for step in first["apply"]] == ["run", "init", "run", "apply"]
    assert (first["plan"][0]["env"], second["plan"][0]["env"]) == ({"A": "b"}, {"B": "c"})
    assert files.lost(RUNTIME, "config.yml") == ["states"]
    other = RUNTIME.replace("  environment: {A: b}", "  plan: [x]")
    assert files.lost(other, "config.yml", *AGREED) == ["stacks.plan"]
    nowhere = "stack_defaults: {before_init: [tflint]}\n"
    assert files.lost(nowhere, "config.yml", *AGREED) == ["stacks"]


@pytest.mark.parametrize(
    ("old", "new", "name"),
    [
        ("manage_state: false, version", "manage_state: true, version", "states"),
        ("auto_deploy: true", "is_disabled: true", "stacks.is_disabled"),
        ("auto_deploy: true", "space: prod", "stacks.space"),
        ("auto_deploy: true", "runner_image: x", "stacks.runner_image"),
        ("auto_deploy: true", "attachments: {policies: [a]}", "stacks.attachments"),
        ("auto_deploy: true", "other: 1", "stacks.other"),
        ("project_root: live/net", "project_root: '${{ inputs.a }}'", "templates"),
        ("value: eu", "value: eu, secret: true", "stacks.environment.secret"),
        ("namespace: acme, repository: live, project", "namespace: acme, repository: live, branch: x, project",
         "stacks.vcs.branch"),
        ("workflow_tool: OPEN_TOFU", "workflow_tool: CUSTOM", "stacks.vendor.terraform.workflow_tool"),
        ("{terraform: {manage_state: false, workspace: prod}}", "{pulumi: {}}", "stacks.vendor.pulumi"),
        ("make gen", "export A=b", "stacks.hooks.exports"),
        ("drift: {cron", "tasks: [], drift: {cron", ""),
        ("drift: {cron", "tasks: [{command: x}], drift: {cron", "stacks.schedules.tasks"),
    ],
)  # fmt: skip
def test_what_a_stack_would_lose_is_an_error(files, old, new, name):
    assert old in BLUEPRINT
    text = BLUEPRINT.replace(old, new, 1)
    assert name in (files.lost(text, "blueprint.yaml") if name else [""])
