"""Files of Terrateam: rights, requirements and roots are as before, or somebody agrees to less."""

from __future__ import annotations

import pytest

from tests.cli.foreign_files import TERRATEAM, Conversions, said
from tidegate.config.loader import load_configuration


@pytest.fixture
def files(tidegate, tmp_path):
    return Conversions(tidegate, tmp_path)


def test_what_means_the_same_is_kept_and_what_holds_without_being_said_is_written(files):
    made, report = files.made(TERRATEAM, "config.yml")
    assert made["engine"] == {"version": "1.5.7"}
    assert made["when_modified"]["file_patterns"] == ["**/*.tf", "!docs/**", "/modules/**/*.tf"]
    assert made["dirs"]["envs/*"] == {"tags": ["env"]}
    assert made["dirs"]["live/prod"]["when_modified"] == {"file_patterns": ["*.tf", "/*.tfvars"]}
    assert made["dirs"]["**"] == {"root": True}
    assert made["stacks"]["names"]["prod"]["rules"] == {"apply_after": ["dev"]}
    (check,) = made["apply_requirements"]["checks"]
    assert check["merge_conflicts"] == check["status_checks"] == {"enabled": True}
    assert made["workflows"][0]["plan"] == [{"type": "init"}, {"type": "plan"}]
    assert (made["apply"], made["merge_after_apply"]) == ("in_pull_request", True)
    for line, words in (
        (1, "apply: in_pull_request"),
        (3, "merge_after_apply: true"),
        (6, "added '**'"),
        (16, "each policy has its own unlock"),
        (19, "grants it to nobody"),
        (28, "Tidegate applies the reviewed plan"),
    ):
        assert words in said(report, line), (line, words)


ACCESS = {
    "nobody says": ("{unlock: ['team:sre']}", (("*",), ("*",), ("team:sre",))),
    "a policy": (
        "{unlock: ['repo:admin'], policies: [{tag_query: '', apply: ['user:ann']}]}",
        (("*",), ("user:ann",), ("role:admin",)),
    ),
    "nobody may": ("{unlock: [], policies: [{tag_query: '', plan: []}]}", ((), ("*",), ())),
    "who is unknown": ("{unlock: ['group:x'], policies: [{tag_query: ''}]}", (("*",), ("*",), ())),
    "who cannot be read": ("{unlock: 7, policies: [{tag_query: '', apply: {a: b}}]}", (("*",), (), ())),
}


@pytest.mark.parametrize(("access", "may"), ACCESS.values(), ids=ACCESS)
def test_the_same_people_may_plan_apply_and_unlock_before_and_after(files, access, may):
    result = files.run(f"access_control: {access}\n", "config.yml")
    assert result.exit_code == 0, result.output
    [policy] = load_configuration(result.stdout.encode(), "acme/live").policies or ()
    assert (policy.access.plan, policy.access.apply, policy.access.unlock) == may


LOST = {
    "who may force": "access_control: {policies: [{tag_query: '', apply_force: ['team:a'], apply: ['team:b']}]}",
    "who changes the file": "access_control: {terrateam_config_update: ['team:a'], policies: [{tag_query: ''}]}",
    "who changes files": "access_control: {files: {x: ['team:a']}, policies: [{tag_query: ''}]}",
    "a policy": "access_control: {policies: [{tag_query: 'prod and (', apply: ['team:sre']}, {tag_query: ''}]}",
    "all policies": "access_control: {unlock: ['team:a'], policies: {a: b}}",
    "a check": "apply_requirements: {checks: [{tag_query: 'prod and ('}, {tag_query: ''}]}",
    "who approves": "apply_requirements: {checks: [{tag_query: '', approved: {enabled: true, any_of: ['bad name:']}}]}",
    "whose reviews": "apply_requirements: {checks: [{tag_query: '', approved: {require_completed_reviews: true}}]}",
    "a merge": "apply_requirements: {checks: [{tag_query: a, apply_after_merge: {enabled: true}}, {tag_query: b}]}",
    "a gate": "stacks: {names: {dev: {tag_query: dev}, prod: {tag_query: prod, rules: {apply_after: [nope]}}}}",
    "what waits": "stacks: {names: {prod: {tag_query: prod, rules: {auto_apply: maybe}}}}",
    "a stack": "stacks: {names: {dev: {tag_query: 'dev and ('}}}",
    "a rule": "stacks: {names: {dev: {tag_query: dev, rules: {other: 1}}}}",
    "the whole": "enabled: false\ndirs: {a: {}}",
    "what merges": "dirs: {a: {when_modified: {autoapply: true}}}",
    "which directories": "tree_builder: {enabled: true, script: x}",
    "another workspace": "dirs: {a: {create_and_select_workspace: false}}",
    "one directory twice": "dirs: {'a/*.tf': {}, a/: {}, 'a': {tags: [x]}}",
    "an engine": "engine: {name: terragrunt}",
    "credentials": "workflows: [{tag_query: '', plan: [{type: oidc}, {type: init}, {type: plan}]}]",
    "a judgement": "workflows: [{tag_query: '', plan: [{type: init}, {type: plan}, {type: conftest}]}]",
    "a variable": "hooks: {plan: {pre: [{type: run, cmd: [x, $TERRATEAM_ROOT]}]}}",
    "letters of Lua": "tags: {branch: {a: '^[%w]+$'}}",
    "an exception": "dirs: {a: {when_modified: {file_patterns: ['!${WORKSPACE}.tf']}}}",
    "an unknown key": "dirs: {a: {other: 1}}",
}  # fmt: skip


