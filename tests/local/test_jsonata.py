"""JSONata as Step Functions has it."""

from __future__ import annotations

import pytest

from tidegate_local.moto.jsonata_shim import evaluate, evaluate_existing


@pytest.mark.parametrize(
    ("expression", "variables", "value"),
    [
        ("$states.input.a & '!'", {"states": {"input": {"a": 'say "x"'}}}, 'say "x"!'),
        ("$states.input.missing", {"states": {"input": {"missing": None}}}, None),
        ("$not($x)", {"x": False}, True),
        ("{'a': $x, 'b': [1]}", {"x": None}, {"a": None, "b": [1]}),
        ("$split('a,b', ',')", {}, ["a", "b"]),
        ("$parse('{\"a\": [1, null]}').a[0]", {}, 1),
        ("$hash('a', 'SHA-256')", {}, "ca978112ca1bbdcafac231b39a23dc4da786eff8147c4e72b9807785afee48bb"),
        ("$count($partition([1, 2, 3], 2))", {}, 2),
    ],
)
def test_values(expression, variables, value):
    assert evaluate(expression, variables) == value


def test_null_is_a_value_and_a_missing_field_is_not():
    assert evaluate_existing("$x.a", {"x": {"a": None}}) == (True, None)
    assert evaluate_existing("$x.b", {"x": {"a": None}}) == (False, None)
