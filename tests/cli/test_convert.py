"""``tidegate convert``: whatever is in a file, what comes out is usable, and nothing is lost without a word."""

from __future__ import annotations

import json

import pytest
import yaml
from hypothesis import HealthCheck, given
from hypothesis import strategies as st

from tests.chance import examples
from tests.cli.foreign_files import ATLANTIS, TERRATEAM, Conversions
from tidegate.config.loader import load_configuration
from tidegate.documents.document import read_document
from tidegate.rules.errors import InvalidConfiguration
from tidegate_cli.converting.draft import finished
from tidegate_cli.converting.formats import draft_of
from tidegate_cli.converting.kind import Kind
from tidegate_cli.problems import Refused


@pytest.fixture
def files(tidegate, tmp_path):
    return Conversions(tidegate, tmp_path)


@pytest.mark.parametrize(("text", "name"), [(ATLANTIS, "atlantis.yaml"), (TERRATEAM, "config.yml")])
def test_a_report_tells_of_each_line_with_a_value_what_became_of_it(files, text, name):
    _, report = files.made(text, name)
    reported = {each["line"] for each in report}
    values = {n for n, line in enumerate(text.splitlines(), 1) if line.strip() and not line.rstrip().endswith(":")}
    assert values <= reported
    assert {each["fate"] for each in report} <= {"kept", "changed", "dropped"}
    assert all(each["text"] for each in report if each["fate"] == "changed")


def test_the_report_is_read_in_the_terminal_beside_the_file(files, tmp_path):
    result = files.run(ATLANTIS, "atlantis.yaml", "--output", str(tmp_path / "tidegate.yaml"))
    lines = result.stderr.splitlines()
    assert result.exit_code == 0
    assert f"✔ {tmp_path}/atlantis.yaml:4-5: kept" in lines
    assert any(line.startswith(f"~ {tmp_path}/atlantis.yaml:6: changed: ") for line in lines)
    assert "kept" in lines[-1]
    assert "changed" in lines[-1]


def test_what_is_lost_must_be_agreed_to_by_its_name_or_by_that_of_what_it_is_in(files):
    text = "version: 3\nprojects: [{dir: a, custom_policy_check: true, plan_requirements: [approved]}]\n"
    assert files.lost(text, "atlantis.yaml") == ["projects.custom_policy_check", "projects.plan_requirements"]
    one = ("--lossy", "projects.custom_policy_check")
    assert files.lost(text, "atlantis.yaml", *one) == ["projects.plan_requirements"]
    _, report = files.made(text, "atlantis.yaml", "--lossy", "projects")
    assert [each["lossy"] for each in report if each["lossy"]] == files.lost(text, "atlantis.yaml")


def test_nothing_is_written_until_somebody_agrees(files, tmp_path):
    text, output = "version: 3\nprojects: [{dir: a, plan_requirements: [approved]}]\n", tmp_path / "tidegate.yaml"
    words = ("--output", str(output))
    result = files.run(text, "atlantis.yaml", *words)
    assert (result.exit_code, output.exists()) == (1, False)
    assert f"✘ {tmp_path}/atlantis.yaml:2: plan_requirements: " in result.stderr
    assert "accept the loss: --lossy projects.plan_requirements" in " ".join(result.stderr.split())
    assert files.run(text, "atlantis.yaml", *words, "--lossy", "projects.plan_requirements").exit_code == 0
    assert output.exists()


def test_a_refusal_is_one_document_with_what_is_lost_and_its_line(files):
    result = files.run("version: 3\npolicies: {a: b}\n", "atlantis.yaml", "--json")
    error = json.loads(result.stdout)["error"]
    assert result.exit_code == 1
    assert "atlantis.yaml:2: policies: " in error["message"]
    assert "--lossy policies" in error["hint"]


MERGED = """\
version: 3
projects:
- &base
  name: a
  dir: a
  autoplan: &plan {enabled: true, when_modified: ['*.tf']}
- <<: *base
  name: b
  dir: b
- <<: [{terraform_version: 1.6.0}, *base]
  name: c
  dir: c
  autoplan: {<<: *plan, enabled: false}
"""


def test_keys_that_are_merged_count_as_if_they_were_written_out(files):
    made, _ = files.made(MERGED, "atlantis.yaml")
    assert set(made["dirs"]) == {"a", "b", "c"}
    assert made["dirs"]["b"]["when_modified"] == {"file_patterns": ["*.tf"]}
    assert made["dirs"]["c"]["when_modified"] == {"file_patterns": ["*.tf"], "autoplan": False}
    assert made["dirs"]["c"]["engine"]["version"] == "1.6.0"


ARGO = "apiVersion: argoproj.io/v1alpha1\nkind: Application\nspec: {project: default}\n"


@pytest.mark.parametrize(
    ("text", "name", "words"),
    [
        (ARGO, "atlantis.yaml", "Kubernetes manifest (Application)"),
        ("services: {a: {image: b}}\n", "config.yml", "its keys are services"),
        ("version: 1\nplan_review: never\n", "atlantis.yaml", "already seems to be a Tidegate file"),
        ("workflows: {}\nautomerges: true\n", "atlantis.yaml", "--from atlantis"),
        ("- a\n", "atlantis.yaml", "not a mapping"),
        ("", "atlantis.yaml", "it is empty"),
        ("a: [\n", "atlantis.yaml", "invalid YAML"),
        ("\x00", "atlantis.yaml", "invalid YAML"),
        ("a: 1\na: 2\n", "atlantis.yaml", "duplicate"),
        ("<<: [a]\n", "atlantis.yaml", "expected a mapping"),
    ],
)
def test_what_is_of_no_tool_that_is_known_is_refused_whatever_its_name(files, text, name, words):
    result = files.run(text, name)
    assert result.exit_code == 1
    assert words in " ".join(result.output.split())


