"""The engine's output: complete, in order, line by line, with secrets masked wherever it goes."""

from __future__ import annotations

import base64
import io
import json
import re
import signal
from collections.abc import Callable
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from runner.descendants import children_of
from runner.log import LONGEST_LINE, JobLog, copy_masked, error_lines, last_lines
from runner.masking import MASK, Masker
from runner.progress import PlanProgress
from runner.report import LONGEST_CAUSE, cause
from tests.runner.conftest import Bench
from tests.runner.engines import fake_engine, provisioned
from tests.runner.fake_aws import ENGINE_SECRET, JOB_TOKEN, START_TOKEN
from tidegate.deploys.rules.job import JobKind
from tidegate.deploys.rules.workflow import PLAN_STEPS, RunSettings, StepKind, WorkflowStep
from tidegate.plans.rules.engine_errors import engine_errors
from tidegate.plans.rules.structured_file import unpacked
from tidegate.roots.rules.root import Engine

Commit = Callable[..., str]
SECRET = "correct-horse-battery"


def emitted(log: JobLog) -> str:
    log.end_line()
    log.close()
    return log.path.read_text(encoding="utf-8")


@pytest.fixture
def log(tmp_path: Path) -> JobLog:
    return JobLog(tmp_path / "job.log", Masker(), io.StringIO())


# Masking


def test_a_value_is_masked_as_engines_print_what_looks_like_a_template() -> None:
    masker = Masker()
    masker.add(['a"${b}%{c}'])
    assert masker.mask('x = "a\\"$${b}%%{c}"') == f'x = "{MASK}"'
    assert masker.mask('a"${b}%{c}') == MASK


@pytest.mark.parametrize(
    "spelling",
    [
        SECRET,
        f"a {SECRET} b",
        base64.b64encode(SECRET.encode()).decode(),
    ],
)
def test_a_known_value_is_masked(spelling: str) -> None:
    masker = Masker()
    masker.add([SECRET])
    assert SECRET not in masker.mask(spelling)
    assert MASK in masker.mask(spelling)


def test_a_value_is_masked_as_it_stands_in_json_and_by_its_lines() -> None:
    masker = Masker()
    masker.add(['line "one"\nline two\n'])
    assert masker.mask('x line "one" x') == f"x {MASK} x"
    assert masker.mask("line two") == MASK
    assert masker.mask(json.dumps('line "one"')) == f'"{MASK}"'


def test_values_too_short_to_be_told_from_other_text_are_left() -> None:
    masker = Masker()
    masker.add(["yes", "", "443", " "])
    assert masker.mask("yes, port 443") == "yes, port 443"


def test_the_longer_of_two_values_is_masked_whole() -> None:
    masker = Masker()
    masker.add(["hunter", "hunter-of-secrets"])
    assert masker.mask("hunter-of-secrets") == MASK


def test_configured_patterns_are_masked() -> None:
    assert Masker([r"ghp_\w+"]).mask("token ghp_abc123 used") == f"token {MASK} used"


@given(
    st.lists(st.sampled_from(["word ", "\n", SECRET, "x" * 900, "\r\n", "ü"]), max_size=60),
    st.lists(st.integers(1, 4000), min_size=1, max_size=20),
)
def test_no_way_of_cutting_the_output_shows_a_secret(parts: list[str], sizes: list[int]) -> None:
    import tempfile

    content = "".join(parts).encode()
    masker = Masker()
    masker.add([SECRET])
    with tempfile.TemporaryDirectory() as directory:
        log = JobLog(Path(directory) / "log", masker, io.StringIO())
        position = 0
        while position < len(content):
            size = sizes[position % len(sizes)]
            log.write(content[position : position + size])
            position += size
        text = emitted(log)
    expected = content.decode().replace(SECRET, MASK).replace("\r\n", "\n")
    # A line of more than LONGEST_LINE characters is continued on the next one.
    assert text.replace("\n", "") == expected.replace("\n", "")
    assert SECRET not in text


