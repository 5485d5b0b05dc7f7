"""The local cloud goes through a distributed Map's items in the execution itself, and tells whose their tokens are."""

from __future__ import annotations

import json

from tests.stepfunctions.machines import read
from tidegate_local.moto.execution_shims import inlined, labels

DEFINITION = read("drift").text


def test_a_distributed_map_is_inlined_and_all_else_stays():
    before, after = json.loads(DEFINITION), json.loads(inlined(DEFINITION))
    of_map = after["States"].pop("Check the roots")
    assert of_map["ItemProcessor"]["ProcessorConfig"] == {"Mode": "INLINE"}
    assert of_map["MaxConcurrency"] == 5
    assert not {"Label", "ToleratedFailurePercentage"} & set(of_map)
    assert set(before["States"]) - set(after["States"]) == {"Check the roots"}


def test_an_inlined_definition_stays_as_it_is():
    once = inlined(DEFINITION)
    assert json.loads(inlined(once)) == json.loads(once)


def test_labels_are_those_of_the_definition_as_it_was_deployed():
    assert labels(DEFINITION) == ("Layers",)
    assert labels(inlined(DEFINITION)) == ()
