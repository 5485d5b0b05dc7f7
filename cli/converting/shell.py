"""Commands of a shell, as Atlantis runs them: with Tidegate's variables in place of those of Atlantis."""

from __future__ import annotations

import re
from collections.abc import Iterator

from tidegate.domain.deploys.workflow_rules import escaped

#: Variables that Atlantis gives to programs, as Tidegate calls them, and those that have no counterpart.
_NAMES = {
    "PROJECT_NAME": "TIDEGATE_ROOT",
    "WORKSPACE": "TIDEGATE_WORKSPACE",
    "REPO_REL_DIR": "TIDEGATE_DIR",
    "PLANFILE": "TIDEGATE_PLAN_FILE",
    "HEAD_COMMIT": "TIDEGATE_REVISION",
}
_FOR_SHELLS = {**_NAMES, "DIR": "PWD"}
_LACKING = frozenset(
    [
        "BASE_REPO_NAME",
        "BASE_REPO_OWNER",
        "HEAD_REPO_NAME",
        "HEAD_REPO_OWNER",
        "HEAD_BRANCH_NAME",
        "BASE_BRANCH_NAME",
        "PULL_NUM",
        "PULL_URL",
        "PULL_AUTHOR",
        "USER_NAME",
        "COMMENT_ARGS",
        "SHOWFILE",
        "POLICYCHECKFILE",
        "ATLANTIS_TERRAFORM_VERSION",
        "ATLANTIS_TERRAFORM_DISTRIBUTION",
    ]
)
_REFERENCE = re.compile(r"\$(?P<brace>\{?)(?P<name>[A-Za-z_][A-Za-z0-9_]*)")
_ENGINES = re.compile(r"(?<![\w./-])(?:terraform|tofu|terragrunt)(?![\w./-])")


def command(text: str) -> list[str]:
    """Return the command that runs a text in a shell; what stands for variables there is left to the shell."""
    return ["sh", "-c", escaped(_renamed(text, _FOR_SHELLS))]


def option(text: str) -> str:
    """Return an option of the engine, in which Tidegate itself fills in variables."""
    return _renamed(text, _NAMES)


def doubts(text: str) -> Iterator[str]:
    """Return what of a command may not work as it did, as sentences."""
    yield from _lacking(text, _LACKING)
    for engine in dict.fromkeys(_ENGINES.findall(text)):
        yield f"{engine} need not be there for programs: use steps init, plan and apply, or add it to the image."


def doubts_of_option(text: str) -> Iterator[str]:
    """Return which variables of an option are set by nothing, as sentences."""
    yield from _lacking(text, _LACKING | {"DIR"})


def _lacking(text: str, names: frozenset[str]) -> Iterator[str]:
    for name in dict.fromkeys(match["name"] for match in _REFERENCE.finditer(text)):
        if name in names:
            yield f"${name} of Atlantis has no counterpart, so nothing sets it; docs/workflows.md names all."


def _renamed(text: str, names: dict[str, str]) -> str:
    return _REFERENCE.sub(lambda match: f"${match['brace']}{names.get(match['name'], match['name'])}", text)
