"""Stack variables in texts of the configuration: ``${STACK_VAR_NAME}``.

Texts such as an engine's version are final afterwards; ``$${`` stands for ``${`` in them. Texts of steps are
substituted again at run time: inserted values are escaped for that, and existing escapes stay.
"""

from __future__ import annotations

import re
from collections.abc import Collection, Mapping
from dataclasses import replace
from difflib import get_close_matches

from tidegate.deploys.rules.workflow import WorkflowStep
from tidegate.deploys.rules.workflow_rules import escaped
from tidegate.rules.errors import TidegateError, quoted

PREFIX = "STACK_VAR_"

_BARE = rf"\$(?P<bare>{PREFIX}\w*)"
_IN_TEXTS = re.compile(rf"\$(?P<escape>\$\{{)|\$\{{(?P<braced>[^}}]*+)(?P<end>\}}?)|{_BARE}")
_IN_STEPS = re.compile(rf"\$(?P<escape>\$)|\$\{{(?P<braced>{PREFIX}[^}}]*+)(?P<end>\}}?)|{_BARE}")


class UnsetVariable(TidegateError):
    """A text names a variable that nothing sets: ``text`` is the whole of it, ``problem`` and ``allowed`` say what."""

    def __init__(self, name: str, text: str, variables: Collection[str]) -> None:
        self.name, self.text = name, text
        self.problem = f"the variable {quoted(name)} is not set"
        near = get_close_matches(name.upper(), variables, n=1)
        self.allowed = f"Did you mean {near[0]}? " if near else ""
        if name.startswith(PREFIX):
            self.allowed += f"Set {quoted(name.removeprefix(PREFIX))} in the stack's variables"
        else:
            self.allowed += f"Only stack variables, ${{{PREFIX}NAME}}, work here. Write $${{ for a literal ${{"
        super().__init__(f"{self.problem[:1].upper()}{self.problem[1:]}. {self.allowed}.")


def has_variables(text: str) -> bool:
    """Tell whether a text names stack variables."""
    return f"${{{PREFIX}" in text or f"${PREFIX}" in text


def variables_in(text: str) -> list[str]:
    """Return the stack variables that a text of a step names, by their whole names."""
    found = (match["bare"] if match["braced"] is None else match["braced"] for match in _IN_STEPS.finditer(text))
    return [name for name in found if name]


def filled(text: str, variables: Mapping[str, str]) -> str:
    """Return a text with its variables filled in, which are given by their whole names. Raise UnsetVariable."""

    def fill(match: re.Match[str]) -> str:
        return match["escape"] or _value(match, text, variables)

    return _IN_TEXTS.sub(fill, text)


def filled_step(step: WorkflowStep, variables: Mapping[str, str]) -> WorkflowStep:
    """Return a step with the stack variables in it filled in, ready to be read once more. Raise UnsetVariable."""

    def fill(text: str) -> str:
        def value(match: re.Match[str]) -> str:
            return "$$" if match["escape"] else escaped(_value(match, text, variables))

        return _IN_STEPS.sub(value, text)

    return replace(
        step,
        command=tuple(map(fill, step.command)),
        extra_args=tuple(map(fill, step.extra_args)),
        env=tuple((name, fill(text)) for name, text in step.env),
    )


def _value(match: re.Match[str], text: str, variables: Mapping[str, str]) -> str:
    if match["end"] == "":
        return match[0]  # What is not closed names nothing.
    name = match["bare"] if match["braced"] is None else match["braced"]
    if name not in variables:
        raise UnsetVariable(name, text, variables)
    return variables[name]
