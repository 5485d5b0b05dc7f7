"""The section ``config_updates``: what it may say, what it means, and what is refused in which line."""

from __future__ import annotations

import time
from datetime import timedelta

import pytest
import yaml

from tests.configuration import load, mistakes, refusal
from tidegate.config.organization import read_organization
from tidegate.config.refusals import MOST_LISTED
from tidegate.config.resolution import configure
from tidegate.config.rule_changes import rule_changes
from tidegate.config.rules.config_updates import (
    AfterEnvironment,
    AfterStack,
    Announcer,
    ConfigUpdates,
    DeclaredImageSet,
    Environment,
    Promote,
    RequiredCheck,
    Supersede,
    Target,
    Timeouts,
    UpdateCommands,
    filled,
)

LEAST = """\
config_updates:
  required_checks: [{name: build, app: github-actions}]
  sets:
    - name: app
      app: {repository: acme/app}
      environments:
        - {name: staging, file: images/staging.json, targets: [{name: staging}]}
"""
ALL = """\
config_updates:
  auto_branch: tidegate/auto
  required_checks: [{name: build, app: github-actions}, {name: 'lint / yaml', app: ci-1}]
  check_timeouts: {start: 10m, finish: 1d}
  commands:
    introduce: [./introduce, '{image_file}', '--to={file}']
    promote: [./promote, '{set}/{environment}', '{image_file}']
    generate: [./generate]
  supersede: collapse
  land_over_red: false
  sets:
    - name: app
      app: {repository: group/sub/app, refs: [main, release/*, main]}
      environments:
        - {name: staging, file: images/app/staging.json, targets: [{name: s}], soak: 30m}
        - name: production
          file: images/app/production.json
          targets: [{name: eu, status: 'https://status.example.com:8443/eu?x=1'}, {name: us}]
          promote: manual
          after: [{environment: api/staging}, {environment: staging}, {repository: acme/infra, stack: prod}]
    - name: api
      app: {repository: acme/api}
      environments:
        - {name: staging, file: images/api.json, targets: [{name: s}], after: [{stack: dev, repository: acme/infra}]}
"""


def updates(text: str) -> ConfigUpdates:
    found = load(text).config_updates
    assert found is not None
    return found


def changed(*path: str | int, value: object) -> str:
    """Return ALL with another value at a path; None removes what is there."""
    content = yaml.safe_load(ALL)
    holder = content["config_updates"]
    for part in path[:-1]:
        holder = holder[part]
    holder[path[-1]] = value
    if value is None:
        del holder[path[-1]]
    return yaml.safe_dump(content, sort_keys=False)


def test_without_the_section_there_are_no_updates():
    assert load("version: 1\n").config_updates is None


def test_what_is_left_out_is_as_the_pattern_of_config_repositories_has_it():
    environment = Environment("staging", "images/staging.json", (Target("staging"),), line=7)
    app = DeclaredImageSet("app", Announcer("acme/app"), (environment,), 4)
    assert updates(LEAST) == ConfigUpdates((RequiredCheck("build", "github-actions"),), (app,), line=1)
    said = updates(LEAST)
    assert (said.auto_branch, said.supersede, said.land_over_red) == ("auto", Supersede.KEEP_ALL, True)
    assert said.check_timeouts == Timeouts()
    assert said.commands == UpdateCommands(
        ("make", "introduce_images", "IMAGE_FILE={image_file}"), None, ("make", "generate")
    )
    assert (environment.promote, environment.soak) == (Promote.AUTO, timedelta())


