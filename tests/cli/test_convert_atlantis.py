"""Files of Atlantis: what plans a root, who may apply it and in which order stay, or somebody agrees to less."""

from __future__ import annotations

import posixpath
import re

import pytest
from hypothesis import given
from hypothesis import strategies as st

from tests.chance import examples
from tests.cli.foreign_files import ATLANTIS, Conversions, said
from tidegate.config.loader import load_configuration
from tidegate.config.patterns import root_patterns
from tidegate.deploys.rules.workflow_rules import substituted
from tidegate.documents.document import read_document
from tidegate_cli.converting.formats import draft_of
from tidegate_cli.converting.kind import Kind


@pytest.fixture
def files(tidegate, tmp_path):
    return Conversions(tidegate, tmp_path)


def atlantis(*projects, rest=""):
    return f"version: 3\nprojects: [{', '.join(projects)}]\n{rest}"


def test_projects_become_roots_with_their_engines_patterns_and_requirements(files):
    made, report = files.made(ATLANTIS, "atlantis.yaml")
    net = made["dirs"]["live/net"]
    assert net["engine"] == {"name": "terraform", "version": "1.5.7"}
    assert net["when_modified"]["file_patterns"] == ["*.tf", "../modules/**/*.tf"]
    assert net["tags"] == ["workflow_mine", "requires_approved_mergeable_undiverged", "order_0"]
    spaces = made["dirs"]["live/app"]["workspaces"]
    assert spaces["staging"] == {"name": "app", "tags": ["order_2"]}
    assert spaces["prod"]["when_modified"] == {"autoplan": False, "depends_on": "name:net"}
    assert spaces["prod"]["engine"] == {"name": "tofu"}
    for line, words in (
        (2, "merge_after_apply: true"),
        (3, "apply: in_pull_request"),
        (9, "an approval is required, too"),
        (14, "order_2 already comes after order_0"),
        (15, "order_2"),
        (17, "/live/app is live/app"),
        (21, "A change of a dependency now also runs the root"),
        (31, "multienv"),
    ):
        assert words in said(report, line)


def test_projects_of_a_group_are_applied_after_those_of_smaller_groups(files):
    made, _ = files.made(ATLANTIS, "atlantis.yaml")
    assert made["stacks"]["names"] == {
        "order_0": {"tag_query": "order_0"},
        "order_2": {"tag_query": "order_2", "rules": {"apply_after": ["order_0"]}},
    }


def test_an_apply_does_again_what_programs_did_before_the_plan(files):
    made, _ = files.made(ATLANTIS, "atlantis.yaml")
    [workflow] = made["workflows"]
    assert [step["type"] for step in workflow["plan"]] == ["env", "env", "init", "run", "plan", "env"]
    assert workflow["plan"][4] == {"type": "plan", "extra_args": ["-var-file=x.tfvars"]}
    assert workflow["apply"] == [*workflow["plan"][:4], {"type": "apply"}]


def test_who_need_not_approve_is_not_guessed(files):
    nothing, strict = {"undiverged": {"enabled": False}}, {"approved", "merge_conflicts", "undiverged", "tag_query"}
    made, report = files.made(atlantis("{dir: a}", "{dir: b, apply_requirements: []}"), "atlantis.yaml")
    check, rest = made["apply_requirements"]["checks"]
    assert check == {"tag_query": "requires_nothing", **nothing}
    assert (rest["tag_query"], set(rest)) == ("", strict)
    assert "an approval" in said(report, 2)
    made, report = files.made(atlantis("{dir: a}"), "atlantis.yaml")
    assert "apply_requirements" not in made
    assert "Tidegate's defaults apply" in said(report, 2)
    made, _ = files.made(atlantis("{dir: a, apply_requirements: [mergeable]}"), "atlantis.yaml")
    assert made["apply_requirements"]["checks"][0]["approved"] == {"any_of_count": 1}


