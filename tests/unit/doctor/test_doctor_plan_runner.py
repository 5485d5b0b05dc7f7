from __future__ import annotations

import io
import json
import urllib.request

import pytest
from botocore.exceptions import ClientError

from tidegate_cli.doctor.plan_runner import PlanRunnerChecks

IMAGE = f"123456789012.dkr.ecr.eu-west-1.amazonaws.com/tools/runner@sha256:{'0a' * 32}"
ONE = {"config": {"digest": "sha256:config"}}


class Ecr:
    def __init__(self, manifest):
        self._manifest = manifest

    def batch_get_image(self, **_asked):
        if self._manifest is None:
            raise ClientError({"Error": {"Code": "AccessDenied"}}, "BatchGetImage")
        return {"images": [{"imageManifest": json.dumps(self._manifest)}]}

    def get_download_url_for_layer(self, **asked):
        return {"downloadUrl": f"https://ecr.example/{asked['layerDigest']}"}


def found(context, region="eu-west-1", manifest=ONE):
    return [(each.verdict, each.found) for each in PlanRunnerChecks(context, lambda _: Ecr(manifest), region).results()]


@pytest.fixture(autouse=True)
def arm(monkeypatch):
    monkeypatch.setattr(urllib.request, "urlopen", lambda *_, **__: io.BytesIO(b'{"architecture": "arm64"}'))


def test_where_plans_run_on_fargate_with_tidegates_image_nothing_is_looked_at():
    assert found({}) == found({"plan_runner": "fargate"}, "ap-southeast-6") == []


@pytest.mark.parametrize(("runner", "verdict"), [("lambda", "fail"), ("auto", "warn")])
def test_a_region_without_tenant_isolation_is_told(runner, verdict):
    [(told, problem)] = found({"plan_runner": runner}, "ap-southeast-6")
    assert (told, "no tenant isolation in ap-southeast-6" in problem) == (verdict, True)


def test_tidegates_own_image_is_built_for_the_functions():
    assert found({"plan_runner": "lambda"}) == [("ok", "Plans begin on Lambda.")]


@pytest.mark.parametrize(
    ("architecture", "manifest", "verdict", "said"),
    [
        ("arm64", ONE, "ok", "an image for arm64"),
        ("x86_64", ONE, "fail", "is for arm64, the installation is amd64"),
        ("arm64", {"manifests": []}, "fail", "is for several machines"),
        ("arm64", None, "warn", "cannot be read"),
        ("arm64", {}, "warn", "cannot be read"),
    ],
)
def test_an_image_of_ones_own_is_for_the_functions_machine(architecture, manifest, verdict, said):
    context = {"plan_runner": "lambda", "runner_image": IMAGE, "architecture": architecture}
    [(told, problem)] = found(context, manifest=manifest)
    assert (told, said in problem) == (verdict, True), problem


SEVERAL = {"manifests": [{"platform": {"architecture": each}} for each in ("amd64", "arm64")]}
X86 = {"manifests": [{"platform": {"architecture": "amd64"}}]}


@pytest.mark.parametrize(
    ("architecture", "manifest", "verdict", "said"),
    [
        ("arm64", ONE, "ok", "an image for arm64"),
        ("x86_64", ONE, "fail", "is for arm64, the installation is amd64: nothing would start"),
        ("arm64", SEVERAL, "ok", "an image for arm64"),
        ("arm64", X86, "fail", "is for amd64, the installation is arm64"),
        ("arm64", None, "warn", "cannot be read"),
        ("riscv", ONE, "fail", "the installation is no known machine"),
    ],
)
def test_an_image_of_ones_own_is_for_the_machines_of_fargate_too(architecture, manifest, verdict, said):
    [(told, problem)] = found({"runner_image": IMAGE, "architecture": architecture}, manifest=manifest)
    assert (told, said in problem) == (verdict, True), problem


def test_an_image_elsewhere_is_not_looked_at_and_that_is_told():
    [(told, problem)] = found({"runner_image": f"ghcr.io/acme/runner@sha256:{'0a' * 32}"})
    assert (told, "is not in ECR" in problem) == ("warn", True)


def test_an_image_is_looked_for_in_the_account_that_has_it():
    asked = []

    class Registry(Ecr):
        def batch_get_image(self, **said):
            asked.append(said["registryId"])
            return super().batch_get_image(**said)

    context = {"runner_image": IMAGE}
    assert [each.verdict for each in PlanRunnerChecks(context, lambda _: Registry(ONE), "eu-west-1").results()]
    assert asked == ["123456789012"]
