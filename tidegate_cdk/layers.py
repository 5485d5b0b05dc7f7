"""The functions' layers: the package, and third-party packages for Lambda's platform, built without Docker."""

from __future__ import annotations

import shutil
import subprocess
import sys
from pathlib import Path

import jsii
from aws_cdk import BundlingOptions, DockerImage, ILocalBundling, RemovalPolicy
from aws_cdk import aws_lambda as lambda_
from constructs import Construct

from tidegate_cdk.architecture import Architecture
from tidegate_cdk.sources import ROOT

RUNTIME = lambda_.Runtime.PYTHON_3_13
_CORE_EXCLUDE = ["**/__pycache__"]
_PYTHON = "3.13"


class LayerBuildFailed(RuntimeError):  # Named for what it tells.
    """The third-party packages could not be installed for Lambda's platform."""


@jsii.implements(ILocalBundling)
class UvBundling:
    """Installs the locked requirements with uv, only as wheels for Lambda's platform."""

    def __init__(self, platform: str) -> None:
        self._platform = platform

    def try_bundle(self, output_dir: str, *_: object, **__: object) -> bool:
        """Fill ``output_dir``. Raise LayerBuildFailed; there is no fallback, which would build something else."""
        uv = shutil.which("uv") or str(Path(sys.executable).with_name("uv"))
        arguments = [uv, "pip", "install", "--quiet", "--require-hashes", "--only-binary", ":all:", "--no-deps"]
        platform = ["--python-platform", self._platform, "--python-version", _PYTHON]
        source = ["--target", f"{output_dir}/python", "--requirements", str(ROOT / "layers/deps/requirements.txt")]
        try:
            subprocess.run([*arguments, *platform, *source], check=True)
        except (OSError, subprocess.CalledProcessError) as error:
            raise LayerBuildFailed(f"uv failed to build the layer of third-party packages: {error}") from error
        return True


class Layers(Construct):
    """``core`` is what every function needs, ``third_party`` what all but the webhook function need."""

    def __init__(self, scope: Construct, construct_id: str, architecture: Architecture, *, prefix: str) -> None:
        super().__init__(scope, construct_id)
        self.architecture, self._prefix = architecture, prefix
        self.core = self._layer("Core", lambda_.Code.from_asset(str(ROOT / "layers/core"), exclude=_CORE_EXCLUDE))
        bundling = BundlingOptions(image=DockerImage.from_registry("scratch"), local=UvBundling(architecture.wheels))
        self.third_party = self._layer("Deps", lambda_.Code.from_asset(str(ROOT / "layers/deps"), bundling=bundling))

    def _layer(self, construct_id: str, code: lambda_.Code) -> lambda_.LayerVersion:
        return lambda_.LayerVersion(
            self,
            construct_id,
            # Named, because CloudFormation's name lacks the stack's, by which engines are denied access to it.
            layer_version_name=f"{self._prefix}-{construct_id.lower()}",
            code=code,
            compatible_runtimes=[RUNTIME],
            compatible_architectures=[self.architecture.functions],
            # "A copy of the version remains in Lambda until no functions refer to it" (Lambda, DeleteLayerVersion).
            removal_policy=RemovalPolicy.DESTROY,
        )
