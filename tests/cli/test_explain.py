"""``tidegate explain`` and ``tidegate validate`` in a checkout: what holds for each root, and which line says so."""

from __future__ import annotations

import json
import subprocess
from pathlib import Path

import pytest

FILE = """\
dirs:
  live/dev: {tags: [development]}
  live/prod:
    tags: [production]
    when_modified: {depends_on: 'name:live/base'}
  live/base: {tags: [production]}
  live/other:
stacks:
  names:
    prod:
      tag_query: production
      variables: {environment: prod}
      on_change: {can_apply_after: [dev]}
      engine: {name: terraform, tf_version: 1.5.7}
    dev: {tag_query: development}
    default: {tag_query: nothing}
workflows:
  - tag_query: stack_name:prod
    environment: '${STACK_VAR_ENVIRONMENT}'
access_control:
  policies:
    - tag_query: stack_name:prod
      apply: ['team:sre']
    - tag_query: ''
"""


@pytest.fixture
def checkout(tmp_path, monkeypatch):
    """A repository with four roots; nothing of it is committed."""
    top = tmp_path / "live-repository"
    for name in ("dev", "prod", "base", "other"):
        place = top / "live" / name
        place.mkdir(parents=True)
        (place / "main.tf").write_text('terraform {\n  backend "s3" {}\n}\n')
    for words in (["init", "-q", "-b", "main"], ["remote", "add", "origin", "https://forge.example.com/acme/live.git"]):
        subprocess.run(["git", "-C", str(top), *words], check=True, capture_output=True)
    (top / "tidegate.yaml").write_text(FILE)
    monkeypatch.chdir(top)
    return top


def explained(tidegate, *words):
    result = tidegate("explain", *words, "--json")
    return json.loads(result.stdout)


def test_the_local_modules_of_a_root_are_told_and_whether_it_follows_them(checkout, tidegate):
    module = checkout / "modules" / "net"
    module.mkdir(parents=True)
    (module / "main.tf").write_text("")
    (checkout / "live" / "prod" / "net.tf").write_text('module "net" { source = "../../modules/net" }\n')
    assert "Its modules" in tidegate("explain", "live/prod").stdout
    assert "follow_modules" not in tidegate("explain", "live/prod").stdout + tidegate("validate").stdout
    (checkout / "tidegate.yaml").write_text("when_modified: {follow_modules: false}\n" + FILE)
    (root,) = explained(tidegate, "live/prod")["roots"]
    assert (root["modules"], root["follow_modules"]) == (["modules/net"], False)
    assert "modules/net; their changes do not run it (follow_modules: false)" in tidegate("explain", "live/prod").stdout
    assert "live/prod: It uses modules/net" in tidegate("validate").stdout


def test_modules_of_linked_files_are_told(checkout, tidegate):
    for place, text in (("shared", 'module "net" { source = "../../modules/net" }\n'), ("modules/net", "")):
        (checkout / place).mkdir(parents=True)
        (checkout / place / "main.tf").write_text(text)
    (checkout / "live" / "prod" / "linked.tf").symlink_to("../../shared/main.tf")
    (checkout / "live" / "dev" / "nowhere.tf").symlink_to("/etc/nowhere.tf")
    (root,) = explained(tidegate, "live/prod")["roots"]
    assert root["modules"] == ["modules/net"]
    assert "live/dev" not in [root["name"] for root in explained(tidegate)["roots"]]


def test_the_file_that_chose_the_engine_is_named(checkout, tidegate):
    (checkout / "live" / ".terraform-version").write_text("1.9.8\n")
    roots = {root["name"]: root["engine"] for root in explained(tidegate)["roots"]}
    assert roots["live/dev"] == {"name": "terraform", "version": "1.9.8", "file": "live/.terraform-version"}
    assert roots["live/prod"] == {"name": "terraform", "version": "1.5.7", "file": None}
    assert "terraform 1.9.8 (by live/.terraform-version)" in tidegate("explain", "live/dev").stdout