def test_a_file_is_known_by_what_it_says_and_not_by_its_name(files):
    made, _ = files.made(ATLANTIS, "config.yml")
    assert made["apply"] == "in_pull_request"
    assert "live/net" in made["dirs"]


def test_there_must_be_a_file(tidegate, tmp_path):
    assert tidegate("convert", str(tmp_path / "none.yaml")).exit_code == 3


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


def test_json_has_the_file_and_the_report(files):
    document = json.loads(files.run(ATLANTIS, "atlantis.yaml", "--json").stdout)
    assert document["content"].startswith("version: 1\n")
    assert document["from"] == "atlantis"
    assert document["left_out"][0]["line"] == 1
    assert {"line": 5, "key": "projects.0.dir", "fate": "kept", "text": "", "lossy": None} in document["report"]


def test_many_mistakes_are_told_together(files):
    text = "dirs:\n" + "".join(f"  d{n}: {{wrong: 1}}\n" for n in range(300))
    made, report = files.made(text, "config.yml", "--lossy", "dirs.wrong")
    assert len(made["dirs"]) == 301
    assert sum("wrong" in each["text"] for each in report) == 300


def test_a_file_of_nothing_but_mistakes_is_refused_and_not_read_for_ever(files, monkeypatch):
    monkeypatch.setattr("tidegate_cli.converting.draft._MOST_READINGS", 2)
    result = files.run("dirs:\n" + "".join(f"  d{n}: {{wrong: 1}}\n" for n in range(201)), "config.yml")
    assert result.exit_code == 1
    assert "far too many of its values are invalid" in " ".join(result.output.split())


@pytest.mark.parametrize("key", ["name", "workspace", "terraform_version"])
def test_a_number_longer_than_any_is_text(files, key):
    text = f"version: 3\nprojects: [{{dir: a, {key}: {'9' * 5000}}}]"
    assert "mistake of its own" not in files.run(text, "atlantis.yaml", "--lossy", "projects").output


@pytest.mark.parametrize(
    "text",
    [
        f"x: &a {'y' * 400_000}\nprojects: [{{dir: a, depends_on: [{'*a, ' * 50_000}]}}]",
        "a0: &a0 {}\n" + "".join(f"a{n}: &a{n} {{<<: [{'*a' + str(n - 1) + ', '} {'*a' + str(n - 1)}]}}\n"
                                     for n in range(1, 30)),
    ],
    ids=["aliases", "merges"],
)  # fmt: skip
def test_what_aliases_make_far_too_long_is_refused(files, text):
    result = files.run(text, "atlantis.yaml")
    assert (result.exit_code, "too m" in result.output) == (1, True)


_INNER = """
    name dir workspace tags steps run env plan apply init names tag_query rules apply_after workspaces type cmd
    when_modified file_patterns depends_on enabled approved checks policies autoplan extra_args unlock branch
    execution_order_group autodiscover mode multienv output autoapply attributes id key value category sensitive
    vcs-repo identifier vcs vendor terraform hooks before after environment variables include exclude blocks workflow
    include_patterns exclude_patterns env_vars commands workflow_configuration on_commit_to_default project_root
"""
_OUTER = """
    version projects workflows dirs stacks access_control apply_requirements when_modified engine hooks
    tags drift destination_branches enabled default_tf_version automerge checkout_strategy data included meta stack
    stack_defaults generate_projects auto_merge respect_layers
"""
_TEXTS = ["a", "prod", "", "workspaces", "vars", "${DIR}/*.tf", "*.tf", "../x"]
_VALUES = st.recursive(
    st.none()
    | st.booleans()
    | st.integers(-3, 3)
    | st.sampled_from(["a", "prod", "", "workspaces", "vars", "${DIR}/*.tf", "*.tf", "../x"]),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.sampled_from(_INNER.split()), inner, max_size=4),
    max_leaves=12,
)
_FILES = st.dictionaries(st.sampled_from(_OUTER.split()), _VALUES, min_size=1, max_size=4)


@examples(200, suppress_health_check=list(HealthCheck))
@given(content=_FILES, kind=st.sampled_from(list(Kind)))
def test_whatever_is_in_a_file_what_comes_out_is_usable_and_all_of_it_is_told(content, kind):
    document = read_document("file", yaml.safe_dump(content).encode(), merging=True)
    try:
        draft = draft_of(document, kind)
        text = finished(draft)
    except (InvalidConfiguration, Refused):
        return
    load_configuration(text.encode(), "acme/live")
    entries = draft.ledger.entries()
    leaves = [path for path in document.places if path and "\0key" not in path]
    told = {each.key for each in entries}
    for path in leaves:
        names = [".".join(map(str, path[:length])) for length in range(len(path) + 1)]
        inside = any(key.startswith(f"{names[-1]}.") for key in told)
        assert inside or names[-1] in told, (path, content)
