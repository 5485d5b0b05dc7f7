"""The engine of policies judges as OPA does."""

from __future__ import annotations

import json
import re

import pytest

from tests.conformance.run import FILES, cases, failures
from tidegate.policies.rego.builtins import BUILTINS, DEPRECATED


@pytest.mark.parametrize("file", FILES)
def test_the_engine_judges_as_opa_does(file):
    assert list(failures(file)) == []


def test_at_least_300_cases_are_there():
    assert sum(len(cases(file)) for file in FILES) >= 300


def test_every_function_that_policies_may_call_has_cases():
    called = set(re.findall(r"([a-z_0-9.]+)\(", json.dumps([cases(file) for file in FILES])))
    assert (BUILTINS | DEPRECATED) - called == set()


@pytest.mark.parametrize(
    "case", [{"expr": "1 + 1", "want": 3}, {"expr": "1", "refused": True}], ids=["want", "refused"]
)
def test_a_case_that_the_engine_judges_otherwise_is_told(monkeypatch, case):
    monkeypatch.setattr("tests.conformance.run.cases", lambda _: [case])
    assert len(list(failures("numbers"))) == 2