LOST = {
    "autoplan's unknown key": (atlantis("{dir: a, autoplan: {other: 1}}"), "projects.autoplan.other"),
    "a branch of one project": (atlantis("{dir: a, branch: /main/}", "{dir: b}"), "projects.branch"),
    "a directory outside": (atlantis("{dir: ../a}"), "projects.dir"),
    "a directory that is a pattern": (atlantis("{dir: 'a/{b,c}'}"), "projects.dir"),
    "a project without directory": (atlantis("{name: a}"), "projects.a"),
    "a range of versions": (atlantis("{dir: a, terraform_version: '>= 1.5'}"), "projects.terraform_version"),
    "a workflow of the server": (atlantis("{dir: a, workflow: theirs}"), "workflows.theirs"),
    "an unknown distribution": (atlantis("{dir: a, terraform_distribution: x}"), "projects.terraform_distribution"),
    "an unknown requirement": (atlantis("{dir: a, apply_requirements: [x]}"), "projects.apply_requirements.x"),
    "policies of its own": (atlantis("{dir: a, custom_policy_check: true}"), "projects.custom_policy_check"),
    "policies of the file": ("version: 3\npolicies: {}\n", "policies"),
    "a dependency on nothing": (atlantis("{dir: a, depends_on: [b]}"), "projects.depends_on"),
    "a plan that waits": (atlantis("{dir: a, plan_requirements: [approved]}"), "projects.plan_requirements"),
    "one state twice": (atlantis("{dir: a}", "{dir: a/, name: b}"), "projects.b"),
    "an exception for more": (
        atlantis("{dir: a, autoplan: {when_modified: ['!x**']}}"),
        "projects.autoplan.when_modified",
    ),
    "a policy_check": ("version: 3\nworkflows: {w: {policy_check: {steps: [show]}}}\n", "workflows.policy_check"),
    "an unknown key": ("version: 3\nother: 1\n", "other"),
}  # fmt: skip


@pytest.mark.parametrize(("text", "name"), LOST.values(), ids=LOST)
def test_what_would_grant_more_or_deploy_less_is_an_error(files, text, name):
    assert files.lost(text, "atlantis.yaml", "--from", "atlantis") == [name]


@pytest.mark.parametrize(
    ("steps", "name"),
    [
        ("[init, {plan: {extra_args: [-target=x]}}]", "workflows.plan.steps.plan.extra_args"),
        ("[init, {plan: {extra_args: ['-var=n=$PULL_NUM']}}]", "workflows.w.PULL_NUM"),
        ("[init, {plan: {extra_args: ['-var-file=$DIR/x']}}]", "workflows.w.DIR"),
        ("[init, {plan: {extra_args: ['-var-file=$MINE/x']}}]", "workflows.w.MINE"),
        ("[init, {plan: {extra_args: ['-var=a=$(date)']}}]", "workflows.plan.steps.plan.extra_args"),
        ("[init, {run: ./x $USER_NAME}, plan]", "workflows.w.USER_NAME"),
        ("[init, {run: {command: x, output: hide}}, plan]", "workflows.steps.output"),
        ("[init, plan, {other: 1}]", "workflows.steps.other"),
        ("[{run: x}]", "workflows.w"),
    ],
)
def test_a_workflow_does_not_run_with_less_than_it_had(files, steps, name):
    text = atlantis("{dir: a, workflow: w}", rest=f"workflows: {{w: {{plan: {{steps: {steps}}}}}}}\n")
    assert files.lost(text, "atlantis.yaml") == [name]


def test_options_that_change_nothing_are_dropped_with_why(files):
    steps = "[{init: {extra_args: [-input=false]}}, {plan: {extra_args: [-lock=false, -no-color, -parallelism, 3]}}]"
    apply = "[{apply: {extra_args: [-auto-approve, -var-file=x]}}]"
    text = f"version: 3\nworkflows: {{default: {{plan: {{steps: {steps}}}, apply: {{steps: {apply}}}}}}}\n"
    made, report = files.made(text, "atlantis.yaml")
    assert made["workflows"][0]["plan"] == [{"type": "init"}, {"type": "plan", "extra_args": ["-parallelism=3"]}]
    assert made["workflows"][0]["apply"] == [{"type": "apply"}]
    assert "Tidegate always locks the state" in said(report, 2)