@pytest.mark.parametrize("text", LOST.values(), ids=LOST)
def test_what_would_grant_more_or_deploy_less_is_an_error(files, text):
    assert files.lost(f"{text}\n", "config.yml", "--from", "terrateam")


@pytest.mark.parametrize(
    ("text", "words"),
    [
        ("when_modified: {autoplan_draft_pr: true}", "this is the default"),
        ("workflows: [{tag_query: '', runs_on: x}]", "runs_on: each job runs in its own Fargate task"),
        ("cost_estimation: {enabled: true}", "cost_estimation: run Infracost in a step of the workflow"),
        ("indexer: {enabled: true}", "indexer: Tidegate finds and follows the local modules of a root"),
        (
            "access_control: {superapproval: ['*'], policies: [{tag_query: ''}]}",
            "nobody gets more permissions without it",
        ),
        ("default_branch_overrides: [dirs]", "always reads permissions from the default branch"),
        ("tree_builder: {enabled: false}", "this is the default"),
        ("hooks: {all: {pre: [{type: run, cmd: [a]}]}}", "they run for each root"),
        ("checkout_strategy: branch", "pull_requests.checkout: branch"),
        ("tags: {dest_branch: {a: '^release%-%d+$'}}", "is ^release\\-[0-9]+$"),
    ],
)
def test_what_is_not_needed_is_told_with_why(files, text, words):
    _, report = files.made(f"{text}\n", "config.yml")
    assert words in said(report, 1)


def test_without_requirements_those_count_that_terrateam_has_by_itself(files):
    made, _ = files.made("dirs: {a: {}}\n", "config.yml")
    on = {"enabled": True}
    rest = {"merge_conflicts": on, "status_checks": on, "undiverged": {"enabled": False}}
    assert made["apply_requirements"]["checks"] == [{"tag_query": "", **rest}]


@pytest.mark.parametrize(
    "text",
    [
        "when_modified: {autoapply: true}\n",
        "apply_requirements: {checks: [{tag_query: '', apply_after_merge: {enabled: true}}]}\n",
    ],
)
def test_what_is_applied_once_it_is_merged_still_is(files, text):
    made, _ = files.made(text, "config.yml")
    assert made["apply"] == "on_merge"
    assert ("plan_review" in made) == ("autoapply" in text)


def test_what_is_never_planned_is_never_planned_by_itself(files):
    made, _ = files.made("dirs:\n  legacy: {when_modified: {file_patterns: []}}\n", "config.yml")
    assert made["dirs"]["legacy"]["when_modified"] == {"file_patterns": []}


def test_a_directory_with_a_leading_slash_is_one_of_the_repository(files):
    made, report = files.made("dirs: {/infra: {tags: [a]}}\n", "config.yml")
    assert made["dirs"]["infra"] == {"tags": ["a"]}
    assert "it is now the directory infra" in said(report, 1)


def test_patterns_of_a_workspace_name_it(files):
    spaces = "{prod: {when_modified: {file_patterns: ['${DIR}/${WORKSPACE}.tfvars', '!${WORKSPACE}.md']}}}"
    made, _ = files.made(f"dirs: {{a: {{workspaces: {spaces}}}}}\n", "config.yml")
    assert made["dirs"]["a"]["workspaces"]["prod"]["when_modified"]["file_patterns"] == ["prod.tfvars", "!/prod.md"]


