"""Plans of pull requests as tests run them."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any

from tests.runner.conftest import Bench
from tests.runner.fake_aws import JOB_TOKEN
from tidegate.deploys.rules.job import JobKind
from tidegate.deploys.rules.workflow import RunSettings

RESOURCE = 'resource "terraform_data" "{name}" {{ input = "{name}" }}\n'
DEFAULT_PLAN = RunSettings().plan
Commit = Callable[..., str]


def resource(name: str) -> str:
    return RESOURCE.format(name=name)


def planned(bench: Bench, sha: str, **options: Any) -> Mapping[str, Any]:
    """Run a speculative plan and return its result."""
    ended = bench.run(bench.job(JobKind.SPECULATE, sha, **options))
    answer = bench.aws.answer(JOB_TOKEN)
    assert answer, ended.output
    assert answer[0] == "success", ended.output
    return answer[1]


def refused(bench: Bench, sha: str, **options: Any) -> str:
    """Run a speculative plan that is refused, and return the message."""
    ended = bench.run(bench.job(JobKind.SPECULATE, sha, **options))
    assert ended.code == 0, ended.output
    assert bench.result()["error"] == "TerraformClientError"
    assert not [key for key in bench.aws.objects if key.startswith("plans/")]
    return str(bench.result()["message"])


def text(bench: Bench, plan: Mapping[str, Any]) -> str:
    return bench.aws.objects[plan["text"]["key"]].decode()
