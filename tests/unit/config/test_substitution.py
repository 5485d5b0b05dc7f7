"""Stack variables in texts: those that are complete afterwards, and those that are read once more when they run."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from tidegate.config.substitution import UnsetVariable, filled, filled_step, has_variables
from tidegate.deploys.rules.workflow import StepKind, WorkflowStep
from tidegate.deploys.rules.workflow_rules import substituted

VARIABLES = {"STACK_VAR_A": "one", "STACK_VAR_B": "${STACK_VAR_A}$x"}


def of_a_step(text: str, variables=VARIABLES) -> str:
    step = filled_step(WorkflowStep(StepKind.RUN, ("p", text), extra_args=(text,), env=(("E", text),)), variables)
    assert step.command == ("p", step.extra_args[0])
    assert step.env == (("E", step.extra_args[0]),)
    return step.extra_args[0]


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("", ""),
        ("plain $ and $1 and $(x) and $HOME", "plain $ and $1 and $(x) and $HOME"),
        ("${STACK_VAR_A}-${STACK_VAR_A}", "one-one"),
        ("$STACK_VAR_A", "one"),
        ("${STACK_VAR_B}", "${STACK_VAR_A}$x"),
        ("$${STACK_VAR_A}", "${STACK_VAR_A}"),
        ("$${whatever}", "${whatever}"),
        ("${STACK_VAR_A", "${STACK_VAR_A"),
    ],
)
def test_texts_are_complete_afterwards_and_values_are_taken_as_they_are(text, expected):
    assert filled(text, VARIABLES) == expected


@pytest.mark.parametrize(
    ("text", "when_it_runs"),
    [
        ("${STACK_VAR_A} $STACK_VAR_A", "one one"),
        ("${STACK_VAR_B}", "${STACK_VAR_A}$x"),
        ("$${STACK_VAR_A}", "${STACK_VAR_A}"),
        ("$$STACK_VAR_A", "$STACK_VAR_A"),
        ("$$${STACK_VAR_A}", "$one"),
        ("${HOME} $HOME $(x)", "/h /h $(x)"),
    ],
)
def test_steps_mean_the_same_once_they_are_read_again(text, when_it_runs):
    assert substituted(of_a_step(text), {"HOME": "/h"}) == when_it_runs


@pytest.mark.parametrize("fill", [filled, of_a_step])
@pytest.mark.parametrize(
    ("text", "name", "allowed"),
    [
        ("${STACK_VAR_C}", "STACK_VAR_C", "Set 'C' in the stack's variables"),
        ("a ${STACK_VAR_a}", "STACK_VAR_a", "Did you mean STACK_VAR_A? Set 'a' in the stack's variables"),
        ("$STACK_VAR_", "STACK_VAR_", "Set '' in the stack's variables"),
    ],
)
def test_an_unset_variable_is_named_with_the_whole_text(fill, text, name, allowed):
    with pytest.raises(UnsetVariable) as caught:
        fill(text, {"STACK_VAR_A": "one"})
    assert (caught.value.name, caught.value.text) == (name, text)
    assert caught.value.allowed.endswith(allowed.partition("? ")[2] or allowed)
    assert str(caught.value).startswith(f"The variable {name!r} is not set. ")


def test_other_variables_are_refused_where_nothing_else_fills_them_in():
    with pytest.raises(UnsetVariable, match=r"Only stack variables, \$\{STACK_VAR_NAME\}, work here"):
        filled("${environment}", VARIABLES)


@given(st.text(alphabet="${}ASTCK_VR x", max_size=40), st.text(max_size=10))
def test_any_text_is_filled_in_or_refused_and_values_are_never_read(text, value):
    variables = {"STACK_VAR_A": value}
    mark = "\0"
    try:
        with_mark = filled(text, {"STACK_VAR_A": mark})
    except UnsetVariable as unset:
        with pytest.raises(UnsetVariable, match="is not set"):
            filled(unset.text, variables)
    else:
        assert filled(text, variables) == with_mark.replace(mark, value)
        assert has_variables(text) or mark not in with_mark
