"""``tidegate convert``: files of Atlantis and Terrateam become a file that is always usable; the rest is told."""

from __future__ import annotations

import json

import pytest
import yaml
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from tests.cli.foreign_files import ATLANTIS, TERRATEAM
from tidegate.config.loader import load_configuration
from tidegate.domain.deploys.workflow_rules import substituted


@pytest.fixture
def convert(tidegate, tmp_path):
    """Convert a text; return the file as data, and what was told on stderr."""

    def run(text, name, *words):
        file = tmp_path / name
        file.write_text(text)
        result = tidegate("convert", str(file), *words)
        assert result.exit_code == 0, result.output
        load_configuration(result.stdout.encode(), "acme/live")
        return yaml.safe_load(result.stdout), result.stderr

    return run


def test_projects_of_atlantis_become_roots_with_their_workflows_and_requirements(convert):
    made, told = convert(ATLANTIS, "atlantis.yaml")
    net = made["dirs"]["live/net"]
    assert net["engine"] == {"name": "terraform", "version": "1.5.7"}
    assert net["when_modified"]["file_patterns"] == ["*.tf", "../modules/**/*.tf"]
    assert net["tags"] == ["workflow_mine", "requires_approved_mergeable_undiverged"]
    spaces = made["dirs"]["live/app"]["workspaces"]
    assert spaces["staging"] == {"name": "app", "when_modified": {"depends_on": "name:net"}}
    assert spaces["prod"]["when_modified"] == {"autoplan": False}
    assert spaces["prod"]["engine"] == {"name": "tofu"}
    check, rest = made["apply_requirements"]["checks"]
    assert check["approved"] == {"any_of_count": 1}
    assert check["undiverged"] == {"enabled": True}
    assert rest == {"tag_query": "", "undiverged": {"enabled": False}}
    (workflow,) = made["workflows"]
    assert workflow["tag_query"] == "workflow_mine"
    assert workflow["plan"] == [
        {"type": "run", "cmd": ["sh", "-c", "./check.sh | tee log"]},
        {"type": "env", "name": "FOO", "cmd": ["sh", "-c", "echo bar"]},
        {"type": "env", "name": "FIXED", "cmd": ["printf", "%s", "text"]},
        {"type": "init"},
        {"type": "plan", "extra_args": ["-var-file=x.tfvars"]},
    ]
    for line, words in (
        (2, "merge_after_apply: true"),
        (3, "apply: in_pull_request"),
        (14, "depends_on"),
        (15, "execution_order_group"),
        (21, "live/net has a root in the workspace default already"),
        (32, "multienv"),
    ):
        assert any(f":{line}: " in each and words in each for each in told.splitlines()), (line, words, told)


def test_what_atlantis_applies_before_the_merge_is_applied_there_and_merged_where_the_file_merges(convert):
    made, told = convert("projects: [{dir: a, apply_requirements: [approved]}]\nautomerge: true\n", "atlantis.yaml")
    assert (made["apply"], made["merge_after_apply"]) == ("in_pull_request", True)
    assert made["apply_requirements"]["checks"][0]["undiverged"] == {"enabled": False}
    assert "without this key, a merge applies" in told
    made, told = convert("projects: [{dir: a}]\nautomerge: false\n", "atlantis.yaml")
    assert made["apply"] == "in_pull_request"
    assert not {"merge_after_apply", "apply_requirements"} & made.keys()
    assert "automerge" not in told
    assert ":1: apply_requirements: no project has any" in told


@pytest.mark.parametrize(
    ("text", "words"),
    [
        ("automerge: squash", ":1: automerge: merge_after_apply takes"),
        ("parallel_plan: true", ":1: parallel_plan: it is always so"),
        ("parallel_apply: true", ":1: parallel_apply: it is always so"),
        ("projects: [{dir: a, custom_policy_check: true}]", "policy_sets in place of it; docs/policies.md"),
        (
            "workflows: {w: {policy_check: {steps: [show]}}}",
            "workflow w: policy_check: plans are held against policy_sets",
        ),
        ("projects: [{dir: a, apply_requirements: [policies_passed]}]", "policies_passed: it is always required"),
        ("projects: [{dir: a, apply_requirements: [other]}]", "apply_requirements: other: it is not known"),
    ],
)
def test_what_atlantis_says_otherwise_is_told_with_the_key_that_means_it(convert, text, words):
    assert words in convert(f"{text}\n", "atlantis.yaml")[1]


