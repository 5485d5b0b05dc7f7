"""Documents cannot rot: what they name exists, and what they tell people to run is run."""

from __future__ import annotations

import os
import re
import subprocess
import sys
from pathlib import Path

import boto3
import pytest
from botocore import xform_name
from typer.testing import CliRunner

from docs import cluster_tasks
from docs.decision_index import INDEX, index
from tidegate.config.loader import load_configuration
from tidegate.reconciler.reconcile import REPAIRS
from tidegate.web.rules import RULES
from tidegate_cli.main import app

TOP = Path(__file__).parents[2]
DOCUMENTS = sorted(
    [*TOP.glob("*.md"), *TOP.glob("docs/**/*.md"), *TOP.glob("tidegate_cdk/*.md"), *TOP.glob("stepfunctions/*.md")]
)
README = (TOP / "README.md").read_text(encoding="utf-8")
START = (TOP / "docs/start.md").read_text(encoding="utf-8")
INSTALL = (TOP / "docs/install.md").read_text(encoding="utf-8")
OPERATIONS = (TOP / "docs/operations.md").read_text(encoding="utf-8")

#: What CI runs; the rest of the commands of README and installation guide is run by the tests named here.
RUN_BY_TESTS = {
    "make up": "tests/local/test_command.py",
    "make deploy": "tests/unit/doctor/test_doctor.py",
    ".venv/bin/tidegate status": "tests/cli/test_against_the_api.py",
    ".venv/bin/tidegate setup": "tests/cli/test_setup.py",
    ".venv/bin/tidegate secret app --id 123456 --key app.pem": "tests/cli/test_secret.py",
    ".venv/bin/tidegate secret webhook": "tests/cli/test_secret.py",
}


def blocks(text):
    return re.findall(r"^ *```sh\n(.*?)^ *```", text, re.MULTILINE | re.DOTALL)


def commands(text):
    return [line.partition("#")[0].strip() for block in blocks(text) for line in block.splitlines() if line.strip()]


def test_every_command_of_readme_and_installation_is_run_by_ci_or_by_a_test():
    ran_by_ci = (TOP / ".ci/run").read_text(encoding="utf-8").splitlines()
    rest = [command for command in commands(README + INSTALL) if command not in ran_by_ci]
    assert [command for command in rest if command not in RUN_BY_TESTS] == []
    assert [test for command in rest if not (TOP / (test := RUN_BY_TESTS[command])).is_file()] == []


@pytest.mark.parametrize("text", [README, START, INSTALL, OPERATIONS], ids=["README", "start", "install", "operations"])
def test_every_make_target_of_a_document_exists(text):
    targets = [command for command in commands(text) if command.startswith("make ")]
    words = [word for target in targets for word in target.split()[1:]]
    done = subprocess.run(["make", "--dry-run", *words], cwd=TOP, capture_output=True, text=True, check=False)
    assert targets
    assert done.returncode == 0, done.stderr


TIDEGATE = re.compile(r"(?:\S*/)?tidegate (.*)")


@pytest.mark.parametrize(
    "command",
    [found[1] for line in commands(README + START + INSTALL + OPERATIONS) if (found := TIDEGATE.fullmatch(line))],
)
def test_every_tidegate_command_of_a_document_exists(command):
    words = [word for word in command.split() if not word.startswith("-")]
    result = CliRunner().invoke(app, [*words[:2], "--help"])
    assert result.exit_code == 0, result.output


