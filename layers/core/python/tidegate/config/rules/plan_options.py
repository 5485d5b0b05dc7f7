"""Engine options for plans in comments: those that configured patterns allow, except forbidden ones."""

from __future__ import annotations

import re
from collections.abc import Iterable, Sequence
from dataclasses import replace

from tidegate.deploys.rules.workflow import RunSettings, StepKind, WorkflowStep
from tidegate.deploys.rules.workflow_rules import escaped, step_problem
from tidegate.texts.markdown import code

#: Default options: none of them reads files or changes what is planned.
ALLOWED_PLAN_ARGS = ("-target=*", "-exclude=*", "-refresh=false", "-parallelism=*")
#: Characters of one option.
LONGEST_OPTION = 500
#: Options that touch state, locks or files outside the plan: never allowed.
_NEVER = frozenset(
    {"backup", "generate-config-out", "input", "lock", "lock-timeout", "plugin-dir", "state", "state-out"}
)
_OPTION = re.compile(r"--?[a-z][a-z-]*(=.*)?", re.DOTALL)


def is_pattern(text: str) -> bool:
    """Tell whether a text is a valid pattern of options: it must at least name the option."""
    return bool(_OPTION.fullmatch(text)) and "*" not in text.partition("=")[0]


def option_problems(options: Iterable[str], allowed: Sequence[str]) -> tuple[str, ...]:
    """Return why options are not allowed, a sentence in Markdown for each.

    ``allowed`` are patterns of whole options, in which ``*`` stands for any characters.
    """
    patterns = [_pattern(each) for each in allowed]
    return tuple(problem for each in options if (problem := _problem(each, patterns, allowed)))


def with_options(run: RunSettings, options: Sequence[str]) -> RunSettings:
    """Return settings whose plan has further options. They are literal: variables in them are not replaced."""
    if not options:
        return run
    more = tuple(escaped(each) for each in options)
    return replace(run, plan=tuple(_with_more(step, more) for step in run.plan))


def _with_more(step: WorkflowStep, more: tuple[str, ...]) -> WorkflowStep:
    return replace(step, extra_args=(*step.extra_args, *more)) if step.kind is StepKind.PLAN else step


def _pattern(text: str) -> re.Pattern[str]:
    first, *others = map(re.escape, _plain(text).split("*"))
    if not others:
        return re.compile(first)
    # For every part but the last, the first match is good enough, so there is no backtracking.
    return re.compile("".join([first, *(f"(?>.*?{part})" for part in others[:-1]), ".*", others[-1]]), re.DOTALL)


def _plain(option: str) -> str:
    """Return an option as the engines' documentation writes it."""
    return f"-{option[2:]}" if option.startswith("--") else option


def _problem(option: str, patterns: Sequence[re.Pattern[str]], allowed: Sequence[str]) -> str:
    shown = code(option, 100)
    if len(option) > LONGEST_OPTION:
        return f"{shown} is longer than {LONGEST_OPTION} characters."
    if not _OPTION.fullmatch(option):
        return f"{shown} is not an option. Write `-name=value`, and put values with spaces or quotes in quotes."
    name = option.lstrip("-").partition("=")[0]
    if name in _NEVER or step_problem(WorkflowStep(StepKind.PLAN, extra_args=(option,))):
        return f"{shown} is not allowed: Tidegate sets that itself."
    if not any(pattern.fullmatch(_plain(option)) for pattern in patterns):
        there = f"Allowed: {', '.join(code(each) for each in allowed)}" if allowed else "None are allowed"
        return f"{shown} is not in `pull_requests.allowed_plan_args` of the default branch. {there}."
    return ""
