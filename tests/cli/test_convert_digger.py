"""Files of Digger: what plans a root, who may apply it and when stay, or somebody agrees to less."""

from __future__ import annotations

import pytest

from tests.cli.foreign_files import Conversions, said
from tidegate.config.patterns import root_patterns

DIGGER = """\
auto_merge: true
respect_layers: true
projects:
- name: dev
  dir: dev
  branch: main
  include_patterns: ["../modules/**", "shared/*.{tf,hcl}"]
  exclude_patterns: ["../modules/old/**", "dev/docs/*"]
- name: prod
  dir: ./prod
  branch: main
  layer: 1
  opentofu: true
  apply_requirements: [approved]
  workflow: mine
workflows:
  mine:
    env_vars:
      state: [{name: A, value: b$c}]
      commands: []
    plan:
      steps:
      - init: {extra_args: [-backend-config=x.hcl]}
      - run: ./gen.sh $PROJECT_NAME
      - plan:
        extra_args: [-no-color, -var=a=b]
"""


@pytest.fixture
def files(tidegate, tmp_path):
    return Conversions(tidegate, tmp_path)


def test_projects_become_roots_with_their_engines_order_and_requirements(files):
    made, report = files.made(DIGGER, "digger.yml")
    prod = made["dirs"]["prod"]
    assert prod["engine"] == {"name": "tofu"}
    assert prod["tags"] == ["workflow_mine", "requires_approved", "order_1"]
    assert made["stacks"]["names"]["order_1"]["rules"] == {"apply_after": ["order_0"]}
    assert (made["apply"], made["merge_after_apply"]) == ("in_pull_request", "squash")
    assert made["destination_branches"] == ["main"]
    assert made["pull_requests"] == {"drafts": False}
    approved, rest = made["apply_requirements"]["checks"]
    assert approved["approved"] == {"any_of_count": 1}
    assert {"merge_conflicts", "status_checks"} <= rest.keys()
    assert "shared/*.{tf,hcl} is /shared/*.hcl, /shared/*.tf" in said(report, 7)
    assert "merge_after_apply: squash" in said(report, 1)


def test_steps_have_their_options_and_variables_and_an_apply_does_again_what_programs_did(files):
    made, _ = files.made(DIGGER, "digger.yml")
    [workflow] = made["workflows"]
    init, run, plan = workflow["plan"]
    assert init == {"type": "init", "extra_args": ["-backend-config=x.hcl"], "env": {"A": "b$$c"}}
    assert run["cmd"] == ["sh", "-c", "./gen.sh $$TIDEGATE_ROOT"]
    assert plan == {"type": "plan", "extra_args": ["-var=a=b"]}
    assert [step["type"] for step in workflow["apply"]] == ["init", "run", "apply"]


def test_the_same_files_change_a_root_before_and_after(files):
    made, _ = files.made(DIGGER, "digger.yml")
    patterns = root_patterns("dev", made["dirs"]["dev"]["when_modified"]["file_patterns"])
    for file, changes in (
        ("dev/main.tf", True),
        ("dev/sub/any.txt", True),
        ("modules/a/main.tf", True),
        ("modules/old/main.tf", False),
        ("shared/a.tf", True),
        ("shared/a.md", False),
        ("dev/docs/readme.txt", False),
        ("dev/docs/sub/readme.txt", True),
        ("prod/main.tf", False),
    ):
        assert patterns.match(file) == changes, file


def test_directories_that_become_projects_are_patterns_under_dirs(files):
    text = """\
generate_projects:
  blocks:
  - {include: "live/*", exclude: "live/old*", workflow: w, workspace: prod}
  - {include: "{a,b}/x", opentofu: true}
workflows: {w: {}}
"""
    made, _ = files.made(text, "digger.yml")
    assert set(made["dirs"]) == {"live/*", "live/old*", "a/x", "b/x"}
    assert made["dirs"]["live/*"]["workspaces"]["prod"]["tags"] == ["workflow_w"]
    assert made["dirs"]["live/old*"]["when_modified"] == {"file_patterns": [], "autoplan": False}
    assert made["dirs"]["a/x"]["engine"] == {"name": "tofu"}


def test_what_a_merge_applies_is_applied_by_the_merge(files):
    reaction = "{on_pull_request_pushed: [digger plan], on_commit_to_default: [digger apply]}"
    text = f"projects: [{{name: a, dir: a}}]\nworkflows: {{default: {{workflow_configuration: {reaction}}}}}\n"
    made, _ = files.made(text, "digger.yml")
    assert (made["apply"], made["plan_review"]) == ("on_merge", "manual")
    other = "{on_pull_request_pushed: [digger apply], on_commit_to_default: [digger unlock]}"
    text = text.replace(reaction, other)
    assert files.lost(text, "digger.yml") == ["workflows.workflow_configuration.on_pull_request_pushed"]


def test_keys_that_digger_does_not_know_are_told_and_not_another_tool_s(files):
    text = "projects: [{name: a, dir: a, terraform: true}]\n"
    assert "a" in files.made(text, "digger.yml")[0]["dirs"]


LOST = {
    "another engine": ("projects: [{name: a, dir: a, terragrunt: true}]", "projects.terragrunt"),
    "a role": ("projects: [{name: a, dir: a, aws_role_to_assume: {command: x}}]", "projects.aws_role_to_assume"),
    "one state twice": ("projects: [{name: a, dir: a}, {name: b, dir: a}]", "projects.b"),
    "branches that differ": ("projects: [{name: a, dir: a, branch: x}, {name: b, dir: b}]", "projects.branch"),
    "a workflow of nowhere": ("projects: [{name: a, dir: a, workflow: w}]", "workflows.w"),
    "a secret of CI": ("workflows: {w: {env_vars: {state: [{name: A, value_from: B}]}}}", "workflows.env_vars"),
    "a requirement": ("projects: [{name: a, dir: a, apply_requirements: [x]}]", "projects.apply_requirements.x"),
    "an exception": ("generate_projects: {include: 'a/b/**', exclude: '**/c'}", "generate_projects.exclude"),
    "an unknown step": ("workflows: {w: {plan: {steps: [init, plan, show]}}}", "workflows.steps.show"),
    "an unknown key": ("projects: [{name: a, dir: a, other: 1}]", "projects.other"),
    "masks": ("workflows: {w: {plan: {filter_regex: x, steps: [init, plan]}}}", "workflows.plan.filter_regex"),
    "a variable of CI": ("workflows: {w: {plan: {steps: [init, {plan: , extra_args: [-var=a=$B]}]}}}", "workflows.w.B"),
    "no directory": ("projects: [{name: a}]", "projects.a"),
}  # fmt: skip


@pytest.mark.parametrize(("text", "name"), LOST.values(), ids=LOST)
def test_what_would_grant_more_or_deploy_less_is_an_error(files, text, name):
    assert files.lost(f"{text}\n", "digger.yml", "--from", "digger") == [name]


def test_a_file_that_may_be_of_two_tools_is_told_by_its_name_or_by_the_one_who_asks(files):
    text = "projects: [{name: a, dir: a}]\n"
    assert files.made(text, "digger.yml")[0]["pull_requests"] == {"drafts": False}
    assert "pull_requests" not in files.made(text, "atlantis.yaml")[0]
    result = files.run(text, "other.yaml")
    assert result.exit_code == 1
    assert "--from atlantis or --from digger" in " ".join(result.output.split())
    assert files.made(text, "other.yaml", "--from", "digger")[0]["pull_requests"] == {"drafts": False}