@pytest.mark.parametrize("block", blocks(OPERATIONS), ids=lambda block: block.strip().splitlines()[0][:60])
def test_every_command_of_the_operations_is_one_that_a_shell_understands(block):
    done = subprocess.run(["bash", "-n"], input=block, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr


#: Options of the AWS command line itself; ``--no-NAME`` sets what ``--NAME`` sets.
GLOBAL_OPTIONS = {"query", "output"}
WORD = r"""--[a-z-]+|\$\([^)]*\)|"[^"]*"|'[^']*'|[^\s;|)]+"""
AWS = re.compile(rf"\baws (?!s3 )([a-z]+) (?:(wait) )?([a-z0-9-]+)((?: +(?:{WORD}))*)")


@pytest.mark.parametrize("call", sorted({found[0] for found in AWS.finditer("\n".join(commands(OPERATIONS)))}))
def test_every_call_of_aws_in_the_operations_exists_with_its_options(call):
    service, wait, operation, rest = AWS.fullmatch(call).groups()
    client = boto3.client(service, region_name="us-east-1", aws_access_key_id="x", aws_secret_access_key="x")
    if wait:
        operation = xform_name(client.get_waiter(operation.replace("-", "_")).config.operation)
    name = client.meta.method_to_api_mapping[operation.replace("-", "_")]
    shape = client.meta.service_model.operation_model(name).input_shape
    known = {xform_name(member, "-") for member in shape.members} | GLOBAL_OPTIONS
    given = {option.removeprefix("no-") for option in re.findall(r" --([a-z-]+)", rest)}
    assert given <= known
    required = {xform_name(member, "-") for member in shape.required_members}
    assert required <= given


def test_every_repair_and_every_route_of_the_api_has_a_row_in_its_document():
    repairs = [repair.__name__ for repair in REPAIRS]
    rows = re.findall(r"^\| `([a-z_]+)` \|", (TOP / "docs/operations.md").read_text(encoding="utf-8"), re.MULTILINE)
    assert sorted(repairs) == sorted(rows)
    routes = {re.sub(r"<(\w+)>", r"{\1}", route) for route in RULES if " /api/" in route} - {"GET /api/v1/openapi.json"}
    told = re.findall(r"^\| `([A-Z]+ /api/v1/[^ ?`]+)", (TOP / "docs/web.md").read_text(encoding="utf-8"), re.MULTILINE)
    assert sorted(routes) == sorted(told)


def test_every_link_to_a_file_leads_somewhere():
    links = [
        (document, number, target)
        for document in DOCUMENTS
        for number, line in enumerate(document.read_text(encoding="utf-8").splitlines(), 1)
        for target in re.findall(r"\]\(([^)#\s]+)", line)
    ]
    broken = [
        f"{document.relative_to(TOP)}:{number}: {target}"
        for document, number, target in links
        if not re.match(r"[a-z]+:", target) and not (document.parent / target).exists()
    ]
    assert links
    assert not broken, "\n".join(broken)


@pytest.mark.parametrize("text", [README, INSTALL], ids=["README", "install"])
def test_the_configuration_of_a_document_is_accepted(text):
    example = re.search(r"```yaml\n(.*?)```", text, re.DOTALL).group(1)
    roots = load_configuration(example.encode(), "owner/name").roots
    assert {declared.root.name for declared in roots} == {"network", "orders"}


def test_the_configuration_of_the_tutorial_is_that_of_its_example():
    example = re.search(r"```yaml\n(.*?)```", START, re.DOTALL).group(1)
    assert example == (TOP / "examples/tutorial/tidegate.yaml").read_text(encoding="utf-8")


def test_the_readme_fits_on_two_screens():
    assert len(README.splitlines()) <= 90


def test_what_belongs_to_a_numbered_step_is_indented_by_four_spaces():
    """Else the site ends the list there, and the next step is 1 again."""
    loose = [
        f"{document.relative_to(TOP)}: {found[1]}"
        for document in DOCUMENTS
        if document.parent.name != "decisions"
        for found in re.finditer(
            r"^\d+\. .*\n(?:   .*\n)*\n   (\S.*)", document.read_text(encoding="utf-8"), re.MULTILINE
        )
    ]
    assert not loose, "\n".join(loose)


def test_the_index_of_decisions_is_what_make_docs_writes():
    assert INDEX.read_text(encoding="utf-8") == index()


def test_the_tasks_of_clusters_are_what_make_docs_writes():
    text = cluster_tasks.PAGE.read_text(encoding="utf-8")
    assert text == cluster_tasks.page(text)
    assert "`pivot-to-management`" in text


def test_the_site_builds_and_its_links_and_anchors_lead_somewhere(tmp_path):
    command = [sys.executable, "-m", "mkdocs", "build", "--strict", "--quiet", "--site-dir", str(tmp_path)]
    environment = {**os.environ, "NO_MKDOCS_2_WARNING": "1"}
    done = subprocess.run(command, cwd=TOP, env=environment, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr
    assert (tmp_path / "start/index.html").is_file()
