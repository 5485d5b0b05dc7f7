"""The steps of a plan of a pull request: none runs what the pull request brings."""

from __future__ import annotations

import os
import shutil

import pytest

from tests.runner.conftest import Bench
from tests.runner.speculation import DEFAULT_PLAN, Commit, planned, refused, resource
from tidegate.deploys.rules.job import JobKind
from tidegate.deploys.rules.workflow import RunSettings, StepKind, WorkflowStep


@pytest.mark.parametrize("merges", [True, False])
def test_a_program_that_the_pull_request_changes_does_not_run(bench: Bench, *, merges: bool) -> None:
    head, base = bench.forge.pull_request(
        common={
            "network/main.tf": bench.backend() + resource("network"),
            "network/same.sh": "echo same old words\n",
            "check.sh": "echo checked\n",
        },
        head={"check.sh": f"touch {bench.directory}/ran\n"},
        base={},
    )
    same, changed = (WorkflowStep(StepKind.RUN, command=("sh", name)) for name in ("same.sh", "../check.sh"))
    message = refused(bench, head, base_sha=base, merges=merges, run=RunSettings(plan=(same, changed, *DEFAULT_PLAN)))
    assert "'../check.sh', which differs from the base branch" in message
    assert "same old words" in bench.result()["last_lines"]
    assert not (bench.directory / "ran").exists()


@pytest.mark.parametrize(
    ("links", "named"),
    [
        ({"tools/check.sh": "../.git/index"}, "../tools/check.sh"),
        ({"tools/check.sh": "other.sh"}, "../tools/check.sh"),
        ({"tools": "others"}, "../tools/check.sh"),
        ({"tools/check.sh": "other.sh"}, "../linked/check.sh"),
        ({"tools/check.sh": "other.sh"}, "linked.sh"),
    ],
)
def test_a_link_of_the_pull_request_leads_to_no_program(bench: Bench, links: dict[str, str], named: str) -> None:
    # git's index holds the names of files, and to a shell these are commands.
    evil = f"\ntouch {bench.directory}/ran\n".replace("/", "$SLASH")
    programs = {"tools/check.sh": "echo checked\n", "tools/other.sh": "echo other\n", "others/check.sh": "echo x\n"}
    common = {"network/main.tf": bench.backend() + resource("network"), **programs}
    head, base = bench.forge.pull_request(
        common, {evil: "x"}, {}, common_links={"linked": "tools", "network/linked.sh": "../tools/check.sh"}, links=links
    )
    step = WorkflowStep(StepKind.RUN, command=("sh", named), env=(("SLASH", "/"),))
    message = refused(bench, head, base_sha=base, run=RunSettings(plan=(step, *DEFAULT_PLAN)))
    assert "which differs from the base branch" in message
    assert not (bench.directory / "ran").exists()


@pytest.mark.parametrize("at", ["", "tools/"])
def test_a_program_that_git_would_write_in_another_form_does_not_run(bench: Bench, at: str) -> None:
    # Carriage returns here; in UTF-7, what stands behind a + means something else.
    head, base = bench.forge.pull_request(
        common={"network/main.tf": bench.backend() + resource("network"), "tools/judge.py": "raise SystemExit(1+1)\n"},
        head={f"{at}.gitattributes": "judge.py text eol=crlf\n"},
        base={},
    )
    step = WorkflowStep(StepKind.RUN, command=("python3", "-I", "../tools/judge.py"))
    message = refused(bench, head, base_sha=base, run=RunSettings(plan=(step, *DEFAULT_PLAN)))
    assert "'../tools/judge.py', which differs from the base branch" in message


def test_a_word_may_be_longer_than_any_name_of_a_file(bench: Bench, commit: Commit) -> None:
    step = WorkflowStep(StepKind.RUN, command=("sh", "-c", f"echo {'x' * 300}"))
    planned(bench, commit(resource("network")), run=RunSettings(plan=(step, *DEFAULT_PLAN)))


@pytest.mark.parametrize(
    ("command", "added"),
    [
        (("python3", "../tools/judge.py"), "tools/json.py"),
        (("python3", "../tools/judge.py"), "tools/json/__init__.py"),
        (("python3", "../tools/judge.py"), "tools/__pycache__/json.cpython-311.pyc"),
        (("python3", "-m", "judging"), "network/json.py"),
    ],
)
def test_a_program_does_not_import_what_the_pull_request_adds(
    bench: Bench, command: tuple[str, ...], added: str
) -> None:
    judge = "import json\nprint('judged')\n"
    head, base = bench.forge.pull_request(
        common={
            "network/main.tf": bench.backend() + resource("network"),
            "tools/judge.py": judge,
            "network/judging.py": judge,
        },
        head={added: f"open({str(bench.directory / 'ran')!r}, 'w')\n"},
        base={},
    )
    step = WorkflowStep(StepKind.RUN, command=command)
    message = refused(bench, head, base_sha=base, run=RunSettings(plan=(step, *DEFAULT_PLAN)))
    assert f"may import '{added}', which differs from the base branch" in message
    assert not (bench.directory / "ran").exists()


