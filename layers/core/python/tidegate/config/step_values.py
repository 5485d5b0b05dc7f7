"""Valid values in stacks, workflows and hooks: variables, commands, engine options, and engines."""

from __future__ import annotations

import re
from collections.abc import Callable
from typing import Annotated, Any

from pydantic import AfterValidator, BeforeValidator, Field

from tidegate.config.substitution import PREFIX, has_variables
from tidegate.config.values import as_list, exact_version, refused, shown
from tidegate.deploys.rules.workflow_rules import name_problem
from tidegate.roots.rules.root import EngineName

#: A variable's value, and a word of a command: enough for a small script. What goes beyond belongs in a file.
LONGEST_VALUE, LONGEST_WORD = 1_000, 8_000

_VARIABLE = re.compile(r"[A-Za-z][A-Za-z0-9_]{0,99}")
_OPTION = re.compile(r"-?-(?P<name>[a-z-]+)(?P<value>=.*)?", re.DOTALL)
_SET_HERE = "Tidegate sets it itself"
_NOT_THE_PLAN = "a review covers the whole plan, and Tidegate applies exactly that plan"
_ITS_STATE = "the state belongs to the backend that the module configures"
_ONE_RUN = "it would skip a part, but Tidegate records the whole revision as deployed"
#: Why options are refused that somebody may think of.
_REFUSED = {
    **dict.fromkeys(("input", "no-color", "chdir", "lockfile", "out", "auto-approve"), _SET_HERE),
    **dict.fromkeys(
        ("json", "detailed-exitcode", "help"), "the runner reads what the engine prints, and its exit code"
    ),
    "lock": "the state must stay locked during the job",
    **dict.fromkeys(("state", "state-out", "backup", "migrate-state", "force-copy", "backend"), _ITS_STATE),
    **dict.fromkeys(("destroy", "refresh-only", "generate-config-out", "from-module"), _NOT_THE_PLAN),
    **dict.fromkeys(("target", "target-file", "exclude", "exclude-file", "replace"), _ONE_RUN),
}
#: Options of each command, and whether they have a value.
_OPTIONS = {
    "init": {
        "backend-config": True,
        "compact-warnings": False,
        "get": True,
        "lock-timeout": True,
        "plugin-dir": True,
        "reconfigure": False,
        "upgrade": False,
        "var": True,
        "var-file": True,
    },
    "plan": {
        "compact-warnings": False,
        "lock-timeout": True,
        "parallelism": True,
        "refresh": True,
        "var": True,
        "var-file": True,
    },
    "apply": {"compact-warnings": False, "lock-timeout": True, "parallelism": True},
}


def option_of(command: str, text: str) -> str:
    """Return an option that may be given to a command of the engine besides Tidegate's own; refuse any other."""
    options, match = _OPTIONS[command], _OPTION.fullmatch(text)
    allowed = f"Allowed options: {', '.join(f'-{name}' for name in options)}"
    name = match["name"] if match else ""
    if not match:
        raise refused(f"{shown(text)} is not an option", f"Write each option as one word, -name=value. {allowed}")
    if name not in options:
        why = _REFUSED.get(name, "Tidegate does not know whether this option is safe")
        why = "the reviewed plan already contains the values" if name in _OPTIONS["plan"] else why
        raise refused(f"{shown(text)} is not allowed for {command}: {why}", allowed)
    if options[name] and not match["value"]:
        raise refused(f"{shown(text)} needs a value", f"Write it in the same word: -{name}=value")
    if not options[name] and match["value"]:
        raise refused(f"{shown(text)} takes no value", f"Write just -{name}")
    return text


def with_stack_variables(text: str) -> str:
    """Refuse a reference to a stack variable that cannot exist, as variables have upper-case names."""
    for match in re.finditer(rf"\$\{{(?P<name>{PREFIX}[^}}]*)(?P<end>\}}?)", text):
        if not match["end"]:
            raise refused(f"{shown(match[0])} is not closed", f"Write ${{{PREFIX}NAME}}")
        if not re.fullmatch(rf"{PREFIX}[A-Z][A-Z0-9_]*", match["name"]):
            raise refused(f"{shown(match[0])} is not a stack variable", f"Write ${{{match['name'].upper()[:100]}}}")
    return text


