"""``tidegate validate``: what it says of a file, to people and to scripts."""

from __future__ import annotations

import json
from pathlib import Path

import jsonschema
import pytest
from typer.testing import CliRunner

from tests.configuration import refusal
from tidegate.config.model.file import WHEN_MODIFIED
from tidegate.config.schema import json_schema
from tidegate_cli import configuration_reference
from tidegate_cli.main import app

WRONG = "version: 1\nengine: pulumi\nroots:\n  - {dir: a, wrokspace: x}\n"
MISLEADING = "version: 1\napply_requirements:\n  checks:\n    - tag_query: a b or c\n"


@pytest.fixture
def validate(tmp_path):
    def run(text: str | None, *options: str):
        path = tmp_path / "tidegate.yaml"
        if text is not None:
            path.write_text(text, encoding="utf-8")
        return CliRunner().invoke(app, ["validate", str(path), *options])

    return run


def test_every_mistake_is_told_in_the_order_of_the_lines(validate):
    result = validate(WRONG)
    first, second, last = result.output.splitlines()
    assert "tidegate.yaml:2:9: 'pulumi'" in first
    assert "tidegate.yaml:4:14: unknown key 'wrokspace'. Did you mean 'workspace'?" in second
    assert last.startswith("2 mistakes")
    assert result.exit_code == 1


def test_a_file_in_order_is_said_to_be_and_what_misleads_is_warned_of(validate):
    result = validate(MISLEADING)
    assert "tidegate.yaml:4:18: column 1 of the tag query: adjacent tags" in result.output
    assert "is valid" in result.output
    assert result.exit_code == 0


def test_destinations_of_notifications_are_said_not_to_be_checked(validate):
    told = "notifications: [{destinations: [owners, deploys], events: [failed]}]\n"
    result = validate(told)
    assert "deploys, owners" in result.stderr
    assert result.exit_code == 0
    assert validate("version: 1\n").stderr == ""
    assert json.loads(validate(told, "--json").stdout)["valid"]


def test_config_updates_are_checked_in_the_words_of_the_check(validate):
    example = Path(__file__).parents[2] / "examples/config-repository/tidegate.yaml"
    text = example.read_text(encoding="utf-8")
    result = validate(text)
    assert (result.exit_code, ", 1 image set." in result.output) == (0, True), result.output
    wrong = text.replace("images/internal.json", "images/staging.json")
    result = validate(wrong)
    assert result.exit_code == 1
    assert str(refusal(wrong)) in result.output.replace("\n", " ")


def test_scripts_get_a_document(validate):
    wrong = validate(WRONG, "--json")
    assert wrong.exit_code == 1
    document = json.loads(wrong.output)
    assert (document["valid"], [each["line"] for each in document["errors"]]) == (False, [2, 4])
    warned = json.loads(validate(MISLEADING, "--json").output)
    assert (warned["valid"], warned["errors"], warned["warnings"][0]["line"]) == (True, [], 4)


def test_a_file_that_is_not_there_or_cannot_be_read_is_told(validate, tmp_path):
    assert validate(None).exit_code == 3
    assert CliRunner().invoke(app, ["validate", str(tmp_path)]).exit_code == 1


def test_what_a_file_says_never_acts_on_the_terminal(validate):
    assert "\x1b" not in validate('version: 1\n"a\\e[31m": 1\n').output


def test_the_schema_is_printed_and_takes_what_the_program_takes(validate):
    schema = json.loads(validate(None, "--schema").output)
    jsonschema.Draft202012Validator.check_schema(schema)
    jsonschema.validate(
        {"version": 1, "engine": "tofu", "dirs": {"a": None}, "when_modified": {"file_patterns": ["*"]}}, schema
    )
    with pytest.raises(jsonschema.ValidationError):
        jsonschema.validate({"version": 1, "rots": []}, schema)


def test_published_schema_and_reference_are_what_the_models_say():
    published = configuration_reference.SCHEMA.read_text(encoding="utf-8")
    assert json.loads(published) == json_schema(), "run: make docs"
    text = configuration_reference.DOCUMENT.read_text(encoding="utf-8")
    assert configuration_reference.in_document(text) == configuration_reference.generated(), "run: make docs"


def test_the_patterns_that_hold_by_themselves_are_in_the_reference():
    text = configuration_reference.DOCUMENT.read_text(encoding="utf-8")
    assert [pattern for pattern in WHEN_MODIFIED if f"`{pattern}`" not in text] == []


def test_every_example_of_the_reference_is_a_file_in_order(validate):
    text = configuration_reference.DOCUMENT.read_text(encoding="utf-8")
    examples = [part.partition("```")[0] for part in text.split("```yaml\n")[1:]]
    assert examples
    for example in examples:
        assert validate(example).exit_code == 0, example


@pytest.mark.parametrize("name", ["sample", "promotion", "clusters"])
def test_the_examples_are_in_order_and_mislead_nobody(validate, name):
    example = Path(__file__).parents[2] / "examples" / name / "tidegate.yaml"
    result = validate(example.read_text(encoding="utf-8"))
    assert result.exit_code == 0
    assert "! " not in result.output


def test_the_policies_of_the_sample_pass_their_own_tests():
    policies = Path(__file__).parents[2] / "examples" / "sample" / "policies"
    result = CliRunner().invoke(app, ["policy", "test", str(policies)])
    assert result.exit_code == 0
    assert "2 passed" in result.output