def test_everything_can_be_said():
    staging = Environment("staging", "images/app/staging.json", (Target("s"),), soak=timedelta(minutes=30), line=15)
    production = Environment(
        "production",
        "images/app/production.json",
        (Target("eu", "https://status.example.com:8443/eu?x=1"), Target("us")),
        (AfterEnvironment("api", "staging"), AfterEnvironment("app", "staging"), AfterStack("acme/infra", "prod")),
        promote=Promote.MANUAL,
        line=16,
    )
    after = (AfterStack("acme/infra", "dev"),)
    api = Environment("staging", "images/api.json", (Target("s"),), after, line=24)
    assert updates(ALL) == ConfigUpdates(
        (RequiredCheck("build", "github-actions"), RequiredCheck("lint / yaml", "ci-1")),
        (
            DeclaredImageSet("app", Announcer("group/sub/app", ("main", "release/*")), (staging, production), 12),
            DeclaredImageSet("api", Announcer("acme/api"), (api,), 21),
        ),
        "tidegate/auto",
        Timeouts(timedelta(minutes=10), timedelta(days=1)),
        UpdateCommands(
            ("./introduce", "{image_file}", "--to={file}"),
            ("./promote", "{set}/{environment}", "{image_file}"),
            ("./generate",),
        ),
        Supersede.COLLAPSE,
        land_over_red=False,
        line=1,
    )
    assert load(ALL).warnings == ()


@pytest.mark.parametrize(
    ("path", "value", "words"),
    [
        (["required_checks"], None, "missing key 'required_checks'"),
        (["required_checks"], [], "there is no required check, so that untested commits would land"),
        (["required_checks"], [{"name": "build", "app": "a"}] * 2, "the check 'build' is required twice"),
        (["required_checks", 0, "name"], "tidegate/config-update", "is a check of Tidegate's"),
        (["required_checks", 0, "name"], "Tidegate/plan", "Name a check that CI reports"),
        (["required_checks", 0, "name"], "", "It should have at least 1 character"),
        (["required_checks", 0, "app"], None, "missing key 'app'"),
        (["required_checks", 0, "app"], "GitHub Actions", "is not an App's name"),
        (["required_check"], [], "Did you mean 'required_checks'?"),
        (["auto_branch"], "HEAD", "is not a valid branch name"),
        (["auto_branch"], "refs/heads/auto", "is not a valid branch name"),
        (["auto_branch"], "a..b", "is not a valid branch name"),
        (["auto_branch"], "a/.b", "is not a valid branch name"),
        (["auto_branch"], "auto/", "is not a valid branch name"),
        (["auto_branch"], "auto.", "is not a valid branch name"),
        (["auto_branch"], "a b", "is not a valid branch name"),
        (["auto_branch"], "-f", "is not a valid branch name"),
        (["auto_branch"], "auto.lock", "is not a valid branch name"),
        (["auto_branch"], "a" * 101, "is not a valid branch name"),
        (["check_timeouts", "start"], "0m", "is not a duration"),
        (["check_timeouts", "start"], "90", "Write minutes, hours or days"),
        (["check_timeouts", "finish"], "25h", "'25h' is too long. The limit is 1d"),
        (["commands", "introduce"], "make introduce", "is a string, but a list is needed"),
        (["commands", "introduce"], [], "the command has no program"),
        (["commands", "introduce"], ["make"], "the command does not use '{image_file}'"),
        (["commands", "introduce"], ["make", "{image_fil}"], "Did you mean '{image_file}'?"),
        (["commands", "promote"], ["make", "promote"], "the command does not use '{image_file}'"),
        (["commands", "generate"], ["make", "{image_file}"], "unknown placeholder '{image_file}'. "),
        (["commands", "generate"], ["awk", "{print}"], "Put other braces into a script"),
        (["commands", "generate"], ["make", "a\x1bb"], "the command contains control characters"),
        (["supersede"], "keep", "It should be 'keep-all' or 'collapse'"),
        (["land_over_red"], "yes", "is not a boolean"),
        (["sets"], [], "It should have at least 1 item"),
        (["sets", 0, "name"], "app.", "is not a valid name"),
        (["sets", 0, "name"], "a/b", "is not a valid name"),
        (["sets", 0, "app", "repository"], "app", "is not a valid repository"),
        (["sets", 0, "app", "refs"], ["refs/heads/main"], "is not a branch pattern"),
        (["sets", 0, "app", "refs"], ["a b"], "is not a branch pattern"),
        (["sets", 0, "environments"], [], "It should have at least 1 item"),
        (["sets", 0, "environments", 0, "name"], "Staging EU", "is not a valid name"),
        (["sets", 0, "environments", 0, "targets"], [], "It should have at least 1 item"),
        (["sets", 0, "environments", 0, "targets", 0, "name"], "a\n", "is not a valid name"),
        (["sets", 0, "environments", 0, "file"], "/etc/x.json", "is not the path of a JSON file"),
        (["sets", 0, "environments", 0, "file"], "a/../x.json", "is not the path of a JSON file"),
        (["sets", 0, "environments", 0, "file"], "./x.json", "is not the path of a JSON file"),
        (["sets", 0, "environments", 0, "file"], "tidegate.yaml", "is not the path of a JSON file"),
        (["sets", 0, "environments", 0, "file"], ".git/x.json", "is in a directory of git or of the VCS provider"),
        (["sets", 0, "environments", 0, "file"], "a/.GIT/x.json", "is in a directory of git or of the VCS provider"),
        (["sets", 0, "environments", 0, "file"], ".github/x.json", "is in a directory of git or of the VCS provider"),
        (["sets", 0, "environments", 0, "soak"], "31d", "'31d' is too long. The limit is 30d"),
        (["sets", 0, "environments", 0, "soak"], "1w", "is not a duration"),
        (["sets", 0, "environments", 0, "promote"], "manual", "the first environment takes announced images"),
        (["sets", 0, "environments", 0, "promote"], "never", "It should be 'auto' or 'manual'"),
        (["sets", 0, "environments", 1, "targets", 0, "status"], "http://a.example/", "is not a status URL"),
        (["sets", 0, "environments", 1, "targets", 0, "status"], "https://u:p@a.example/", "is not a status URL"),
        (["sets", 0, "environments", 1, "targets", 0, "status"], "https://[", "is not a status URL"),
        (["sets", 0, "environments", 1, "targets", 0, "status"], "https://a.example/ x", "is not a status URL"),
        (["sets", 0, "environments", 1, "after"], [{}], "'after' needs either an environment or a stack"),
        (
            ["sets", 0, "environments", 1, "after"],
            [{"environment": "staging", "stack": "a", "repository": "a/b"}],
            "'after' needs either an environment or a stack",
        ),
        (["sets", 0, "environments", 1, "after"], [{"stack": "prod"}], "a stack needs its repository"),
        (["sets", 0, "environments", 1, "after"], [{"stack": "-", "repository": "a/b"}], "not a valid stack name"),
        (["sets", 0, "environments", 1, "after"], [{"stack": "a", "repository": "b"}], "not a valid repository"),
        (["sets", 0, "environments", 1, "after"], [{"environment": "stagin"}], "Did you mean 'app/staging'?"),
        (["sets", 0, "environments", 1, "after"], [{"environment": "web/staging"}], "unknown environment"),
    ],
)
def test_what_cannot_be_is_refused_with_what_can(path, value, words):
    assert words in str(refusal(changed(*path, value=value)))