@pytest.mark.parametrize(
    ("engine", "expected", "words"),
    [
        ("", {"version": "1.5.7"}, "it is now engine.version"),
        ("engine: {name: terraform}", {"name": "terraform", "version": "1.5.7"}, "it is now engine.version"),
        ("engine: {name: tofu}", {"name": "tofu"}, "engine overrides it"),
        ("engine: {tf_version: 1.6.0}", {"tf_version": "1.6.0"}, "engine overrides it"),
    ],
)
def test_the_default_version_is_the_engine_s_or_told_to_be_another(files, engine, expected, words):
    made, report = files.made(f"default_tf_version: 1.5.7\n{engine}\n", "config.yml")
    assert made["engine"] == expected
    assert words in said(report, 1)


def test_the_one_schedule_of_drift_gets_a_name_and_looks_only_where_it_is_enabled(files):
    made, _ = files.made("drift: {schedule: weekly, reconcile: true}\n", "config.yml")
    weekly = {"tag_query": "", "schedule": "weekly", "reconcile": True}
    assert made["drift"] == {"enabled": False, "schedules": {"default": weekly}}
    text = "drift: {enabled: true, schedule: weekly, schedules: {a: {tag_query: '', schedule: daily}}}\n"
    assert files.lost(text, "config.yml") == ["drift.schedule"]


def test_programs_find_their_variables_by_the_names_that_they_have_here(files):
    step = "{type: run, cmd: [x, '${TERRATEAM_DIR}/$TERRATEAM_WORKSPACE']}"
    made, _ = files.made(
        f"workflows: [{{tag_query: '', plan: [{{type: init}}, {{type: plan}}, {step}]}}]\n", "config.yml"
    )
    assert made["workflows"][0]["plan"][2]["cmd"] == ["x", "${TIDEGATE_DIR}/$TIDEGATE_WORKSPACE"]


@pytest.mark.parametrize(
    ("pattern", "glob"),
    [
        ("plain", "plain"),
        ("ci/lint.*", "ci/lint*"),
        ("ci/lint.-$", "ci/lint*"),
        ("^ci/a%-b$", "ci/a-b"),
        ("ci/.+", "ci/?*"),
        ("a.b", "a?b"),
        ("a%.b", "a.b"),
        ("-a", "-a"),
        ("a%$", "a$"),
        ("^^a", "^a"),
    ],
)
def test_patterns_of_ignored_checks_become_globs_of_the_whole_name(files, pattern, glob):
    wanted = f"status_checks: {{ignore_matching: ['{pattern}']}}"
    made, report = files.made(f"apply_requirements: {{checks: [{{tag_query: '', {wanted}}}]}}\n", "config.yml")
    (check,) = made["apply_requirements"]["checks"]
    assert check["status_checks"]["ignore_matching"] == [glob]
    assert glob == pattern or f"{pattern} becomes {glob}" in said(report, 1)


@pytest.mark.parametrize(
    "pattern",
    ["a%*b", "a%?b", "ci/x?", "x*", "x+", "a-b", "%d", "%a.*", "%.*", ".?", "[ab]", "(a)", "a%", "*a", ".**", "%S", ""],
)
@pytest.mark.parametrize("written", ["['{}', last.*]", "'{}'"], ids=["of several", "alone"])
def test_patterns_of_ignored_checks_that_no_glob_can_say_ignore_nothing(files, pattern, written):
    wanted = f"status_checks: {{ignore_matching: {written.format(pattern)}}}"
    text = f"apply_requirements: {{checks: [{{tag_query: '', {wanted}}}]}}\n"
    (name,) = files.lost(text, "config.yml")
    made, report = files.made(text, "config.yml", "--lossy", name)
    (check,) = made["apply_requirements"]["checks"]
    assert check["status_checks"].get("ignore_matching", []) == (["last*"] if "last" in written else [])
    assert f"{pattern}: " in said(report, 1)


@pytest.mark.parametrize("pattern", ["%D+", "%p", "%x-y", "a%", "[%d]", "[ab]*"])
def test_patterns_of_branches_that_mean_something_else_are_lost(files, pattern):
    assert files.lost(f"tags: {{dest_branch: {{a: '{pattern}'}}}}\n", "config.yml") == ["tags.dest_branch.a"]


@pytest.mark.parametrize(
    ("pattern", "expression"), [("(ab)*c", r"(ab)\*c"), ("a^b", r"a\^b"), ("v%d-x", "v[0-9]*x"), ("a+?", r"a+\?")]
)
def test_signs_that_repeat_nothing_in_a_pattern_of_branches_stand_for_themselves(files, pattern, expression):
    made, _ = files.made(f"tags: {{dest_branch: {{a: '{pattern}'}}}}\n", "config.yml")
    assert made["tags"]["dest_branch"]["a"] == expression


def test_what_is_dropped_with_what_it_stands_in_says_so(files):
    result = files.run("storage:\n  plans:\n    method: s3\n    bucket: b\n", "config.yml")
    assert "dropped: with its section." in result.output