PLAINLY = "planned and applied by the engine's plain init, plan and apply."


@pytest.mark.parametrize(
    ("steps", "why"),
    [
        (
            "{plan: {steps: [{run: x}]}, apply: {steps: [{run: y}]}}",
            "no step init; apply: this cannot be run: it has no",
        ),
        ("{plan: {steps: [show]}}", "plan: "),
        ("{apply: {steps: [{run: terragrunt apply}]}}", "apply: this cannot be run: it has no step apply"),
    ],
)
def test_a_workflow_that_cannot_run_is_left_out_whole_by_its_name_and_with_its_roots(convert, steps, why):
    text = (
        f"projects: [{{dir: a, workflow: gone}}, {{dir: b, name: bee, workflow: gone}}]\nworkflows:\n  gone: {steps}\n"
    )
    made, told = convert(text, "atlantis.yaml")
    assert "workflows" not in made or made["workflows"] == []
    [line] = [each for each in told.splitlines() if "not carried over" in each]
    assert ":3: workflow gone is not carried over: " in line
    assert why in line
    assert line.endswith(f"tag_query: workflow_gone, its roots (a, bee) are {PLAINLY}")


def test_what_runs_the_roots_of_a_workflow_that_is_left_out_is_told(convert):
    left_out = "{apply: {steps: [{run: x}]}}"
    kept = "{plan: {steps: [init, {plan: {extra_args: [-lock=false]}}]}}"
    made, told = convert(f"workflows:\n  a: {left_out}\n  b: {kept}\n  default: {{}}\n", "atlantis.yaml")
    assert [each["tag_query"] for each in made["workflows"]] == ["workflow_b", ""]
    assert "workflow_a, its roots are planned and applied by the workflow default." in told
    assert ":3: workflow b: plan.1.extra_args.0: " in told
    _, told = convert(f"workflows: {{default: {left_out}}}\n", "atlantis.yaml")
    assert f"tag_query: '', roots without a workflow are {PLAINLY}" in told


def test_a_workflow_that_only_the_server_knows_is_told_of_each_project_that_has_it(convert):
    text = "projects:\n- {dir: a, workflow: theirs}\n- {dir: b, workflow: default}\n"
    _, told = convert(text, "atlantis.yaml")
    [line] = [each for each in told.splitlines() if "workflow theirs" in each]
    assert ":2: project a: workflow theirs is not in this file. " in line
    assert line.endswith(f"tag_query: workflow_theirs, its root is {PLAINLY}")
    assert "workflow default" not in told


def test_a_file_of_terrateam_keeps_what_means_the_same_and_what_holds_without_being_said(convert):
    made, told = convert(TERRATEAM, "config.yml")
    assert made["engine"] == {"version": "1.5.7"}
    assert made["when_modified"]["file_patterns"] == ["**/*.tf", "!./docs/**", "/modules/**/*.tf"]
    assert made["dirs"]["envs/*"] == {"tags": ["env"]}
    assert made["dirs"]["live/prod"]["when_modified"] == {"file_patterns": ["./*.tf"]}
    assert made["stacks"]["names"]["prod"]["rules"] == {"apply_after": ["dev"]}
    (check,) = made["apply_requirements"]["checks"]
    assert check["merge_conflicts"] == check["status_checks"] == {"enabled": True}
    assert made["workflows"][0]["plan"] == [{"type": "init"}, {"type": "plan"}]
    for line, words in ((3, "automerge"), (10, "WORKSPACE"), (13, "unknown"), (18, "group:none"), (27, "oidc")):
        assert any(f":{line}: " in each and words in each for each in told.splitlines()), (line, words, told)