def test_a_root_is_explained_with_the_lines_that_decide(checkout, tidegate):
    (root,) = explained(tidegate, "live/prod")["roots"]
    assert (root["stack"], root["engine"], root["environment"]) == (
        "prod",
        {"name": "terraform", "version": "1.5.7", "file": None},
        "prod",
    )
    assert root["variables"] == {"STACK_VAR_ENVIRONMENT": "prod"}
    assert (root["apply_after"], root["dependencies"]) == (["dev"], ["live/base"])
    assert (root["access"]["apply"], root["access"]["review"]) == (["team:sre"], ["team:sre"])
    lines = {name: root["lines"][name] for name in ("root", "stack", "engine", "workflow", "access")}
    assert lines == {"root": 3, "stack": 10, "engine": 14, "workflow": 18, "access": 22}


def test_people_read_each_thing_with_its_place(checkout, tidegate):
    output = tidegate("explain", "live/prod").output
    for line in (
        "live/prod  in stack prod",
        "Engine         terraform 1.5.7  tidegate.yaml:14",
        "Applied after  dev  tidegate.yaml:10",
        "Depends on     name:live/base: live/base  tidegate.yaml:3",
        "May apply      team:sre  tidegate.yaml:22",
        "May plan       everybody with write access  tidegate.yaml:22",
    ):
        assert line in " ".join(output.splitlines()) or line in output


def test_steps_stand_with_the_line_of_their_own_key_and_are_told_apart(checkout, tidegate):
    text = FILE + "hooks: {apply: {post: [{type: run, cmd: [echo, 'all done']}]}}\n"
    text = text.replace("    environment: '${STACK", "    plan: [init, plan]\n    environment: '${STACK")
    (checkout / "tidegate.yaml").write_text(text)
    output = " ".join(tidegate("explain", "live/prod").output.splitlines())
    assert "init; plan  tidegate.yaml:19" in output
    assert "prod  tidegate.yaml:20" in output
    assert "apply; run echo 'all done'  tidegate.yaml:26" in output


def test_a_root_in_no_stack_says_why(checkout, tidegate):
    result = tidegate("explain", "live/other")
    assert result.exit_code == 0
    assert "tidegate.yaml:16" in result.output
    assert "It never runs." in result.output
    assert list(explained(tidegate, "live/other")["left_out"]) == ["live/other"]


@pytest.mark.parametrize(
    ("what", "names"),
    [
        (None, ["live/base", "live/dev", "live/prod"]),
        ("live", ["live/base", "live/dev", "live/prod"]),
        (".", ["live/base", "live/dev", "live/prod"]),
        ("live/dev/main.tf", ["live/dev"]),
        ("live/dev/deeper/not-there.tf", ["live/dev"]),
    ],
)
def test_roots_are_named_by_their_paths_and_by_what_lies_in_them(checkout, tidegate, what, names):
    words = [what] if what else []
    assert sorted(root["name"] for root in explained(tidegate, *words)["roots"]) == names


def test_paths_are_those_of_the_directory_that_one_is_in(checkout, tidegate, monkeypatch):
    monkeypatch.chdir(checkout / "live")
    assert [root["name"] for root in explained(tidegate, "dev")["roots"]] == ["live/dev"]


def test_commands_read_the_nearest_file_upwards_and_its_directory_stands_for_the_top(checkout, tidegate, monkeypatch):
    (checkout / "live" / "tidegate.yaml").write_text("dirs: {dev: {tags: [nearest]}}\n")
    (checkout / "live" / "deeper").mkdir()
    monkeypatch.chdir(checkout / "live" / "deeper")
    result = tidegate("explain", "--json")
    (root,) = json.loads(result.stdout)["roots"]
    assert (root["name"], "nearest" in root["tags"]) == ("dev", True)
    assert "Tidegate reads only the one at the top of a repository" in " ".join(result.stderr.split())
    result = tidegate("validate")
    assert "../tidegate.yaml is valid: 1 root in this checkout" in result.stdout
    assert "only the one at the top" in " ".join(result.stderr.split())
    assert json.loads(tidegate("stacks", "--json").stdout)["file"] == "../tidegate.yaml"
    (checkout / "live" / "tidegate.yaml").unlink()
    result = tidegate("validate")
    assert "../../tidegate.yaml is valid: 4 roots in this checkout" in result.stdout
    assert result.stderr == ""


