"""JSONata for moto's state machine interpreter, evaluated by jsonata-python.

moto's own evaluation needs a Java virtual machine that it does not have (``_eval_jsonata`` is None),
and it pastes every value into the expression's text, where a quote in a string breaks it. Here the
expression stays as written and values are bound to its variables.
"""

# ruff: noqa: SLF001 - replacements have the signatures of what they replace.
# mypy: disable-error-code="method-assign,assignment,attr-defined,arg-type,call-arg,typeddict-item,no-any-return"
from __future__ import annotations

import hashlib
import json
import random
import uuid
from typing import Any

from jsonata import JException, Jsonata
from jsonata.utils import Utils
from moto.stepfunctions.parser.api import EvaluationFailedEventDetails, HistoryEventType
from moto.stepfunctions.parser.asl.component.common.error_name.failure_event import (
    FailureEvent,
    FailureEventException,
)
from moto.stepfunctions.parser.asl.component.common.error_name.states_error_name import StatesErrorName
from moto.stepfunctions.parser.asl.component.common.error_name.states_error_name_type import StatesErrorNameType
from moto.stepfunctions.parser.asl.component.common.string.string_expression import StringJSONata
from moto.stepfunctions.parser.asl.eval.event.event_detail import EventDetails
from moto.stepfunctions.parser.asl.jsonata import jsonata as moto_jsonata


def install() -> None:
    """Let moto's interpreter evaluate JSONata."""
    moto_jsonata._eval_jsonata = evaluate
    StringJSONata._eval_body = _eval_body


def evaluate(expression: str, variables: dict[str, Any] | None = None) -> Any:
    """Return the expression's value with these variables (names without ``$``). Raise JException."""
    return evaluate_existing(expression, variables or {})[1]


def _parse(text: str) -> Any:
    return _with_nulls(json.loads(text))


def _hash(value: str, algorithm: str) -> str:
    return hashlib.new(algorithm.replace("-", "").lower(), value.encode()).hexdigest()


def _range(first: float, last: float, step: float) -> list[float]:
    count = int((last - first) / step) + 1
    return [first + index * step for index in range(max(count, 0))]


def _partition(values: list[Any], size: int) -> list[list[Any]]:
    return [values[index : index + int(size)] for index in range(0, len(values), int(size))]


_FUNCTIONS: dict[str, Any] = {
    "parse": _parse,
    "hash": _hash,
    "uuid": lambda: str(uuid.uuid4()),
    "random": random.random,
    "range": _range,
    "partition": _partition,
}


def _with_nulls(value: Any) -> Any:
    if value is None:
        return Utils.NULL_VALUE
    if isinstance(value, dict):
        return {key: _with_nulls(item) for key, item in value.items()}
    if isinstance(value, list):
        return [_with_nulls(item) for item in value]
    return value


def _plain(value: Any) -> Any:
    if value is Utils.NULL_VALUE:
        return None
    if isinstance(value, dict):
        return {key: _plain(item) for key, item in value.items()}
    if isinstance(value, list):
        return [_plain(item) for item in value]
    return value


def _eval_body(self: StringJSONata, env: Any) -> None:
    variables = {**env.variable_store._outer_scope, **env.variable_store._inner_scope}
    variables["states"] = env.states._states_data
    try:
        exists, value = evaluate_existing(self.expression, variables)
    except (JException, ValueError, TypeError, AttributeError) as error:
        raise _failure(env, f"The JSONata expression '{self.expression}' failed: {error}") from error
    if not exists:
        raise _failure(env, f"The JSONata expression '{self.expression}' returned nothing (undefined).")
    env.stack.append(value)


def evaluate_existing(expression: str, variables: dict[str, Any]) -> tuple[bool, Any]:
    """Return whether the expression has a value (null is one), and the value."""
    program = Jsonata(expression)
    for name, function in _FUNCTIONS.items():
        program.register_lambda(name, function)
    frame = program.create_frame()
    for name, value in variables.items():
        frame.bind(name, _with_nulls(_as_json(value)))
    program.output_convert_nulls = False
    result = program.evaluate(None, frame)
    return result is not None, _plain(result)


def _as_json(value: Any) -> Any:
    return json.loads(json.dumps(value, default=str))


def _failure(env: Any, cause: str) -> FailureEventException:
    name = StatesErrorName(typ=StatesErrorNameType.StatesQueryEvaluationError)
    details = EvaluationFailedEventDetails(cause=cause, error=name.error_name)
    return FailureEventException(
        failure_event=FailureEvent(
            env=env,
            error_name=name,
            event_type=HistoryEventType.EvaluationFailed,
            event_details=EventDetails(evaluationFailedEventDetails=details),
        )
    )