def test_an_isolated_program_runs_beside_what_the_pull_request_adds(bench: Bench) -> None:
    head, base = bench.forge.pull_request(
        common={
            "network/main.tf": bench.backend() + resource("network"),
            "tools/judge.py": "import json\nprint(json.dumps('judged'))\n",
        },
        head={"tools/json.py": f"open({str(bench.directory / 'ran')!r}, 'w')\n"},
        base={},
    )
    step = WorkflowStep(StepKind.RUN, command=("python3", "-I", "../tools/judge.py"))
    planned(bench, head, base_sha=base, run=RunSettings(plan=(step, *DEFAULT_PLAN)))
    assert not (bench.directory / "ran").exists()


@pytest.mark.parametrize("command", [("python3", "-I", "../tools/judge.py"), ("sh", "../tools/judge.py")])
def test_a_program_that_the_plan_writes_does_not_run(bench: Bench, commit: Commit, command: tuple[str, ...]) -> None:
    # As the data source archive_file does: an archive with a __main__.py is a program to Python.
    engine = bench.directory / "terraform"
    writing = f"[ $1 = plan ] && echo 'touch {bench.directory}/ran' > ../tools/judge.py"
    engine.write_text(f'#!/bin/sh\n{writing}\nexec {shutil.which("terraform")} "$@"\n')
    engine.chmod(0o755)
    sha = commit(resource("network"), **{"tools/judge.py": "print('judged')\n"})
    steps = (*DEFAULT_PLAN, WorkflowStep(StepKind.RUN, command=command))
    job = bench.job(JobKind.SPECULATE, sha, run=RunSettings(plan=steps))
    bench.run(job, PATH=f"{bench.directory}:{os.environ['PATH']}")
    assert "which the plan has written" in bench.result()["message"]
    assert not (bench.directory / "ran").exists()


def test_no_program_runs_once_the_plan_has_written_to_the_home_directory(bench: Bench, commit: Commit) -> None:
    engine = bench.directory / "terraform"
    engine.write_text(f'#!/bin/sh\n[ $1 = plan ] && echo x > ~/x.rc\nexec {shutil.which("terraform")} "$@"\n')
    engine.chmod(0o755)
    touch = WorkflowStep(StepKind.RUN, command=("touch", f"{bench.directory}/ran"))
    job = bench.job(JobKind.SPECULATE, commit(resource("network")), run=RunSettings(plan=(*DEFAULT_PLAN, touch)))
    bench.run(job, PATH=f"{bench.directory}:{os.environ['PATH']}")
    assert "the plan wrote 'x.rc' into the home directory" in bench.result()["message"]
    assert not (bench.directory / "ran").exists()


def test_settings_that_the_plan_writes_at_home_name_no_program(bench: Bench, commit: Commit) -> None:
    # As archive_file does: the names of its files stand in it as they are, and the SDK skips the lines around them.
    settings = f"[default]\\ncredential_process = touch {bench.directory}/ran\\n"
    writing = f"mkdir -p ~/.aws && printf '{settings}' > ~/.aws/config"
    engine = bench.directory / "terraform"
    reading = "for file in $AWS_CONFIG_FILE $AWS_SHARED_CREDENTIALS_FILE; do cat $file; done"
    engine.write_text(
        f"#!/bin/sh\n[ $1 = plan ] && {writing} && ({reading}) > {bench.directory}/read\n"
        f'exec {shutil.which("terraform")} "$@"\n'
    )
    engine.chmod(0o755)
    job = bench.job(JobKind.SPECULATE, commit(resource("network")))
    bench.run(job, PATH=f"{bench.directory}:{os.environ['PATH']}", AWS_CONFIG_FILE="/elsewhere")
    assert not (bench.directory / "read").read_text()


def test_a_program_that_a_step_writes_runs(bench: Bench, commit: Commit) -> None:
    write = WorkflowStep(StepKind.RUN, command=("cp", "../tools/same.sh", "../tools/judge.sh"))
    judge = WorkflowStep(StepKind.RUN, command=("sh", "../tools/judge.sh"))
    sha = commit(
        resource("network"), **{"tools/same.sh": f"touch {bench.directory}/ran\n", "tools/judge.sh": "exit 1\n"}
    )
    planned(bench, sha, run=RunSettings(plan=(*DEFAULT_PLAN, write, judge)))
    assert (bench.directory / "ran").exists()