@pytest.mark.parametrize(
    ("old", "new", "line", "words"),
    [
        ("name: api", "name: app", 21, "the image set 'app' is already on line 12"),
        ("images/api.json", "images/app/staging.json", 24, "the file 'images/app/staging.json' is already on line 15"),
        ("- name: production", "- name: staging", 16, "the environment 'staging' is already on line 15"),
        ("{name: us}", "{name: s}", 18, "the target 's' is already on line 15"),
        (
            "{name: s}], soak: 30m}",
            "{name: s}], after: [{environment: production}]}",
            15,
            "app/production → app/staging → app/production",
        ),
        ("{environment: staging}, ", "{environment: production}, ", 20, "app/production → app/production"),
        (
            "[{stack: dev, repository: acme/infra}]",
            "[{environment: app/production}]",
            24,
            "api/staging → app/production → api/staging",
        ),
    ],
)
def test_what_is_wrong_between_parts_is_told_in_its_line(old, new, line, words):
    assert ALL.count(old) == 1
    assert (line, True) in [(each.line, words in str(each)) for each in mistakes(ALL.replace(old, new))]


def test_all_mistakes_between_parts_are_told_at_once_with_those_of_stacks():
    text = ALL.replace("{name: us}", "{name: s}").replace("{environment: staging}", "{environment: x}")
    text += "stacks: {names: {a: {tag_query: a, rules: {apply_after: [b]}}}}\n"
    assert [each.line for each in mistakes(text)] == [18, 20, 25]


