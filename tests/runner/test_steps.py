"""The steps of a workflow: what they see, and in which order they run."""

from __future__ import annotations

from pathlib import Path

from tests.runner.conftest import Bench
from tests.runner.fake_aws import JOB_TOKEN, START_TOKEN
from tests.runner.git_forge import CLONE_TOKEN
from tests.runner.scripted_steps import INIT, PLAN, VERSION, Commit, Steps, env_step, run_step
from tidegate.deploys.rules.job import JobKind
from tidegate.deploys.rules.workflow import RunSettings, StepKind, WorkflowStep
from tidegate.roots.rules.root import Engine, EngineName


def test_steps_run_in_their_order_in_the_roots_directory(steps: Steps) -> None:
    job = steps.plan(run_step("echo first in $(basename $PWD)"), INIT, run_step("echo second"), PLAN, run_step("ls"))
    steps.succeeded()
    log = steps.log(job)
    begun = ("run: sh -c echo first", "engine init", "run: sh -c echo second", "engine plan", "run: sh -c ls")
    places = [log.index(words) for words in begun]
    assert places == sorted(places)
    assert log.index("printed:\nfirst in network") < log.index("printed:\nsecond") < log.index("main.tf")
    assert "tidegate: run: sh -c echo second printed:\nsecond\n" in log


def test_programs_see_what_the_job_is_about_and_the_stacks_variables(steps: Steps, bench: Bench) -> None:
    script = "env | grep -E '^(TIDEGATE|STACK_VAR)_' | sort; echo; echo \"$STACK_VAR_ZONE\""
    variables = (("STACK_VAR_REGION", "eu $HOME 'x'"), ("STACK_VAR_ZONE", "line\nfeed"))
    job = steps.plan(
        INIT, run_step(script), PLAN, run_step("cat $TIDEGATE_PLAN_FILE"), variables=variables,
        environment="prod-eu", stack="prod", workspace="blue",
    )  # fmt: skip
    log = steps.log(job)
    for line in (
        "STACK_VAR_REGION=eu $HOME 'x'",
        "line\nfeed",
        "TIDEGATE_DIR=network",
        "TIDEGATE_ENVIRONMENT=prod-eu",
        f"TIDEGATE_JOB={job.id}",
        "TIDEGATE_REPOSITORY=acme/infra",
        f"TIDEGATE_REVISION={steps.sha}",
        "TIDEGATE_ROOT=network",
        "TIDEGATE_STACK=prod",
        "TIDEGATE_WORKSPACE=blue",
        "the-plan",
    ):
        assert f"\n{line}\n" in log


def test_programs_see_the_engines_credentials_and_nothing_of_the_runners(steps: Steps, bench: Bench) -> None:
    steps.plan(INIT, run_step(f"env > {bench.directory}/seen"), PLAN)
    seen = (bench.directory / "seen").read_text()
    assert "AWS_CONTAINER_CREDENTIALS_FULL_URI=http://127.0.0.1:" in seen
    for absent in ("runner-secret", START_TOKEN, JOB_TOKEN, CLONE_TOKEN, "TIDEGATE_TABLE", "GIT_CONFIG"):
        assert absent not in seen


def test_no_shell_reads_a_command(steps: Steps) -> None:
    words = ("printf", "%s|", "a b", "$$(id)", ";", "'", "\n", "`id`", "é")
    job = steps.plan(INIT, WorkflowStep(StepKind.RUN, words), PLAN)
    assert "a b|$(id)|;|'|\n|`id`|é|" in steps.log(job)


def test_names_in_commands_and_environments_are_replaced(steps: Steps) -> None:
    step = WorkflowStep(StepKind.RUN, ("echo", "$HERE/${TIDEGATE_ROOT}", "$$HERE"), env=(("HERE", "in-$STACK_VAR_A"),))
    job = steps.plan(INIT, step, PLAN, variables=(("STACK_VAR_A", "${STACK_VAR_B}"),))
    assert "in-${STACK_VAR_B}/network $HERE\n" in steps.log(job)


def test_a_name_that_is_not_set_fails_the_step_and_is_told(steps: Steps) -> None:
    steps.plan(INIT, WorkflowStep(StepKind.RUN, ("echo", "${NOWHERE}")), PLAN)
    steps.failed("TerraformClientError", "${NOWHERE}, which is not set")
    assert [call[0] for call in steps.calls()] == ["init"]


def test_arguments_and_variables_reach_the_engine(steps: Steps) -> None:
    steps.plan(
        env_step("TF_VAR_region", "echo eu-west-1"),
        WorkflowStep(StepKind.INIT, extra_args=("-backend-config=${TIDEGATE_STACK}.hcl",)),
        WorkflowStep(StepKind.PLAN, extra_args=("-var-file=dev.tfvars",), env=(("TF_VAR_region", "$STACK_VAR_R"),)),
        variables=(("STACK_VAR_R", "us-east-1"),),
        stack="dev",
    )
    init, plan = steps.calls()
    assert "-backend-config=dev.hcl" in init
    assert "-var-file=dev.tfvars" in plan
    log = "\n".join(steps.bench.aws.log_lines(steps.bench.result()["job"]))
    assert "engine init: eu-west-1" in log
    assert "engine plan: us-east-1" in log


def test_the_real_engine_plans_and_applies_with_steps(bench: Bench, commit: Commit) -> None:
    sha = commit(
        'variable "region" {}\nresource "terraform_data" "network" { input = var.region }\n',
        **{"network/prod.tfvars": 'region = "eu-central-1"\n'},
    )
    run = RunSettings(
        plan=(INIT, WorkflowStep(StepKind.PLAN, extra_args=("-var-file=${TIDEGATE_STACK}.tfvars",))),
        apply=(
            run_step("echo before"),
            INIT,
            WorkflowStep(StepKind.APPLY, extra_args=("-parallelism=2",)),
            WorkflowStep(StepKind.RUN, ("terraform", "show", "-no-color")),
        ),
    )
    plan = bench.plan(sha, run=run, stack="prod")
    bench.run(bench.job(JobKind.APPLY, sha, plan, run=run, stack="prod"))
    assert "Apply complete! Resources: 1 added" in bench.result()["last_lines"]
    assert '"eu-central-1"' in bench.state().read_text()
    assert "# terraform_data.network:" in bench.stored_log(bench.result()["job"])


def test_each_stack_has_its_own_engine(steps: Steps, bench: Bench) -> None:
    steps.engine("tofu", "1.10.6")
    steps.engine("terraform", VERSION)
    tofu = Engine(EngineName.TOFU, "1.10.6")
    terraform = Engine(EngineName.TERRAFORM, VERSION)
    for engine in (tofu, terraform):
        job = steps.plan(INIT, PLAN, engine=engine)
        assert steps.succeeded()["engine_version"] == engine.version
        assert f"{engine.name} {engine.version} in network" in steps.log(job)
    programs = [line.split()[0] for line in (steps.notes / "calls").read_text().splitlines()]
    assert [Path(each).name for each in programs] == ["tofu", "tofu", "terraform", "terraform"]
