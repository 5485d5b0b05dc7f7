"""Commands of a shell, as other tools run them: with Tidegate's variables in place of theirs."""

from __future__ import annotations

import re
from collections.abc import Collection, Mapping
from dataclasses import dataclass

from tidegate.deploys.rules.workflow_rules import escaped

__all__ = ["ATLANTIS", "DIGGER", "TERRATEAM", "Variables", "engines_in", "escaped"]

_REFERENCE = re.compile(r"\$(?P<brace>\{?)(?P<name>[A-Za-z_][A-Za-z0-9_]*)")
_ENGINES = re.compile(r"(?<![\w./-])(?:terraform|tofu|terragrunt)(?![\w./-])")


@dataclass(frozen=True, slots=True)
class Variables:
    """Variables that a tool gives to programs, as Tidegate calls them, and those that have no counterpart.

    ``directory`` is the one with the root's directory, which only shells know.
    """

    names: Mapping[str, str]
    without: frozenset[str]
    directory: str = ""

    def for_shell(self, text: str) -> str:
        """Return a text for a shell; what stands for variables there is left to it."""
        return escaped(_renamed(text, {**self.names, **({self.directory: "PWD"} if self.directory else {})}))

    def option(self, text: str) -> str:
        """Return a text in which Tidegate itself fills in variables."""
        return _renamed(text, self.names)

    def lacking(self, text: str) -> list[str]:
        """Return the variables of a text that nothing would set."""
        found = dict.fromkeys(match["name"] for match in _REFERENCE.finditer(text))
        return [name for name in found if name in self.without]

    def lacking_in_option(self, text: str, known: Collection[str]) -> list[str]:
        """Return the variables of an option that nothing would set, where steps set those that are ``known``."""
        found = dict.fromkeys(match["name"] for match in _REFERENCE.finditer(text))
        return [name for name in found if name not in known and name not in self.names and not _is_own(name)]


def _is_own(name: str) -> bool:
    return name.startswith(("TIDEGATE_", "STACK_VAR_"))


def engines_in(text: str) -> list[str]:
    """Return the engines that a command calls by itself."""
    return list(dict.fromkeys(_ENGINES.findall(text)))


def _renamed(text: str, names: Mapping[str, str]) -> str:
    return _REFERENCE.sub(lambda match: f"${match['brace']}{names.get(match['name'], match['name'])}", text)


def _words(text: str) -> frozenset[str]:
    return frozenset(text.split())


ATLANTIS = Variables(
    {
        "PROJECT_NAME": "TIDEGATE_ROOT",
        "WORKSPACE": "TIDEGATE_WORKSPACE",
        "REPO_REL_DIR": "TIDEGATE_DIR",
        "PLANFILE": "TIDEGATE_PLAN_FILE",
        "SHOWFILE": "TIDEGATE_PLAN_JSON",
        "HEAD_COMMIT": "TIDEGATE_REVISION",
    },
    _words(
        """
        BASE_REPO_NAME BASE_REPO_OWNER HEAD_REPO_NAME HEAD_REPO_OWNER HEAD_BRANCH_NAME BASE_BRANCH_NAME PULL_NUM
        PULL_URL PULL_AUTHOR USER_NAME COMMENT_ARGS POLICYCHECKFILE ATLANTIS_TERRAFORM_VERSION
        ATLANTIS_TERRAFORM_DISTRIBUTION
        """
    ),
    "DIR",
)
DIGGER = Variables(
    {"PROJECT_NAME": "TIDEGATE_ROOT", "DIGGER_PLANFILE": "TIDEGATE_PLAN_FILE"},
    frozenset(["DIGGER_OUT", "DIGGER_PR_NUMBER", "DIGGER_RUN_SPEC"]),
)
TERRATEAM = Variables(
    {
        "TERRATEAM_DIR": "TIDEGATE_DIR",
        "TERRATEAM_WORKSPACE": "TIDEGATE_WORKSPACE",
        "TERRATEAM_PLAN_FILE": "TIDEGATE_PLAN_FILE",
        "TERRATEAM_STACK": "TIDEGATE_STACK",
    },
    frozenset(["TERRATEAM_TMPDIR", "TERRATEAM_RESULTS_FILE", "TERRATEAM_RUN_KIND", "TERRATEAM_ROOT"]),
)
