"""Steps of workflows of other tools, and jobs made of them."""

from __future__ import annotations

import shlex
from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import Any

from tidegate.documents.document import Path
from tidegate_cli.converting import shell
from tidegate_cli.converting.draft import Draft

#: Options that Tidegate sets itself, or that only tell how the engine prints, with why they are not needed.
_SET_HERE = "Tidegate sets it itself"
_HARMLESS = {
    **dict.fromkeys(("input", "no-color", "out", "auto-approve", "json", "detailed-exitcode", "lockfile"), _SET_HERE),
    "lock": "Tidegate always locks the state",
}
#: Options that have no value here; an empty one is so without it.
_FLAGS = {
    f"{dashes}{name}={value}": f"-{name}" if value == "true" else ""
    for dashes in ("-", "--")
    for name in ("upgrade", "reconfigure", "compact-warnings")
    for value in ("true", "false")
}
_OF_THE_PLAN = "Tidegate applies the reviewed plan, with its values"
_VALUES = frozenset({"var", "var-file", "refresh", "target", "replace", "destroy"})


@dataclass(frozen=True, slots=True)
class Step:
    """A step and where it is from; ``options`` tells that of each option, if it has any."""

    made: dict[str, Any]
    path: Path
    options: tuple[Path, ...] = ()

    @property
    def kind(self) -> str:
        return str(self.made["type"])


@dataclass(frozen=True, slots=True)
class Steps:
    """Makes steps of a workflow's, named ``workflow``."""

    draft: Draft
    workflow: str
    variables: shell.Variables
    #: Variables that steps set; ``*`` if nobody knows which.
    known: set[str] = field(default_factory=set)

    def _lacking_in(self, option: str) -> list[str]:
        return [] if "*" in self.known else self.variables.lacking_in_option(option, self.known)

    def engine(self, kind: str, arguments: Sequence[str] | None, path: Path) -> Step:
        """Return a step of the engine with those of its options that Tidegate leaves to people."""
        words: list[str] = []
        at: list[Path] = []
        for number, argument in enumerate(arguments or ()):
            for word in self._words(argument, (*path, number)):
                if words and words[-1] and not word.startswith("-") and "=" not in words[-1]:
                    words[-1] = f"{words[-1]}={word}"
                else:
                    words.append(word)
                    at.append((*path, number))
        kept = [(word, place) for word, place in zip(words, at, strict=True) if not self._needless(kind, word, place)]
        for word, place in kept:
            self._doubt(self._lacking_in(word), place)
        made: dict[str, Any] = {"type": kind}
        if kept:
            made["extra_args"] = [self.variables.option(word) for word, _ in kept]
        return Step(made, path, tuple(place for _, place in kept))

    def _words(self, argument: str, path: Path) -> list[str]:
        """Return the words that a shell makes of an option, as other tools let one read it."""
        if "$(" in argument or "`" in argument:
            self.draft.ledger.lost(
                path, f"workflow {self.workflow}: {argument[:100]}: Tidegate passes options without a shell."
            )
        try:
            words = shlex.split(argument)
        except ValueError:
            return [argument]
        found = [_FLAGS.get(word, word) for word in words]
        if found != [argument]:
            self.draft.ledger.changed(path, f"{argument[:100]} is {' '.join(found) or 'left out'}.")
        return [word for word in found if word]

    def run(self, text: str, path: Path, shell_words: Sequence[str] = ("sh", "-c")) -> Step:
        """Return a step that runs a text in a shell."""
        return Step({"type": "run", "cmd": self._command(text, path, shell_words)}, path)

    def variable(self, name: str, text: str, path: Path) -> Step:
        """Return a step that sets a variable to a text."""
        self.known.add(name)
        return Step({"type": "env", "name": name, "cmd": ["printf", "%s", shell.escaped(text)]}, path)

    def variable_of(self, name: str, text: str, path: Path, shell_words: Sequence[str] = ("sh", "-c")) -> Step:
        """Return a step that sets a variable to what a text prints in a shell; without a name, many variables."""
        self.known.add(name or "*")
        to = {"name": name} if name else {"method": "source"}
        return Step({"type": "env", **to, "cmd": self._command(text, path, shell_words)}, path)

    def _command(self, text: str, path: Path, words: Sequence[str]) -> list[str]:
        self._doubt(self.variables.lacking(text), path)
        for engine in shell.engines_in(text):
            why = f"programs may not find {engine}: use steps init, plan and apply, or add it to the image."
            self.draft.ledger.changed(path, f"workflow {self.workflow}: {why}")
        return [*words, self.variables.for_shell(text)]

    def _doubt(self, lacking: Sequence[str], path: Path) -> None:
        for name in lacking:
            text = f"${name} has no equivalent, so nothing sets it. docs/workflows.md lists all variables."
            self.draft.ledger.lost(path, f"workflow {self.workflow}: {text}", f"workflows.{self.workflow}.{name}")

    def _needless(self, kind: str, word: str, path: Path) -> bool:
        name = word.lstrip("-").partition("=")[0] if word.startswith("-") else ""
        why = _HARMLESS.get(name)
        if kind == "apply" and name in _VALUES:
            why = _OF_THE_PLAN
        if why:
            self.draft.ledger.dropped(path, f"{word[:100]}: {why}.")
        return bool(why)


def with_files_of_the_plan(plan: Sequence[Step], apply: Sequence[Step] | None) -> list[Step] | None:
    """Return the steps of an apply that also does what programs did before the plan.

    Elsewhere the files that they made are still there; here an apply has a directory of its own.
    """
    kinds = [each.kind for each in plan]
    before = list(plan[: kinds.index("plan")]) if "plan" in kinds else []
    if not any(each.kind in {"run", "env"} for each in before):
        return list(apply) if apply is not None else None
    own = list(apply) if apply is not None else [Step({"type": "apply"}, before[0].path)]
    if any(each.kind == "init" for each in own):
        before = [each for each in before if each.kind != "init"]
    known = [each.made for each in own]
    return [*(each for each in before if each.made not in known), *own]


def add_job(draft: Draft, at: Path, section: dict[str, Any], job: str, steps: Sequence[Step]) -> None:
    """Add a job's steps to a workflow, which stands at a path of the draft."""
    section[job] = [each.made for each in steps]
    for number, each in enumerate(steps):
        draft.origins[(*at, job, number)] = each.path
        for option, place in enumerate(each.options):
            draft.origins[(*at, job, number, "extra_args", option)] = place
