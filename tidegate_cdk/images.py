"""The Docker build context of images: other files neither enter nor rebuild them."""

from __future__ import annotations

from dataclasses import dataclass, field

from aws_cdk import IgnoreMode

#: What no image needs: what Python leaves behind.
_NEVER = ("**/__pycache__", "**/*.pyc")


@dataclass(frozen=True, slots=True)
class BuildContext:
    """An image's files, as .dockerignore patterns that exclude all others."""

    included: tuple[str, ...]
    ignore_mode: IgnoreMode = field(default=IgnoreMode.DOCKER)

    @property
    def exclude(self) -> list[str]:
        """Patterns for an asset's ``exclude``."""
        return ["*", *(f"!{path}" for path in self.included), *_NEVER]


FUNCTION_CONTEXT = BuildContext(
    (
        "functions/discover_roots",
        "functions/git_steps",
        "functions/check_policies",
        "layers/core",
        "layers/deps",
        "tests/conformance",
    )
)
RUNNER_CONTEXT = BuildContext(("runner", "layers/core"))