def test_what_is_no_root_is_not_found_and_the_nearest_is_told(checkout, tidegate, tmp_path):
    result = tidegate("explain", "live/prd")
    assert (result.exit_code, "live/prod" in result.output) == (3, True)
    assert tidegate("explain", str(tmp_path)).exit_code == 3


def test_without_a_file_roots_are_found_by_their_modules(checkout, tidegate):
    (checkout / "tidegate.yaml").unlink()
    document = explained(tidegate)
    assert document["file"] is None
    assert {root["stack"] for root in document["roots"]} == {"default"}
    assert "There is no tidegate.yaml" in tidegate("explain").output


def test_outside_of_a_checkout_nothing_is_explained(tidegate, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    result = tidegate("explain")
    assert (result.exit_code, "not in a git repository" in result.output) == (3, True)


def test_what_git_ignores_is_no_root(checkout, tidegate):
    (checkout / ".gitignore").write_text("live/dev/\n")
    assert "live/dev" not in {root["name"] for root in explained(tidegate)["roots"]}


SEVERAL = FILE.replace("tag_query: nothing", "tag_query: development")
UNSET = FILE.replace("variables: {environment: prod}", "variables: {environ: prod}")


@pytest.mark.parametrize(("file", "root", "words"), [(SEVERAL, "live/dev", "default"), (UNSET, "live/prod", ":19")])
def test_roots_that_cannot_be_deployed_are_told_by_explain_and_by_validate(checkout, tidegate, file, root, words):
    (checkout / "tidegate.yaml").write_text(file)
    result = tidegate("explain", root)
    assert (result.exit_code, words in result.output) == (1, True)
    result = tidegate("validate")
    assert result.exit_code == 1
    assert root in result.output
    assert "until you correct this" in result.output
    document = json.loads(tidegate("validate", "--json").stdout)
    assert (document["valid"], document["errors"], root in document["refused"]) == (False, [], True)


def test_validate_counts_the_roots_of_a_checkout_and_warns_of_those_that_never_run(checkout, tidegate):
    result = tidegate("validate")
    assert result.exit_code == 0
    assert "! live/other: It is in no stack" in result.output
    assert "tidegate.yaml is valid: 4 roots in this checkout." in result.output


def test_a_declared_root_without_a_directory_is_refused_by_explain_and_by_validate(checkout, tidegate):
    (checkout / "tidegate.yaml").write_text("dirs: {live/none: , live/dev: }\n")
    words = "Its directory live/none does not exist, or has no Terraform files."
    for command in (["validate"], ["explain"], ["explain", "live/none"]):
        result = tidegate(*command)
        assert (result.exit_code, words in result.stdout) == (1, True), result.output
        assert "live/none" in result.stdout.replace(words, "")
    assert "is valid" not in tidegate("validate").stdout
    assert tidegate("explain", "live/dev").exit_code == 0
    assert list(json.loads(tidegate("validate", "--json").stdout)["refused"]) == ["live/none"]


def test_a_file_that_is_not_the_checkouts_own_is_checked_by_itself(checkout, tidegate):
    (checkout / "other.yaml").write_text(SEVERAL)
    assert tidegate("validate", "other.yaml").exit_code == 0


def test_a_file_with_mistakes_is_refused(checkout, tidegate):
    (checkout / "tidegate.yaml").write_text("dir: {}\n")
    result = tidegate("explain")
    assert (result.exit_code, "Did you mean 'dirs'" in result.output) == (1, True)


CANNOT_BE_MEANT = """\
dirs:
  live/dev: {tags: [x], when_modified: {depends_on: 'dir:live/prod'}}
  live/prod: {when_modified: {depends_on: nosuch}}
  live/base: {when_modified: {depends_on: 'dir:live/prod'}}
  'live/zzz/*': {}
stacks:
  names:
    s: {tag_query: x}
    t: {tag_query: 'x && y'}
    u: {tag_query: 'dir=live/prod'}
"""


@pytest.mark.parametrize(
    "words",
    [
        "! live/other: The directory contains a root module, but no key of dirs or roots matches it",
        "! tidegate.yaml:5: no directory with a root module matches 'live/zzz/*'.",
        "! tidegate.yaml:9: no root here is in the stack 't'. '&&': write 'and'.",
        "! tidegate.yaml:10: no root here is in the stack 'u'. 'dir=': write 'dir:'.",
        "! live/dev: depends_on 'dir:live/prod' (tidegate.yaml:2) matches only roots of other stacks, such as",
        "! live/prod: depends_on 'nosuch' (tidegate.yaml:3) matches no root, so the root waits for nothing.",
    ],
)
def test_validate_warns_of_what_cannot_be_meant(checkout, tidegate, words):
    (checkout / "tidegate.yaml").write_text(CANNOT_BE_MEANT)
    result = tidegate("validate")
    assert words in result.output
    assert result.exit_code == 0
    assert len(json.loads(tidegate("validate", "--json").stdout)["root_warnings"]) == 6  # Live/base is in order.


def test_validate_warns_of_queries_and_policies_that_fit_nothing(checkout, tidegate):
    (checkout / "tidegate.yaml").write_text("policy_sets: {acl: {paths: [policies/alc], tag_query: 'dir:live/prd'}}\n")
    result = tidegate("validate")
    assert "! tidegate.yaml:1: policy_sets.acl: the tag query 'dir:live/prd' matches no root" in result.output
    assert "! tidegate.yaml:1: policy_sets.acl: the directory 'policies/alc' has no policy" in result.output
    assert result.exit_code == 0


@pytest.mark.parametrize(
    "text",
    [
        "freeze: [{tag_query: 'stack_name:prd', cron: '0 16 * * FRI', duration: 64h}]\n",
        "access_control: {policies: [{tag_query: 'stack_name:prd', apply: ['*']}]}\n",
        "dirs: {live/dev: {when_modified: {depends_on: 'stack_name:prd'}}, live/prod: {}}\n",
    ],
)
def test_validate_warns_of_a_mistyped_stack_once(checkout, tidegate, text):
    (checkout / "tidegate.yaml").write_text(f"stacks: {{names: {{prod: {{tag_query: 'dir:live/prod'}}}}}}\n{text}")
    told = [line for line in tidegate("validate").output.splitlines() if "stack_name:prd" in line]
    assert len(told) == 1, told
    assert "Did you mean 'stack_name:prod'?" in told[0]


def test_validate_warns_of_nothing_where_the_roots_are_found(checkout, tidegate):
    (checkout / "tidegate.yaml").write_text("dirs: {'**': {}}\n")
    assert "! " not in tidegate("validate").output


def test_the_example_of_a_promotion_means_what_it_says(checkout, tidegate):
    example = Path(__file__).parents[2] / "examples/promotion/tidegate.yaml"
    (checkout / "tidegate.yaml").write_text(example.read_text())
    for name in ("dev/network", "dev/app", "staging/app", "prod/eu/app", "prod/eu/network", "prod/us/app"):
        place = checkout / "live" / name
        place.mkdir(parents=True)
        (place / "main.tf").write_text('terraform {\n  backend "s3" {}\n}\n')
    roots = {one["name"]: one for one in explained(tidegate)["roots"] if one["stack"] != "default"}
    assert {name: one["apply_after"] for name, one in roots.items() if name.endswith("app")} == {
        "live/dev/app": [],
        "live/staging/app": ["dev"],
        "live/prod/eu/app": ["dev", "staging"],
        "live/prod/us/app": ["dev", "eu", "staging"],
    }
    assert roots["live/prod/eu/app"]["dependencies"] == ["live/prod/eu/network"]
    assert roots["live/prod/us/app"]["environment"] == "production"
    assert roots["live/prod/us/app"]["access"]["apply"] == ["team:platform"]
    assert roots["live/dev/app"]["plan_review"]["when"] == "never"


@pytest.fixture
def library(checkout):
    """The checkout without a file, with two modules: one that a root uses, and one that nothing does."""
    (checkout / "tidegate.yaml").unlink()
    for name in ("used", "alone"):
        (checkout / "modules" / name).mkdir(parents=True)
        (checkout / "modules" / name / "main.tf").write_text('variable "x" {}\n')
    (checkout / "live" / "dev" / "net.tf").write_text('module "net" { source = "../../modules/used" }\n')
    return checkout


def test_it_is_told_of_each_directory_why_it_is_a_root_or_none(library, tidegate):
    document = explained(tidegate)
    because = {root["name"]: root["root_because"] for root in document["roots"]}
    assert because["live/dev"] == "It has a backend or cloud block."
    assert "'live/dev' uses it" in document["no_roots"]["modules/used"]
    assert "no backend, cloud or provider block" in document["no_roots"]["modules/alone"]
    assert sorted(document["no_roots"]) == ["modules/alone", "modules/used"]


def test_a_path_to_a_mere_module_is_answered_with_why_it_is_no_root(library, tidegate):
    for path in ("modules/alone", "modules/alone/main.tf", "modules/alone/deeper"):
        document = explained(tidegate, path)
        assert (document["roots"], list(document["no_roots"])) == ([], ["modules/alone"])
    assert "modules/alone  is not a root." in tidegate("explain", "modules").output


@pytest.mark.parametrize(
    ("file", "root", "because"),
    [
        ("dirs: {'**': {root: true}}\n", "modules/alone", "tidegate.yaml sets root: true."),
        ("dirs: {live/dev: {}}\n", "live/dev", "tidegate.yaml names it."),
    ],
)
def test_the_file_is_told_where_it_makes_a_root(library, tidegate, file, root, because):
    (library / "tidegate.yaml").write_text(file)
    (found,) = explained(tidegate, root)["roots"]
    assert found["root_because"] == because


@pytest.mark.parametrize(
    ("file", "because"),
    [
        ("dirs: {live/dev: {root: false}}\n", "tidegate.yaml sets root: false."),
        ("dirs: {live/prod: {}}\n", "No key of dirs or roots in tidegate.yaml matches it."),
    ],
)
def test_the_file_is_told_where_it_makes_no_root(library, tidegate, file, because):
    (library / "tidegate.yaml").write_text(file)
    assert explained(tidegate, "live/dev")["no_roots"] == {"live/dev": because}


def test_validate_says_how_modules_that_fit_a_pattern_become_roots(library, tidegate):
    (library / "tidegate.yaml").write_text("dirs: {'**': {}, 'modules/*': {}}\n")
    assert "'modules/*'. There are modules" in tidegate("validate").output
    (library / "tidegate.yaml").write_text("dirs: {'**': {}, 'modules/*': {root: true}}\n")
    assert "! " not in tidegate("validate").output


def test_the_freeze_windows_of_a_root_are_shown_with_their_line(checkout, tidegate):
    window = "freeze: [{cron: 0 16 * * FRI, duration: 64h, tag_query: production, reason: weekend}]\n"
    Path("tidegate.yaml").write_text(FILE + window)
    assert "64 h from each start of '0 16 * * FRI' (UTC): weekend" in tidegate("explain", "live/prod").stdout
    document = json.loads(tidegate("explain", "--json").stdout)
    frozen = {each["name"]: [one["reason"] for one in each["freezes"]] for each in document["roots"]}
    assert (frozen["live/prod"], frozen["live/dev"]) == (["weekend"], [])


def test_what_every_apply_requires_and_who_owns_its_policies_is_shown(checkout, tidegate):
    text = (
        "apply_requirements: {approved: {any_of: ['team:platform']}, undiverged: {}}\n"
        "policy_sets: {acl: {paths: [policies], owners: ['team:security']}, other: {paths: [p], tag_query: none}}\n"
    )
    (checkout / "tidegate.yaml").write_text(text)
    lines = tidegate("explain", "live/dev").output.splitlines()
    (required,) = [line for line in lines if "Every apply" in line]
    assert "requires 1 approval, of any of team:platform, the newest commit of its base branch" in required
    (held,) = [line for line in lines if "Policy set" in line]
    assert "acl, owned by team:security" in held
    assert "tidegate.yaml:2" in held
    (root,) = explained(tidegate, "live/dev")["roots"]
    assert root["policy_sets"] == [{"name": "acl", "owners": ["team:security"], "line": 2}]


def test_validate_warns_of_modules_in_submodules_that_are_not_cloned(checkout, tidegate):
    (checkout / ".gitmodules").write_text('[submodule "m"]\n\tpath = vendor/modules\n\turl = ../modules\n')
    (checkout / "live/dev/call.tf").write_text('module "m" {\n  source = "../../vendor/modules/tagger"\n}\n')
    words = "! live/dev: It uses 'vendor/modules/tagger' of the submodule 'vendor/modules', which is not cloned."
    assert words in tidegate("validate").output
    (checkout / "tidegate.yaml").write_text("clone: {submodules: true}\n")
    assert "not cloned" not in tidegate("validate").output


def test_a_range_of_versions_is_told_to_choose_no_engine(checkout, tidegate):
    (checkout / "tidegate.yaml").write_text("version: 1\n")
    (checkout / "live/dev/versions.tf").write_text('terraform {\n  required_version = ">= 1.5, < 1.10"\n}\n')
    output = tidegate("explain", "live/dev").output
    assert "in the installation's default version; required_version >= 1.5, < 1.10 is not one version" in output
    assert "in the installation's default version" in tidegate("explain", "live/prod").output


def test_the_account_of_a_root_is_told_with_its_line_and_what_contradicts_itself_is_refused(checkout, tidegate):
    file = checkout / "tidegate.yaml"
    file.write_text(f"aws: {{account: '111111111111', plan_role: plan, apply_role: deploy, region: eu-west-1}}\n{FILE}")
    (root,) = explained(tidegate, "live/dev")["roots"]
    role = "arn:aws:iam::111111111111:role/"
    assert root["aws"] == {
        "account": "111111111111",
        "plan_role": f"{role}plan",
        "apply_role": f"{role}deploy",
        "region": "eu-west-1",
        "identity": "role_chaining",
    }
    assert root["lines"]["aws"] == 1
    assert f"{role}deploy" in tidegate("explain", "live/dev").stdout
    file.write_text(f"aws: {{account: '222222222222', plan_role: {role}plan, apply_role: deploy}}\n{FILE}")
    for command in (["validate"], ["explain", "live/dev"]):
        result = tidegate(*command)
        assert result.exit_code == 1
        assert "in the account 111111111111, not in 222222222222" in result.stdout


def test_the_runner_of_a_root_is_told_with_its_line(checkout, tidegate):
    (root,) = explained(tidegate, "live/dev")["roots"]
    assert root["runner"] is None
    (checkout / "tidegate.yaml").write_text(f"runner: {{cpu: 2, memory: 8, apply_timeout: 6h}}\n{FILE}")
    (root,) = explained(tidegate, "live/dev")["roots"]
    assert (root["runner"]["memory"], root["lines"]["runner"]) == (8192, 1)
    assert "2 vCPU, 8 GB memory, 6 hours for the apply" in tidegate("explain", "live/dev").output


def test_a_root_without_an_account_has_none_and_a_region_may_stand_alone(checkout, tidegate):
    (root,) = explained(tidegate, "live/dev")["roots"]
    assert root["aws"] is None
    (checkout / "tidegate.yaml").write_text(f"aws: {{region: eu-west-1}}\n{FILE}")
    (root,) = explained(tidegate, "live/dev")["roots"]
    assert root["aws"] == {"account": None, "plan_role": None, "apply_role": None, "region": "eu-west-1"}
    assert "region eu-west-1" in tidegate("explain", "live/dev").stdout
