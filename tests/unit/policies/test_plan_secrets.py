import pytest

from tidegate.policies.rules.plan_secrets import masking

SECRET = 'hun"ter2'


def change(**fields):
    return {"resource_changes": [{"change": fields}]}


PLANS = {
    "an attribute": change(after={"a": SECRET}, after_sensitive={"a": True}),
    "what was there before": change(before={"a": SECRET}, before_sensitive={"a": True}),
    "in a list": change(after={"a": ["open", {"b": SECRET}]}, after_sensitive={"a": [False, {"b": True}]}),
    "all of a block": change(after={"a": {"b": [SECRET]}}, after_sensitive=True),
    "drift": {"resource_drift": [{"change": {"after": SECRET, "after_sensitive": True}}]},
    "a changed output": {"output_changes": {"x": {"after": SECRET, "after_sensitive": True}}},
    "an output": {"planned_values": {"outputs": {"x": {"sensitive": True, "value": SECRET}}}},
    "an output of the state": {"prior_state": {"values": {"outputs": {"x": {"sensitive": True, "value": SECRET}}}}},
    "a module's resource": {
        "planned_values": {
            "root_module": {
                "child_modules": [{"resources": [{"values": {"a": SECRET}, "sensitive_values": {"a": True}}]}]
            }
        }
    },
    "a variable": {
        "variables": {"x": {"value": SECRET}},
        "configuration": {"root_module": {"variables": {"x": {"sensitive": True}}}},
    },
}


@pytest.mark.parametrize("name", PLANS)
def test_what_a_plan_marks_sensitive_is_masked(name):
    mask = masking(PLANS[name])
    assert mask(f'it is {SECRET}, as JSON {{"a": "hun\\"ter2"}}') == 'it is (masked), as JSON {"a": "(masked)"}'


def test_each_line_of_a_value_is_masked():
    mask = masking(change(after="first line\nsecond line\n", after_sensitive=True))
    assert mask("second line; first line") == "(masked); (masked)"


def test_numbers_are_masked_and_short_values_and_truths_are_not():
    mask = masking(change(after=[123456, True, "yes"], after_sensitive=True))
    assert mask("123456 True yes") == "(masked) True yes"


@pytest.mark.parametrize(
    "plan",
    [
        [],
        {},
        change(after={"a": SECRET}, after_sensitive={"a": False}),
        change(after="x", after_sensitive={"a": True}),
        change(after="x", after_sensitive=[True]),
        {"resource_changes": [None], "output_changes": {"x": 1}, "variables": {"x": {"value": SECRET}}},
        {"planned_values": {"outputs": {"x": {"value": SECRET}}, "root_module": {"resources": [0]}}},
    ],
)
def test_what_is_not_marked_stays_whatever_the_plan_looks_like(plan):
    assert masking(plan)(SECRET) == SECRET
