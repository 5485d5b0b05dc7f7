"""The command as a whole: help, version, completion, what it imports, and its documentation."""

from __future__ import annotations

import json
import os
import re
import subprocess
import sys
from pathlib import Path

import pytest
from typer.testing import CliRunner

from tests.cli.conftest import TOKEN, brief, details, root
from tidegate_cli import reference, screen
from tidegate_cli.exits import Exit
from tidegate_cli.main import app

TOP = Path(__file__).parents[2]
#: Pydantic is not among them: typer itself reads arguments with it.
SLOW = {"boto3", "botocore", "moto", "aws_cdk", "jsii", "httpx", "cryptography", "github"}


def test_the_documentation_is_what_the_program_says_of_itself():
    text = reference.DOCUMENT.read_text(encoding="utf-8")
    assert reference.in_document(text) == reference.generated(), "run: make docs"


def test_every_command_line_of_the_documentation_is_one_that_is_understood():
    text = reference.DOCUMENT.read_text(encoding="utf-8")
    lines = [line.partition("#")[0].split() for line in re.findall(r"^tidegate .*$", text, re.MULTILINE)]
    assert lines
    for words in lines:
        options = {word for word in words if word.startswith("--")}
        shown = CliRunner().invoke(app, [words[1], "--help"], env={"COLUMNS": "200"})
        assert shown.exit_code == 0
        assert all(option in shown.output for option in options)


@pytest.mark.parametrize(
    ("words", "prefix"), [([], "acme"), (["--prefix", "other"], "other"), (["-c", "prefix=another"], "another")]
)
def test_doctor_looks_at_the_installation_that_is_named(monkeypatch, words, prefix):
    asked = []
    monkeypatch.setattr(
        "tidegate_cli.doctor.checks.run_checks", lambda _file, context: asked.append(context) or iter(())
    )
    CliRunner().invoke(app, ["doctor", *words], env={"TIDEGATE_PREFIX": "acme"})
    assert asked == [{"prefix": prefix}]


def test_help_names_every_command_and_every_exit_code():
    shown = CliRunner().invoke(app, ["--help"], env={"COLUMNS": "80"})
    acting = ["deploy", "approve", "reject", "lock", "unlock"]
    for name in ["status", "queue", *acting, "logs", "doctor", "secret", "local"]:
        assert re.search(rf"^. {name} ", shown.output, re.MULTILINE)
    line = re.sub(r"\s+", " ", shown.output)
    assert all(f"{code.value} {code.word}" in line for code in Exit)


def test_help_is_quick_because_nothing_slow_is_imported():
    program = (
        "import sys, contextlib\n"
        "from tidegate_cli.main import app\n"
        "for words in (['--help'], ['status', '--help'], ['local', 'up', '--help'], ['--version']):\n"
        "    with contextlib.suppress(SystemExit): app(words)\n"
        "print(sorted({name.partition('.')[0] for name in sys.modules}), file=sys.stderr)"
    )
    done = subprocess.run([sys.executable, "-c", program], cwd=TOP, capture_output=True, text=True, check=True)
    assert not SLOW & set(re.findall(r"'(\w+)'", done.stderr))


def test_the_version_is_the_packages():
    shown = CliRunner().invoke(app, ["--version"]).output
    assert re.fullmatch(r"tidegate \d+\.\d+\.\d+\n", shown)


def test_a_mistyped_command_is_answered_with_the_one_that_was_meant():
    result = CliRunner().invoke(app, ["statsu"])
    assert result.exit_code == 2
    assert "status" in result.output


def complete(words, **environment):
    """Return what a shell offers after these words."""
    asked = {"_TIDEGATE_COMPLETE": "complete_zsh", "_TYPER_COMPLETE_ARGS": f"tidegate {words}"}
    return CliRunner().invoke(app, [], prog_name="tidegate", env={**asked, **environment}).stdout


def test_the_shell_completes_commands_and_options():
    assert "status" in complete("sta")
    assert "--follow" in complete("logs --fo")


def test_the_shell_completes_repositories_and_roots(api):
    api.answers |= {
        "GET /api/v1/repositories": {"repositories": [{"name": "acme/live"}, {"name": "other/live"}]},
        "GET /api/v1/repositories/acme/live/roots": {
            "repository": "acme/live",
            "roots": [root(), root(name="network")],
        },
    }
    known = {"TIDEGATE_URL": api.url, "TIDEGATE_TOKEN": TOKEN}
    offered = complete("status ac", **known)
    assert "acme/live" in offered
    assert "other" not in offered
    assert "network" in complete("queue acme/live ", **known)
    assert "orders" in complete("deploy acme/live network or", **known)


def test_completion_without_a_server_offers_nothing_and_says_nothing():
    assert complete("queue acme/live ", TIDEGATE_URL="http://127.0.0.1:9", TIDEGATE_TOKEN=TOKEN).strip() in {
        "",
        "_files",
    }


def test_nothing_but_text_reaches_a_pipe_and_80_columns_are_enough(api, tidegate):
    api.answers |= {
        "GET /api/v1/repositories": {"repositories": [{"name": "acme/live"}]},
        "GET /api/v1/repositories/acme/live/roots": {
            "repository": "acme/live",
            "roots": [root(running=brief()), root(name="live/production/" + "network" * 9, last=brief())],
        },
        "GET /api/v1/deployments/orders-0123456-0a1b2c3d4e5f": details(),
    }
    for words in (["status"], ["status", "acme/live"], ["status", "orders-0123456-0a1b2c3d4e5f"]):
        shown = tidegate(*words).stdout
        assert "\x1b" not in shown
        for line in shown.splitlines():
            assert len(line) <= 80 or "→" in line or "://" in line


def test_every_command_that_asks_the_api_takes_an_address_a_person_and_json():
    for name in ("status", "queue", "deploy", "approve", "reject", "unlock", "logs"):
        shown = CliRunner().invoke(app, [name, "--help"]).output
        assert all(option in shown for option in ("--url", "--as", "--json"))


def test_a_terminal_with_few_letters_is_no_reason_to_fail(api):
    api.answers["GET /api/v1/deployments/orders-0123456-0a1b2c3d4e5f"] = details()
    environment = {**os.environ, "TIDEGATE_URL": api.url, "TIDEGATE_TOKEN": TOKEN, "PYTHONIOENCODING": "ascii"}
    command = [sys.executable, "-m", "tidegate_cli.main", "status", "orders-0123456-0a1b2c3d4e5f"]
    done = subprocess.run(command, cwd=TOP, env=environment, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr
    assert "waiting for review" in done.stdout


def test_json_goes_to_stdout_and_notes_do_not(api, tidegate):
    api.answers["GET /api/v1/deployments/orders-0123456-0a1b2c3d4e5f"] = details()
    assert json.loads(tidegate("status", "orders-0123456-0a1b2c3d4e5f", "--json").stdout)["root"] == "orders"


def test_an_option_of_a_command_that_stands_before_it_is_told_where_it_belongs():
    refused = CliRunner().invoke(app, ["--as", "reviewer", "status"])
    assert refused.exit_code == 2
    assert "--as is an option of commands: write it after the command's name." in refused.output
    assert "No such option: --nope" in CliRunner().invoke(app, ["--nope"]).output


def test_what_is_piped_is_not_folded(monkeypatch, capsys):
    monkeypatch.delenv("COLUMNS", raising=False)
    table = screen.table("Root")
    table.add_row("live/" + "x" * 300)
    screen.console().print(table)
    assert "live/" + "x" * 300 in capsys.readouterr().out.splitlines()
