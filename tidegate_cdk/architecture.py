"""The CPU architectures of functions and runners, and their names in AWS and Python."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

from aws_cdk import aws_ecr_assets as ecr_assets
from aws_cdk import aws_ecs as ecs
from aws_cdk import aws_lambda as lambda_


@dataclass(frozen=True, slots=True)
class Architecture:
    """``wheels`` is the platform of the layer's packages."""

    functions: lambda_.Architecture
    tasks: ecs.CpuArchitecture
    images: ecr_assets.Platform
    wheels: str


ARCHITECTURES: Mapping[str, Architecture] = {
    "arm64": Architecture(
        lambda_.Architecture.ARM_64,
        ecs.CpuArchitecture.ARM64,
        ecr_assets.Platform.LINUX_ARM64,
        "aarch64-manylinux2014",
    ),
    "x86_64": Architecture(
        lambda_.Architecture.X86_64,
        ecs.CpuArchitecture.X86_64,
        ecr_assets.Platform.LINUX_AMD64,
        "x86_64-manylinux2014",
    ),
}