def test_variables_of_atlantis_are_those_of_tidegate_and_the_shell_s_own_are_left_to_the_shell(convert):
    text = (
        "projects: [{dir: a}]\nworkflows:\n  default:\n    plan:\n      steps:\n"
        '      - run: echo $PROJECT_NAME ${WORKSPACE} $DIR $(date) "$mine" < $PLANFILE\n'
        "      - init\n      - plan: {extra_args: ['-var-file', '$WORKSPACE.tfvars']}\n"
        "      - env: {name: PRICE, value: '5 $US'}\n"
    )
    made, told = convert(text, "atlantis.yaml")
    run, _, plan, env = made["workflows"][0]["plan"]
    shell = 'echo $TIDEGATE_ROOT ${TIDEGATE_WORKSPACE} $PWD $(date) "$mine" < $TIDEGATE_PLAN_FILE'
    assert substituted(run["cmd"][-1], {}) == shell
    assert plan["extra_args"] == ["-var-file=$TIDEGATE_WORKSPACE.tfvars"]
    assert substituted(env["cmd"][-1], {}) == "5 $US"
    assert "counterpart" not in told


@pytest.mark.parametrize(
    ("step", "words"),
    [
        ("run: ./comment.sh $PULL_NUM", "$PULL_NUM of Atlantis has no counterpart"),
        ("env: {name: A, command: 'echo $USER_NAME'}", "$USER_NAME of Atlantis has no counterpart"),
        ("plan: {extra_args: ['-var-file=$DIR/x.tfvars']}", "$DIR of Atlantis has no counterpart"),
        ("run: terraform show -json $PLANFILE", "terraform need not be there for programs"),
    ],
)
def test_what_a_command_of_atlantis_will_not_find_is_told_with_its_line(convert, step, words):
    _, told = convert(f"projects: [{{dir: a}}]\nworkflows:\n  w:\n    plan: {{steps: [{{{step}}}]}}\n", "atlantis.yaml")
    assert f":4: workflow w: {words}" in told


def test_what_terrateam_never_plans_is_never_planned_by_itself(convert):
    made, told = convert("dirs:\n  legacy: {when_modified: {file_patterns: []}}\n", "config.yml")
    assert made["dirs"]["legacy"]["when_modified"] == {"file_patterns": []}
    assert "Everything was carried over" in told


@pytest.mark.parametrize(
    ("engine", "expected"),
    [
        ("", {"version": "1.5.7"}),
        ("engine: {name: terraform}", {"name": "terraform", "version": "1.5.7"}),
        ("engine: {name: tofu}", {"name": "tofu"}),
        ("engine: {tf_version: 1.6.0}", {"tf_version": "1.6.0"}),
    ],
)
def test_the_default_version_is_the_engine_s_or_told_to_be_another(convert, engine, expected):
    made, told = convert(f"default_tf_version: 1.5.7\n{engine}\n", "config.yml")
    assert made["engine"] == expected
    assert (":1: default_tf_version" in told) == ("1.5.7" not in expected.values())


def test_the_one_schedule_of_drift_gets_a_name_and_looks_only_where_it_is_enabled(convert):
    made, _ = convert("drift: {schedule: weekly, reconcile: true}\n", "config.yml")
    weekly = {"tag_query": "", "schedule": "weekly", "reconcile": True}
    assert made["drift"] == {"enabled": False, "schedules": {"default": weekly}}
    named = "{a: {tag_query: '', schedule: daily}}"
    made, told = convert(f"drift: {{enabled: true, schedule: weekly, schedules: {named}}}\n", "config.yml")
    assert made["drift"]["enabled"] is True
    assert set(made["drift"]["schedules"]) == {"a"}
    assert ":1: drift.schedule: " in told


