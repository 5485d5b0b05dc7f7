"""Which steps a job may have, which variables steps may set, and how texts refer to run-time variables.

The loader applies these rules, and the runner checks them again.
"""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence

from tidegate.deploys.rules.workflow import StepKind, WorkflowStep

_NAME = re.compile(r"[A-Za-z_][A-Za-z0-9_]*")
_REFERENCE = re.compile(r"\$(?:(?P<dollar>\$)|\{(?P<braced>[A-Za-z_][A-Za-z0-9_]*)\}|(?P<bare>[A-Za-z_][A-Za-z0-9_]*))")

#: Variables that would change which programs run, with whose rights, or what the engine does.
_RESERVED = frozenset(
    {
        "AWS_ACCESS_KEY_ID",
        "AWS_CONFIG_FILE",
        "AWS_DEFAULT_PROFILE",
        "AWS_EC2_METADATA_SERVICE_ENDPOINT",
        "AWS_PROFILE",
        "AWS_ROLE_ARN",
        "AWS_SECRET_ACCESS_KEY",
        "AWS_SECURITY_TOKEN",
        "AWS_SESSION_TOKEN",
        "AWS_SHARED_CREDENTIALS_FILE",
        "AWS_WEB_IDENTITY_TOKEN_FILE",
        "GCONV_PATH",
        "GIT_EXEC_PATH",
        "HOME",
        "PATH",
        "SSL_CERT_DIR",
        "SSL_CERT_FILE",
        "TERRAFORM_CONFIG",
        "TF_DATA_DIR",
        "TF_REATTACH_PROVIDERS",
        "TF_WORKSPACE",
    }
)
_RESERVED_PREFIXES = ("AWS_CONTAINER_", "AWS_ENDPOINT_URL", "LD_", "TF_CLI_", "TIDEGATE_")

#: With a saved plan, the engine takes no others that mean anything, and a word that is no option would be another plan.
_APPLY_OPTIONS = frozenset(
    {"auto-approve", "compact-warnings", "lock", "lock-timeout", "parallelism", "var", "var-file"}
)
#: Options that would remove what the runner reads: the plan file, its text, and the exit code.
_NOT_FOR_PLAN = frozenset({"chdir", "detailed-exitcode", "help", "json", "out"})
_NOT_FOR_INIT = frozenset({"chdir", "from-module", "help", "json"})
_VALUED_APPLY_OPTIONS = frozenset({"lock-timeout", "parallelism", "var", "var-file"})


def plan_problem(steps: Sequence[WorkflowStep]) -> str | None:
    """Return what is wrong with the steps of a plan job, as a clause such as ``it has no plan``; None if nothing is."""
    kinds = [step.kind for step in steps]
    if StepKind.APPLY in kinds:
        return "it has an apply step, which is only allowed in an apply job"
    if StepKind.INIT not in kinds:
        return "it has no init step"
    return _main_problem(kinds, StepKind.PLAN) or _first_problem(steps)


def apply_problem(steps: Sequence[WorkflowStep]) -> str | None:
    """Return what is wrong with the steps of an apply job, as a clause; None if nothing is. It may do without init."""
    kinds = [step.kind for step in steps]
    if StepKind.PLAN in kinds:
        return "it has a plan step, but an apply job applies the reviewed plan"
    return _main_problem(kinds, StepKind.APPLY) or _first_problem(steps)


def _main_problem(kinds: list[StepKind], main: StepKind) -> str | None:
    if kinds.count(main) != 1:
        return (
            f"it has {kinds.count(main) or 'no'} {main} {'steps' if main in kinds else 'step'}, but needs exactly one"
        )
    if StepKind.INIT in kinds and kinds.index(StepKind.INIT) > kinds.index(main):
        return f"its init step comes after {main}"
    return None


def _first_problem(steps: Sequence[WorkflowStep]) -> str | None:
    return next((problem for step in steps if (problem := step_problem(step))), None)


def step_problem(step: WorkflowStep) -> str | None:
    """Return what is wrong with one step, as a clause; None if nothing is."""
    names = [name for name, _ in step.env]
    if step.kind in {StepKind.RUN, StepKind.ENV}:
        if not step.command or not step.command[0]:
            return f"the {step.kind} step has no command"
        names += [step.name] if step.kind is StepKind.ENV and not step.source else []
    unusable = next((problem for name in names if (problem := name_problem(name))), None)
    return unusable or _arguments_problem(step)


def name_problem(name: str) -> str | None:
    """Return why a step may not set the variable ``name``, as a clause; None when it may."""
    if not _NAME.fullmatch(name):
        return f"{name!a} is not a valid variable name: use letters, digits and '_'"
    if name in _RESERVED or name.startswith(_RESERVED_PREFIXES):
        return f"a step cannot set {name}: Tidegate sets it, or it controls what runs and with which permissions"
    return None


def _arguments_problem(step: WorkflowStep) -> str | None:
    for position, argument in enumerate(step.extra_args):
        # An option's value may be a word of its own, except where a word could be another plan.
        if argument[:1] == "-" or position == 0 or step.kind is StepKind.APPLY:
            problem = _option_problem(step.kind, argument)
            if problem:
                return f"extra_args of {step.kind} has {argument[:60]!a}{problem}"
    return None


def _option_problem(kind: StepKind, argument: str) -> str | None:
    option, equals, _ = argument.lstrip("-").partition("=")
    if not argument.startswith("-") or not option:
        return ", which is not an option: write options as -name=value"
    if kind is not StepKind.APPLY:
        refused = _NOT_FOR_PLAN if kind is StepKind.PLAN else _NOT_FOR_INIT
        return ", which Tidegate sets itself" if option in refused else None
    if option not in _APPLY_OPTIONS:
        allowed = ", ".join(f"-{each}" for each in sorted(_APPLY_OPTIONS))
        return f", but the apply uses the reviewed plan, so only these options are allowed: {allowed}"
    if option in _VALUED_APPLY_OPTIONS and not equals:
        return f" without a value: write -{option}=value"
    return None


def unknown_variable(text: str, values: Mapping[str, str]) -> str | None:
    """Return the first name that ``text`` refers to and that ``values`` lacks; None when there is none."""
    names = (match["braced"] or match["bare"] for match in _REFERENCE.finditer(text))
    return next((name for name in names if name and name not in values), None)


def substituted(text: str, values: Mapping[str, str]) -> str:
    """Return ``text`` with ``${NAME}`` and ``$NAME`` replaced, once, and ``$$`` as ``$``.

    Any other ``$`` stays, as in ``$(date)`` and ``$1``. Raise KeyError for a name that ``values`` lacks.
    """
    return _REFERENCE.sub(lambda match: match["dollar"] or values[match["braced"] or match["bare"]], text)


def escaped(text: str) -> str:
    """Return ``text`` so that ``substituted`` gives it back: for values that are filled in before the run."""
    return text.replace("$", "$$")