def test_options_are_the_words_that_a_shell_makes_of_them(files):
    steps = """
    - env: {name: ENV, command: ./env.sh}
    - init: {extra_args: ['-backend-config="role_arn=x"', -upgrade=false, -reconfigure=true]}
    - plan: {extra_args: ["-var 'a=b c'", -var-file=$ENV.tfvars]}
"""
    made, _ = files.made(f"version: 3\nworkflows:\n default:\n  plan:\n   steps:{steps}", "atlantis.yaml")
    _, init, plan = made["workflows"][0]["plan"]
    assert init["extra_args"] == ["-backend-config=role_arn=x", "-reconfigure"]
    assert plan["extra_args"] == ["-var=a=b c", "-var-file=$ENV.tfvars"]


def test_patterns_that_lead_out_of_the_repository_match_nothing_as_before(files):
    when = "{when_modified: ['*.tf', ../x/**, '!../../y']}"
    made, report = files.made(atlantis(f"{{dir: ., autoplan: {when}}}"), "atlantis.yaml")
    assert made["dirs"]["."]["when_modified"]["file_patterns"] == ["*.tf"]
    assert "outside of the repository" in said(report, 2)


def test_a_workflow_that_cannot_run_goes_as_a_whole_with_the_names_of_its_roots(files):
    text = atlantis("{dir: a, workflow: w}", "{dir: b, name: bee, workflow: w}")
    text += "workflows: {w: {apply: {steps: [{run: terragrunt apply}]}}}\n"
    made, report = files.made(text, "atlantis.yaml", "--lossy", "workflows.w")
    assert not made.get("workflows")
    [lost] = [each["text"] for each in report if each["lossy"]]
    assert "it has no apply step" in lost
    assert "its roots (a, bee) are planned and applied with the engine's default init, plan and apply." in lost


def test_variables_are_those_of_tidegate_and_the_shell_s_own_are_left_to_the_shell(files):
    text = (
        "version: 3\nworkflows:\n  default:\n    plan:\n      steps:\n"
        '      - run: echo $PROJECT_NAME ${WORKSPACE} $DIR $(date) "$mine" < $PLANFILE $SHOWFILE\n'
        "      - init\n      - plan: {extra_args: ['-var-file', '$WORKSPACE.tfvars']}\n"
        "      - env: {name: PRICE, value: '5 $US'}\n"
        "      - run: {command: print(1), shell: python3, shellArgs: [-I, -c]}\n"
    )
    made, _ = files.made(text, "atlantis.yaml")
    run, _, plan, env, script = made["workflows"][0]["plan"]
    shell = 'echo $TIDEGATE_ROOT ${TIDEGATE_WORKSPACE} $PWD $(date) "$mine" < $TIDEGATE_PLAN_FILE $TIDEGATE_PLAN_JSON'
    assert substituted(run["cmd"][-1], {}) == shell
    assert plan["extra_args"] == ["-var-file=$TIDEGATE_WORKSPACE.tfvars"]
    assert substituted(env["cmd"][-1], {}) == "5 $US"
    assert script["cmd"] == ["python3", "-I", "-c", "print(1)"]


@pytest.mark.parametrize(
    ("text", "dirs"),
    [
        ("version: 3\n", None),
        (atlantis("{dir: a}"), {"a"}),
        (atlantis("{dir: a}", rest="autodiscover: {mode: enabled, ignore_paths: ['old/**']}"), {"a", "**", "old/**"}),
        ("version: 3\nautodiscover: {ignore_paths: [old]}\n", {"**", "old"}),
        ("version: 3\nautodiscover: {mode: disabled}\n", set()),
    ],
)
def test_the_roots_are_those_that_atlantis_finds(files, text, dirs):
    made, _ = files.made(text, "atlantis.yaml")
    assert (set(made["dirs"]) if "dirs" in made else None) == dirs
    if dirs and "old/**" in dirs:
        assert made["dirs"]["old/**"]["when_modified"] == {"file_patterns": [], "autoplan": False}


def test_names_that_roots_cannot_have_are_changed_where_others_depend_on_them_too(files):
    made, report = files.made(atlantis("{dir: a, name: a=1}", "{dir: b, name: b, depends_on: [a=1]}"), "atlantis.yaml")
    assert made["dirs"]["a"]["name"] == "a-1"
    assert made["dirs"]["b"]["when_modified"]["depends_on"] == "name:a-1"
    assert "a=1 is named a-1" in said(report, 2)