@pytest.mark.large
def test_the_most_of_everything_with_nothing_but_mistakes_is_answered_soon():
    after = [{"environment": f"set-1/{'x' * 90}{number}"} for number in range(20)]
    sets = [
        {
            "name": f"set-{at}",
            "app": {"repository": "acme/app"},
            "environments": [
                {
                    "name": f"{'x' * 90}-{number}",
                    "file": f"{at}-{number}.json",
                    "targets": [{"name": f"t{number}-{each}"} for each in range(100)],
                    "after": after,
                }
                for number in range(20)
            ],
        }
        for at in range(20)
    ]
    checks = [{"name": "build", "app": "ci"}]
    text = yaml.safe_dump({"config_updates": {"required_checks": checks, "sets": sets}})
    started = time.process_time()
    assert len(mistakes(text)) == MOST_LISTED
    assert time.process_time() - started < 15


def test_a_pull_request_that_changes_it_changes_the_rules():
    before, after = ((load(text), configure(load(text), ())) for text in (LEAST, LEAST + "  land_over_red: false\n"))
    moved = load("# moved\n" + LEAST), before[1]
    assert rule_changes(before, after, ()) == ("config_updates",)
    assert rule_changes(before, moved, ()) == ()


CROSSED = """\
stacks:
  names:
    network: {tag_query: network, rules: {apply_after: [{repository: acme/infra, environment: app/staging}]}}
    services: {tag_query: services, rules: {apply_after: [network]}}
    all: {stacks: [network, services]}
config_updates:
  required_checks: [{name: build, app: github-actions}]
  sets:
    - name: app
      app: {repository: acme/app}
      environments:
        - name: staging
          file: images/staging.json
          targets: [{name: staging}]
          after: [{repository: acme/infra, stack: STACK}]
"""


@pytest.mark.parametrize("stack", ["network", "services", "all"])
def test_stacks_and_environments_of_one_file_that_wait_for_each_other_are_refused(stack):
    refused = str(refusal(CROSSED.replace("STACK", stack)))
    assert "environments and stacks wait for each other: " in refused
    assert "environment app/staging" in refused
    assert "line 15" in refused or ":15:" in refused


def test_a_cycle_over_another_repository_cannot_be_seen():
    loaded = load(CROSSED.replace("STACK", "network").replace("acme/infra", "acme/other"))
    (awaited,) = next(each for each in loaded.stacks if each.definition.name == "network").definition.rules.environments
    assert str(awaited) == "environment app/staging of acme/other"


@pytest.mark.parametrize("written", ["staging", "app/", "app/a/b", "app/ staging"])
def test_a_stack_waits_for_an_environment_of_a_set(written):
    rules = f"{{apply_after: [{{repository: a/b, environment: '{written}'}}]}}"
    text = f"stacks: {{names: {{x: {{tag_query: x, rules: {rules}}}}}}}"
    assert "Write SET/ENVIRONMENT" in str(refusal(text))


def test_several_sets_that_a_command_cannot_tell_apart_are_warned_of():
    (warning,) = load(ALL.replace("--to={file}", "x")).warnings
    assert warning.line == 6
    assert "neither {set} nor {file}" in warning.text


def test_an_organization_cannot_say_it_for_all_repositories():
    assert "'config_updates' is not allowed here" in str(read_organization(b"forced: {config_updates: {}}\n").problem)


def test_a_command_gets_values_once():
    values = {"image_file": "/tmp/{file}", "file": "x.json"}
    assert filled(("a", "b={image_file} {file}", "{ x }"), values) == ("a", "b=/tmp/{file} x.json", "{ x }")


@pytest.mark.parametrize(
    ("auto", "default", "words"),
    [
        ("auto", "main", None),
        ("main", "main", "the default branch"),
        ("main/auto", "main", "Git cannot have the branch main/auto beside main"),
        ("auto", "auto/main", "Git cannot have the branch auto/main beside auto"),
        ("main-auto", "main", None),
    ],
)
def test_the_auto_branch_stands_beside_the_default_branch(auto, default, words):
    found = updates(LEAST.replace("config_updates:", f"config_updates:\n  auto_branch: {auto}")).branch_problem(default)
    assert found is None if words is None else words in found