@pytest.mark.parametrize("before", [LONGEST_LINE - len(SECRET) + shift for shift in range(len(SECRET) + 2)])
def test_a_secret_where_an_overlong_line_is_cut_is_masked_whole(tmp_path: Path, before: int) -> None:
    masker = Masker()
    masker.add([SECRET])
    log = JobLog(tmp_path / "job.log", masker, io.StringIO())
    log.write(b"x" * before + SECRET.encode()[:5])
    log.write(SECRET.encode()[5:] + b"y" * LONGEST_LINE * 2)
    assert emitted(log).replace("\n", "") == "x" * before + MASK + "y" * LONGEST_LINE * 2


# Lines


def test_lines_appear_on_the_console_as_soon_as_they_end(tmp_path: Path) -> None:
    console = io.StringIO()
    log = JobLog(tmp_path / "job.log", Masker(), console)
    log.write(b"first\nsec")
    assert console.getvalue() == "first\n"
    log.write(b"ond\n")
    assert console.getvalue() == "first\nsecond\n"
    log.close()


def test_of_a_log_without_an_end_the_console_gets_what_pages_show(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("runner.log.LONGEST_LOG", 1_000)
    console = io.StringIO()
    log = JobLog(tmp_path / "job.log", Masker(), console)
    for number in range(1_000):
        log.write(b"line %d\n" % number)
    assert len(console.getvalue()) < 1_200
    assert "the log in S3 has all" in console.getvalue()
    assert emitted(log).endswith("line 999\n")


def test_bytes_that_are_no_utf8_are_replaced_and_letters_may_be_split(log: JobLog) -> None:
    log.write(b"\xc3")
    log.write(b"\xbc \xff\n")
    assert emitted(log) == "ü \ufffd\n"


def test_an_unfinished_line_is_emitted_when_its_process_has_ended(log: JobLog) -> None:
    log.write(b"no line break")
    assert emitted(log) == "no line break\n"


def test_overlong_lines_do_not_stall(log: JobLog) -> None:
    log.write(b"x" * LONGEST_LINE * 5)
    assert log.lines >= 4
    assert emitted(log).replace("\n", "") == "x" * LONGEST_LINE * 5


def test_the_last_lines_are_few_and_masked(tmp_path: Path) -> None:
    file = tmp_path / "log"
    file.write_text("".join(f"line {number} {SECRET}\n" for number in range(1000)))
    masker = Masker()
    masker.add([SECRET])
    lines = last_lines(file, masker).splitlines()
    assert len(lines) == 60
    assert lines[-1] == f"line 999 {MASK}"


def test_heartbeats_wait_for_the_masking_of_a_line_only(tmp_path: Path) -> None:
    """A search for thousands of secrets lets no other thread of the runner go on."""
    longest = 0

    class Watched(Masker):
        def mask(self, text: str) -> str:
            nonlocal longest
            longest = max(longest, len(text))
            return super().mask(text)

    log = JobLog(tmp_path / "log", Watched(), io.StringIO())
    log.write(b"".join(b"Error: number %d\n" % number for number in range(20_000)))
    lines = error_lines(log)
    log.close()
    assert (lines.startswith("Error: number "), len(lines)) == (True, 12_000)
    assert longest <= LONGEST_LINE


def test_a_copy_masks_what_became_known_later(tmp_path: Path, log: JobLog) -> None:
    log.write(f"it is {SECRET}\n".encode())
    assert SECRET in emitted(log)
    log.masker.add([SECRET])
    copy_masked(log.path, tmp_path / "copy", log.masker)
    assert (tmp_path / "copy").read_text() == f"it is {MASK}\n"


@given(st.text(max_size=300), st.integers(1, 300))
def test_a_cause_fits_and_stays_json(text: str, times: int) -> None:
    encoded = cause(text * times, text * times)
    assert len(encoded) <= LONGEST_CAUSE
    fields = json.loads(encoded)
    assert (text * times).startswith(fields["message"])
    assert (text * times).endswith(fields["last_lines"])


# Whole jobs


def everything_that_left(bench: Bench, output: str) -> str:
    """Return all that a job gave away, except the encrypted plan files that hold values by their nature."""
    names = [name for name in bench.aws.objects if not name.endswith((".tfplan", ".json"))]
    stored = "".join(bench.aws.objects[name].decode("utf-8", "replace") for name in names)
    chunks = json.dumps([item for (_, sk), item in bench.aws.items.items() if sk.startswith("log#")])
    return output + stored + chunks + json.dumps(bench.aws.answers[1:])


def test_sensitive_values_of_the_plan_are_masked_when_the_apply_prints_them(bench: Bench, commit: Commit) -> None:
    configuration = f"""
variable "password" {{
  default   = "{SECRET}"
  sensitive = true
}}
resource "terraform_data" "network" {{
  input = var.password
  provisioner "local-exec" {{ command = "echo it is $(cat ../password); cat ../password >&2; exit 1" }}
}}
"""
    sha = commit(configuration, password=SECRET)
    plan = bench.plan(sha)
    job = bench.job(JobKind.APPLY, sha, plan)
    ended = bench.run(job)
    assert bench.result()["error"] == "TerraformClientError"
    assert MASK in ended.output
    assert f"it is {MASK}" in bench.stored_log(job.id)
    assert SECRET not in everything_that_left(bench, ended.output)
    assert SECRET.encode() in bench.aws.objects[plan["json"]["key"]]


def test_a_secret_that_the_plan_itself_prints_is_masked_in_all_that_is_kept(bench: Bench, commit: Commit) -> None:
    configuration = f"""
resource "terraform_data" "open" {{ input = nonsensitive("{SECRET}") }}
resource "terraform_data" "closed" {{ input = sensitive("{SECRET}") }}
"""
    sha = commit(configuration)
    plan = bench.plan(sha)
    assert SECRET not in bench.aws.objects[plan["text"]["key"]].decode()
    assert MASK in bench.aws.objects[plan["text"]["key"]].decode()
    assert SECRET not in bench.stored_log(plan["job"])
    rows = unpacked(bench.aws.objects[plan["structured"]["key"]])
    shown = {row.address: repr(rows.lines(place)) for place, row in enumerate(rows.rows)}
    assert MASK in shown["terraform_data.open"]
    assert "SENSITIVE" in shown["terraform_data.closed"]
    assert SECRET not in repr(shown)


def test_what_a_plan_prints_is_masked_everywhere_by_what_its_json_form_tells(bench: Bench, commit: Commit) -> None:
    configuration = f"""
resource "terraform_data" "open" {{ input = nonsensitive("{SECRET}") }}
resource "terraform_data" "closed" {{ input = sensitive("{SECRET}") }}
"""
    job = bench.job(JobKind.PLAN, commit(configuration))
    ended = bench.run(job)
    assert "terraform_data.open will be created" in ended.output
    assert MASK in ended.output
    assert MASK in "\n".join(bench.aws.log_lines(job.id))
    assert SECRET not in everything_that_left(bench, ended.output)


def test_a_failed_plan_shows_its_error_with_its_secrets_masked(bench: Bench, commit: Commit) -> None:
    configuration = f"""
variable "password" {{
  default   = "{SECRET}"
  sensitive = true
}}
resource "terraform_data" "network" {{
  lifecycle {{
    precondition {{
      condition     = var.password == "no"
      error_message = "the password is ${{nonsensitive(var.password)}}"
    }}
  }}
}}
"""
    job = bench.job(JobKind.PLAN, commit(configuration))
    ended = bench.run(job)
    assert bench.result()["error"] == "TerraformClientError"
    assert f"the password is {MASK}" in bench.result()["last_lines"]
    assert f"the password is {MASK}" in bench.stored_log(job.id)
    assert SECRET not in everything_that_left(bench, ended.output)


def test_a_mistake_in_the_configuration_is_shown_whole(bench: Bench, commit: Commit) -> None:
    bench.run(bench.job(JobKind.PLAN, commit('resource "terraform_data" "network" { inputs = 3 }\n')))
    assert 'An argument named "inputs" is not expected here' in bench.result()["last_lines"]


BROKEN = """\
module "net" {
  source = "../modules/net"
}
output "x" { value = local.nothing }
"""


@pytest.mark.parametrize(
    ("configuration", "places"),
    [
        (BROKEN, {("modules/net/main.tf", 1), ("network/main.tf", 4)}),
        ('module "net" { source = "../modules/none" }\n', {("network/main.tf", 1)}),
    ],
    ids=["plan", "init"],
)
def test_what_is_reported_of_an_engine_tells_files_and_lines(
    bench: Bench, commit: Commit, configuration: str, places: set[tuple[str, int]]
) -> None:
    module = 'output "y" { value = local.none }\n'
    bench.run(bench.job(JobKind.PLAN, commit(configuration, **{"modules/net/main.tf": module})))
    found = engine_errors(bench.result()["last_lines"], "network")
    before = {"network/main.tf": bench.backend().count("\n")}
    assert {(each.path, each.line - before.get(each.path, 0)) for each in found} == places
    assert not any("exit code" in each.message for each in found)


@pytest.mark.parametrize(
    ("version", "error"),
    [
        ("1.11.4", f"Error: Invalid expression\\n\\n  on my.auto.tfvars line 3:\\n   3: password = {SECRET}!!\\n"),
        (
            "1.5.7",
            f"Error: Resource precondition failed: {SECRET}\\n\\n  on main.tf line 3, in x:\\n\\n{SECRET}\\n",
        ),
    ],
    ids=["variables are quoted", "the engine keeps no failed plan"],
)
def test_of_a_failed_plan_whose_secrets_nobody_knows_errors_and_places_are_shown(
    bench: Bench, commit: Commit, version: str, error: str
) -> None:
    path = fake_engine(bench, version, "plan", f"printf '{error}' >&2; exit 1")
    ended = bench.run(bench.job(JobKind.PLAN, commit(""), engine=Engine(version=version)), PATH=path)
    lines = bench.result()["last_lines"]
    assert "Error: " in lines
    assert " line 3" in lines
    assert "is hidden" in lines
    assert SECRET not in everything_that_left(bench, ended.output)


def test_an_interrupted_plan_leaves_nothing_that_was_held_back(bench: Bench, commit: Commit) -> None:
    path = fake_engine(bench, "1.11.4", "plan", f"echo it is {SECRET}; touch {bench.directory}/started; exec sleep 60")
    process = bench.start(bench.job(JobKind.PLAN, commit("")), PATH=path)
    bench.aws.wait_for((bench.directory / "started").exists)
    process.send_signal(signal.SIGTERM)
    ended = bench.finish(process)
    assert bench.result()["error"] == "Interrupted"
    assert SECRET not in everything_that_left(bench, ended.output)


def test_what_a_step_before_the_plan_prints_is_masked_by_the_plans_secrets(bench: Bench, commit: Commit) -> None:
    run = WorkflowStep(StepKind.RUN, command=("cat", "../password"))
    job = bench.job(
        JobKind.PLAN,
        commit(
            f'resource "terraform_data" "network" {{ input = sensitive("{SECRET}") }}\n', password=f"it is {SECRET}\n"
        ),
        run=RunSettings(plan=(run, *PLAN_STEPS)),
    )
    ended = bench.run(job)
    assert f"it is {MASK}" in ended.output
    assert "run: cat ../password printed:" in ended.output
    assert "it is" not in bench.aws.objects[bench.result()["text"]["key"]].decode()
    assert SECRET not in everything_that_left(bench, ended.output)


def test_what_a_failing_step_before_the_plan_prints_is_shown(bench: Bench, commit: Commit) -> None:
    run = WorkflowStep(StepKind.RUN, command=("sh", "-c", "echo this line is too long; exit 3"))
    bench.run(bench.job(JobKind.PLAN, commit(""), run=RunSettings(plan=(run, *PLAN_STEPS))))
    assert "this line is too long" in bench.result()["last_lines"]


def test_progress_passes_while_the_text_of_a_plan_is_held_back(tmp_path: Path) -> None:
    console = io.StringIO()
    log = JobLog(tmp_path / "job.log", Masker(), console)
    log.hold("plan", PlanProgress())
    log.write(b'aws_vpc.main: Refreshing state... [id=vpc-1]\ndata.aws_x.y["a b"]: Read complete after 0s\n')
    log.write(f"Terraform used the selected providers\n{SECRET}\naws_vpc.main: Reading...\n".encode())
    log.write(b"x" * 3 * LONGEST_LINE)
    assert console.getvalue() == 'aws_vpc.main: Refreshing state...\ndata.aws_x.y["a b"]: Read complete after 0s\n'
    log.masker.add([SECRET])
    log.release("plan")
    text = emitted(log)
    assert SECRET not in text
    assert text.splitlines()[2:5] == ["Terraform used the selected providers", MASK, "aws_vpc.main: Reading..."]
    assert text.count("x") >= 3 * LONGEST_LINE


@pytest.mark.parametrize(
    "line",
    [
        f"{SECRET}: Reading...",
        f'password = "{SECRET}"',
        f"a.b: Refreshing state... [id={SECRET}",
        f"a.b: {SECRET}",
        "a" * 5000,
        'a["' * 300,
    ],
)
def test_what_is_not_surely_progress_is_held_back(line: str) -> None:
    assert SECRET not in PlanProgress()(line)


@given(st.text(alphabet='a.["\\]: R', max_size=999))
def test_progress_is_told_in_linear_time(line: str) -> None:
    PlanProgress()(line)


@given(
    st.lists(st.sampled_from(["word ", "\n", SECRET, "x" * 900, "\r\n", "ü"]), max_size=60),
    st.lists(st.integers(1, 4000), min_size=1, max_size=20),
)
def test_no_way_of_cutting_what_was_held_back_shows_a_secret(parts: list[str], sizes: list[int]) -> None:
    import tempfile

    content, position = "".join(parts).encode(), 0
    with tempfile.TemporaryDirectory() as directory:
        log = JobLog(Path(directory) / "log", Masker(), io.StringIO())
        log.hold("plan", PlanProgress())
        while position < len(content):
            size = sizes[position % len(sizes)]
            log.write(content[position : position + size])
            position += size
        log.masker.add([SECRET])
        log.release("plan")
        text = emitted(log)
    expected = content.decode().replace(SECRET, MASK).replace("\r\n", "\n")
    assert text.replace("\n", "") == expected.replace("\n", "")


def test_tokens_and_credentials_are_masked(bench: Bench, commit: Commit) -> None:
    script = f"echo {START_TOKEN} {JOB_TOKEN} $AWS_CONTAINER_AUTHORIZATION_TOKEN end"
    sha = commit(provisioned(script))
    ended = bench.run(bench.job(JobKind.APPLY, sha, bench.plan(sha)))
    assert f"{MASK} {MASK} {MASK} end" in ended.output
    left = everything_that_left(bench, ended.output)
    for secret in (START_TOKEN, ENGINE_SECRET, "engine-session-token"):
        assert secret not in left


def test_configured_patterns_are_masked_in_a_job(bench: Bench, commit: Commit) -> None:
    sha = commit(provisioned("echo key-12345 here"))
    patterns = json.dumps([r"key-\d+"])
    bench.environ["TIDEGATE_MASK_PATTERNS"] = patterns
    ended = bench.run(bench.job(JobKind.APPLY, sha, bench.plan(sha)))
    assert f"{MASK} here" in ended.output
    assert "key-12345" not in everything_that_left(bench, ended.output)


def test_patterns_of_the_repositorys_file_are_masked_in_a_job(bench: Bench, commit: Commit) -> None:
    sha = commit(provisioned("echo key-12345 here"))
    run = RunSettings(masks=(r"key-\d{1,9}",))
    ended = bench.run(bench.job(JobKind.APPLY, sha, bench.plan(sha), run=run))
    assert f"{MASK} here" in ended.output
    assert "key-12345" not in everything_that_left(bench, ended.output)


def test_deploys_get_the_installations_variables_and_its_secrets_are_masked(bench: Bench, commit: Commit) -> None:
    bench.environ.update(
        TF_VAR_region="eu-west-1",
        VENDOR_TOKEN=SECRET,
        TIDEGATE_RUNNER_VARIABLES="TF_VAR_region,VENDOR_TOKEN",
        TIDEGATE_RUNNER_SECRETS="VENDOR_TOKEN",
    )
    sha = commit('variable "region" {}\n' + provisioned("echo ${var.region} $VENDOR_TOKEN end").replace("$${", "${"))
    ended = bench.run(bench.job(JobKind.APPLY, sha, bench.plan(sha)))
    assert f"eu-west-1 {MASK} end" in ended.output
    assert SECRET not in everything_that_left(bench, ended.output)


def test_colours_and_markdown_pass_as_they_are_and_do_no_harm(bench: Bench, commit: Commit) -> None:
    sha = commit(provisioned("printf '\\033[31mred\\033[0m **bold** `code` @someone <script>\\n'"))
    job = bench.job(JobKind.APPLY, sha, bench.plan(sha))
    bench.run(job)
    assert "\x1b[31mred\x1b[0m **bold** `code` @someone <script>" in bench.stored_log(job.id)
    assert any("<script>" in line for line in bench.aws.log_lines(job.id))


def test_lines_reach_the_log_store_while_the_engine_runs(bench: Bench, commit: Commit) -> None:
    waiting = f"echo halfway there; while [ ! -e {bench.directory}/release ]; do sleep 0.05; done"
    sha = commit(provisioned(waiting))
    job = bench.job(JobKind.APPLY, sha, bench.plan(sha))
    process = bench.start(job)
    bench.aws.wait_for(lambda: any("halfway there" in line for line in bench.aws.log_lines(job.id)))
    assert bench.aws.answer(JOB_TOKEN) is None
    (bench.directory / "release").touch()
    bench.finish(process)


def peak_memory(process: int) -> int:
    """Return the peak resident memory so far, in bytes, of the process that runs the job."""
    peaks = (re.search(r"VmHWM:\s+(\d+) kB", Path(f"/proc/{job}/status").read_text()) for job in children_of(process))
    return max((int(peak[1]) * 1024 for peak in peaks if peak), default=0)


@pytest.mark.nightly
def test_twenty_megabytes_of_output_are_kept_and_take_little_memory(bench: Bench, commit: Commit) -> None:
    large = """
resource "terraform_data" "large" {
  count = 160
  input = [for line in range(1000) : "**line** ${count.index}-${line} ${sha256(line)}${sha256(count.index)}"]
}
"""
    configuration = large + f'resource "terraform_data" "secret" {{ input = sensitive("{SECRET}") }}\n'
    job = bench.job(JobKind.PLAN, commit(configuration))
    process = bench.start(job)
    peak = 0

    def reported() -> bool:
        nonlocal peak
        if process.poll() is None:
            peak = max(peak, peak_memory(process.pid))
        return bench.aws.answer(JOB_TOKEN) is not None

    from runner.background import Background

    ended = Background(lambda: bench.finish(process))
    bench.aws.wait_for(reported, 260)
    assert ended.result().code == 0
    assert "changes" in bench.result(), bench.result()
    assert bench.result()["changes"]["add"] == 161
    text = bench.aws.objects[bench.result()["text"]["key"]]
    assert len(text) > 20_000_000
    assert b"159-999" in text
    assert text.count(b"**line**") == 160_000
    assert bench.stored_log(job.id).count("**line**") == 160_000
    assert SECRET not in bench.stored_log(job.id)
    assert peak < 60 * 1024 * 1024, f"{peak / 1024 / 1024:.0f} MB"