@pytest.mark.parametrize(
    ("text", "words"),
    [
        ("automerge: {enabled: true}", "automerge: this is not in Tidegate: people merge"),
        ("when_modified: {autoapply: true}", "when_modified.autoapply: this is not in Tidegate: a merge deploys"),
        ("workflows: [{tag_query: '', runs_on: x}]", "runs_on: this is not in Tidegate: each job has a Fargate task"),
        ("workflows: [{tag_query: '', plan: [{type: oidc}]}]", "plan.0 (oidc): this is not in Tidegate: runners have"),
    ],
)
def test_what_only_terrateam_has_is_told_with_what_there_is_in_its_place(convert, text, words):
    assert words in convert(f"{text}\n", "config.yml")[1]


def test_a_right_that_cannot_be_carried_over_is_granted_to_nobody(convert):
    made, _ = convert(TERRATEAM, "config.yml")
    policy = made["access_control"]["policies"][0]
    assert (policy["apply"], policy["plan"]) == (["team:sre"], [])


GUARDING = {
    "a policy": "access_control: {policies: [{tag_query: 'prod and (', apply: ['team:sre']}, {tag_query: ''}]}",
    "all policies": "access_control: {policies: {a: b}}",
    "a check": "apply_requirements: {checks: [{tag_query: 'prod and ('}, {tag_query: ''}]}",
    "who approves": "apply_requirements: {checks: [{tag_query: '', approved: {enabled: true, any_of: ['bad name:']}}]}",
    "a gate": "stacks: {names: {dev: {tag_query: dev}, prod: {tag_query: prod, rules: {apply_after: [nope]}}}}",
    "what waits": "stacks: {names: {prod: {tag_query: prod, rules: {auto_apply: maybe}}}}",
    "a stack": "stacks: {names: {dev: {tag_query: 'dev and ('}}}",
}


@pytest.mark.parametrize("text", GUARDING.values(), ids=GUARDING)
def test_what_guards_something_is_never_left_out(tidegate, tmp_path, text):
    (tmp_path / "config.yml").write_text(text)
    result = tidegate("convert", str(tmp_path / "config.yml"), "--output", str(tmp_path / "tidegate.yaml"))
    assert result.exit_code == 1
    assert "config.yml:1: " in result.output
    assert not (tmp_path / "tidegate.yaml").exists()


def test_an_unknown_key_of_a_stack_leaves_the_stack_and_its_gates(convert):
    text = "stacks:\n  names:\n    dev: {tag_query: dev, type: x}\n"
    made, told = convert(f"{text}    prod: {{tag_query: prod, rules: {{apply_after: [dev]}}}}\n", "config.yml")
    assert made["stacks"]["names"]["dev"] == {"tag_query": "dev"}
    assert made["stacks"]["names"]["prod"]["rules"] == {"apply_after": ["dev"]}
    assert ":3: stacks.names.dev.type" in told


@pytest.mark.parametrize(
    "text",
    [
        "projects: {a: b}",
        "projects: []\nworkflows: [1, 2]",
        *(f"projects: [{{dir: a, {key}: [[x]]}}]" for key in ("name", "workspace", "workflow", "terraform_version")),
        *(f"projects: [{{dir: a, {key}: {{a: b}}}}]" for key in ("apply_requirements", "depends_on")),
        "projects: [{dir: [a]}]",
    ],
)
def test_what_stands_where_atlantis_has_something_else_is_refused(tidegate, tmp_path, text):
    (tmp_path / "atlantis.yaml").write_text(text)
    result = tidegate("convert", str(tmp_path / "atlantis.yaml"))
    assert result.exit_code == 1
    assert "mistake of its own" not in result.output
    assert "cannot be read" in result.output


def test_many_mistakes_are_taken_out_together(convert):
    made, told = convert("dirs:\n" + "".join(f"  d{n}: {{wrong: 1}}\n" for n in range(600)), "config.yml")
    assert len(made["dirs"]) == 600
    assert told.count("wrong") >= 600


def test_a_file_of_nothing_but_mistakes_is_refused_and_not_read_for_ever(tidegate, tmp_path, monkeypatch):
    monkeypatch.setattr("cli.converting.draft._MOST_READINGS", 2)
    (tmp_path / "config.yml").write_text("dirs:\n" + "".join(f"  d{n}: {{wrong: 1}}\n" for n in range(201)))
    result = tidegate("convert", str(tmp_path / "config.yml"))
    assert result.exit_code == 1
    assert "more than 200 of its values cannot be used" in " ".join(result.output.split())