@pytest.mark.parametrize(
    ("branch", "names"),
    [("/^main$/", ["main"]), ("/^(main|dev)$/", ["main", "dev"]), ("/^release/", ["release*"]), ("/x/", ["*x*"])],
)
def test_branches_that_all_projects_name_are_those_that_are_planned(files, branch, names):
    made, _ = files.made(atlantis(f"{{dir: a, branch: '{branch}'}}"), "atlantis.yaml")
    assert made["destination_branches"] == names


@pytest.mark.parametrize(
    "text",
    [
        "projects: {a: b}",
        "projects: []\nworkflows: {a: [1, 2]}",
        "version: 1\n",
        *(f"projects: [{{dir: a, {key}: [[x]]}}]" for key in ("name", "workspace", "workflow", "terraform_version")),
        *(f"projects: [{{dir: a, {key}: {{a: b}}}}]" for key in ("apply_requirements", "depends_on")),
        "projects: [{dir: [a]}]",
        "autodiscover: {mode: other}",
        "projects: [{dir: a, execution_order_group: x}]",
        "projects: [{dir: a, custom_policy_check: x}]",
    ],
)
def test_what_stands_where_atlantis_has_something_else_is_refused(files, text):
    result = files.run(text, "atlantis.yaml", "--from", "atlantis")
    assert result.exit_code == 1
    assert "cannot be read" in result.output


def matched_by_atlantis(directory, patterns, file):
    """Tell whether a file is meant, as Docker's patterns are read: joined to the directory, the last one decides."""
    found = False
    for written in patterns:
        sign, rest = ("!", written[1:]) if written.startswith("!") else ("", written)
        joined = posixpath.normpath(f"{directory}/{rest}")
        expression = ""
        for part in re.split(r"(\*\*/?|\*|\?)", joined):
            expression += {"**": ".*", "**/": "(.*/)?", "*": "[^/]*", "?": "[^/]"}.get(part, re.escape(part))
        parents = [file.rsplit("/", n)[0] for n in range(file.count("/") + 1)]
        if any(re.fullmatch(expression, each) for each in [file, *parents]):
            found = not sign
    return found


_PARTS = st.sampled_from(["*.tf", "**", "*.tf*", "main.tf", "sub", "mod", "a?c", "**.tf", ".terraform.lock.hcl"])
_PATTERN = st.builds(
    lambda sign, start, parts: sign + start + "/".join(parts),
    st.sampled_from(["", "", "!"]),
    st.sampled_from(["", "", "../", "./", "/", "../../"]),
    st.lists(_PARTS, min_size=1, max_size=3),
)
_FILE = st.lists(st.sampled_from(["live", "app", "mod", "sub", "abc", "main.tf", "x.tfvars"]), min_size=1, max_size=5)


@examples(400)
@given(patterns=st.lists(_PATTERN, max_size=4), files=st.lists(_FILE.map("/".join), min_size=1, max_size=6))
def test_the_same_files_change_a_root_before_and_after(patterns, files):
    text = f"version: 3\nprojects: [{{dir: live/app, autoplan: {{when_modified: {patterns!r}}}}}]"
    draft = draft_of(read_document("atlantis.yaml", text.encode()), Kind.ATLANTIS)
    when = draft.content["dirs"]["live/app"]["when_modified"]["file_patterns"]
    after = root_patterns("live/app", when)
    for file in files:
        assert after.match(file) == matched_by_atlantis("live/app", patterns, file), (patterns, when, file)


def test_what_changes_a_project_that_does_not_say_it_is_as_before(files):
    made, _ = files.made(atlantis("{dir: live/app}"), "atlantis.yaml")
    loaded = load_configuration(str({"when_modified": made["when_modified"]}).encode(), "acme/live")
    after = root_patterns("live/app", loaded.when_modified)
    for file in ("main.tf", "sub/x.tfvars", "sub/.terraform.lock.hcl", "a.tofu.json", "terragrunt.hcl", "README.md"):
        assert after.match(f"live/app/{file}") == (file != "README.md")
    assert not after.match("live/main.tf")