def variable_name(text: str) -> str:
    """Refuse what cannot name a stack variable; it is made upper-case later, so that two of one name are seen."""
    if not _VARIABLE.fullmatch(text):
        raise refused(
            f"{shown(text)} is not a valid variable name",
            "Use at most 100 letters, digits and '_', starting with a letter",
        )
    return text


def scalar(value: Any) -> Any:
    """Take every scalar as the text that it is written as, and say what else is wrong."""
    if value is None:
        raise refused("the variable needs a value", "Write '' for an empty value")
    if not isinstance(value, str):
        raise refused("expected a single value", "Write a string, a number, true or false, not a list or a mapping")
    return value


def _one_line(text: str) -> str:
    if not text.isprintable():
        raise refused(
            f"{shown(text)} contains invisible characters", "Write one line of letters, digits and punctuation"
        )
    return text


def _word(text: str) -> str:
    if not all(letter.isprintable() or letter in "\n\t" for letter in text):
        raise refused(f"{shown(text)} contains control characters", "Write plain text; line breaks are allowed")
    return with_stack_variables(text)


def _command(words: tuple[str, ...]) -> tuple[str, ...]:
    if not words or not words[0].strip():
        raise refused("the command has no program", "Write the program first, then its arguments: ['make', 'check']")
    return words


def _own_variable(text: str) -> str:
    problem = name_problem(text)
    if problem:
        raise refused(problem, "Use another name")
    return text


def _engine_name(text: str) -> str:
    if not has_variables(text) and text not in set(EngineName):
        names = " or ".join(repr(str(name)) for name in EngineName)
        raise refused(f"{shown(text)} is not an engine", f"Use {names}, or a variable ${{{PREFIX}NAME}}")
    return with_stack_variables(text)


def _engine_version(text: str) -> str:
    if has_variables(text):
        return with_stack_variables(text)
    return exact_version(text)


def _option(command: str) -> Callable[[str], str]:
    return lambda text: option_of(command, text)


Scalar = str | int | float | bool
VariableName = Annotated[str, AfterValidator(variable_name)]
Value = Annotated[
    str,
    Field(max_length=LONGEST_VALUE),
    BeforeValidator(scalar, json_schema_input_type=Scalar),
    AfterValidator(_one_line),
]
Word = Annotated[
    str,
    Field(max_length=LONGEST_WORD),
    AfterValidator(_word),
]
EnvironmentValue = Annotated[Word, BeforeValidator(scalar, json_schema_input_type=Scalar)]
Command = Annotated[
    tuple[Word, ...],
    Field(max_length=100),
    BeforeValidator(as_list, json_schema_input_type=list[str]),
    AfterValidator(_command),
]
OwnVariable = Annotated[str, AfterValidator(_own_variable)]
Environment = Annotated[dict[OwnVariable, EnvironmentValue], Field(max_length=50)]
EngineNameText = Annotated[str, AfterValidator(_engine_name)]
VersionText = Annotated[str, Field(max_length=200), AfterValidator(_engine_version)]
EnvironmentName = Annotated[str, Field(max_length=200), AfterValidator(_one_line), AfterValidator(with_stack_variables)]
_List = BeforeValidator(as_list, json_schema_input_type=list[str])
InitOptions = Annotated[tuple[Annotated[Word, AfterValidator(_option("init"))], ...], Field(max_length=50), _List]
PlanOptions = Annotated[tuple[Annotated[Word, AfterValidator(_option("plan"))], ...], Field(max_length=50), _List]
ApplyOptions = Annotated[tuple[Annotated[Word, AfterValidator(_option("apply"))], ...], Field(max_length=50), _List]