@pytest.mark.parametrize("key", ["name", "workspace", "terraform_version"])
def test_a_number_longer_than_any_is_text(tidegate, tmp_path, key):
    (tmp_path / "atlantis.yaml").write_text(f"projects: [{{dir: a, {key}: {'9' * 5000}}}]")
    result = tidegate("convert", str(tmp_path / "atlantis.yaml"))
    assert "mistake of its own" not in result.output
    assert result.exit_code == 0


def test_what_aliases_make_far_too_long_is_refused(tidegate, tmp_path):
    text = f"x: &a {'y' * 400_000}\nprojects: [{{dir: a, depends_on: [{'*a, ' * 50_000}]}}]"
    (tmp_path / "atlantis.yaml").write_text(text)
    result = tidegate("convert", str(tmp_path / "atlantis.yaml"))
    assert (result.exit_code, "too much text" in result.output) == (1, True)


def test_a_file_that_is_there_is_overwritten_only_by_force(tidegate, tmp_path):
    source, output = tmp_path / "atlantis.yaml", tmp_path / "tidegate.yaml"
    source.write_text(ATLANTIS)
    output.write_text("mine")
    result = tidegate("convert", str(source), "--output", str(output))
    assert (result.exit_code, output.read_text()) == (1, "mine")
    assert "--force" in result.output
    assert tidegate("convert", str(source), "--output", str(output), "--force").exit_code == 0
    assert tidegate("validate", str(output)).exit_code == 0
    assert sorted(path.name for path in tmp_path.iterdir() if path.is_file()) == ["atlantis.yaml", "tidegate.yaml"]


def test_json_has_the_file_and_what_is_left_out(tidegate, tmp_path):
    (tmp_path / "atlantis.yaml").write_text(ATLANTIS)
    document = json.loads(tidegate("convert", str(tmp_path / "atlantis.yaml"), "--json").stdout)
    assert document["content"].startswith("version: 1\n")
    assert document["left_out"][0]["line"] == 2


@pytest.mark.parametrize("text", ["", "- a\n", "a: [\n", "\x00", "a: 1\na: 2\n", "<<: {a: 1}\n"])
def test_what_is_no_configuration_is_refused(tidegate, tmp_path, text):
    (tmp_path / "atlantis.yaml").write_text(text)
    assert tidegate("convert", str(tmp_path / "atlantis.yaml")).exit_code == 1
    assert tidegate("convert", str(tmp_path / "none.yaml")).exit_code == 3


_INNER = """
    name dir workspace tags steps run env plan apply init names tag_query rules apply_after workspaces type cmd
    when_modified file_patterns depends_on enabled approved checks policies autoplan extra_args
"""
_OUTER = """
    version projects workflows dirs stacks access_control apply_requirements when_modified engine hooks
    tags drift destination_branches enabled default_tf_version automerge
"""
_VALUES = st.recursive(
    st.none() | st.booleans() | st.integers(-3, 3) | st.sampled_from(["a", "prod", "", "${DIR}/*.tf", "*.tf", "../x"]),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.sampled_from(_INNER.split()), inner, max_size=4),
    max_leaves=12,
)
_FILES = st.dictionaries(st.sampled_from(_OUTER.split()), _VALUES, min_size=1, max_size=4)


@settings(max_examples=150, suppress_health_check=list(HealthCheck))
@given(content=_FILES, name=st.sampled_from(["atlantis.yaml", "config.yml"]))
def test_whatever_is_in_a_file_what_comes_out_is_usable(tidegate, tmp_path, content, name):
    (tmp_path / name).write_text(yaml.safe_dump(content))
    result = tidegate("convert", str(tmp_path / name))
    assert "mistake of its own" not in result.output, content
    assert result.exit_code in {0, 1}
    if result.exit_code == 0:
        load_configuration(result.stdout.encode(), "acme/live")
