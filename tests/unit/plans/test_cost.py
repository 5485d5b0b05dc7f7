"""What a plan costs, read from Infracost's JSON output."""

import json
from decimal import Decimal

import pytest
from hypothesis import given
from hypothesis import strategies as st

from tidegate.plans.rules.cost import (
    KEPT,
    PlanCost,
    ResourceCost,
    decimal_text,
    money,
    total_text,
    unknown_cost,
    with_cost,
)
from tidegate.plans.rules.counts import counts_and_cost
from tidegate.plans.rules.infracost import read_cost
from tidegate.plans.rules.plan import PlannedChanges

DATABASE = {"name": "aws_db_instance.main", "monthlyCost": "-3.104", "costComponents": []}
SERVER = {"name": "aws_instance.web[0]", "monthlyCost": "15.405"}


def output(*resources, **fields):
    """Return the document that Infracost writes for one project."""
    project = {"name": "network", "metadata": {"type": "terraform_plan_json"}, "diff": {"resources": list(resources)}}
    return {
        "version": "0.2",
        "currency": "USD",
        "projects": [project],
        "totalMonthlyCost": "345.1",
        "diffTotalMonthlyCost": "12.301",
        "summary": {"totalUnsupportedResources": 2},
    } | fields


def cost_of(document):
    return read_cost(json.dumps(document).encode(), str)


def project(**fields):
    return {"projects": [{"diff": {"resources": []}} | fields]}


def test_the_totals_and_the_resources_that_change_most_are_read():
    assert cost_of(output(DATABASE, SERVER)) == PlanCost(
        "USD",
        34510,
        1230,
        (ResourceCost("aws_instance.web[0]", 1540), ResourceCost("aws_db_instance.main", -310)),
        unsupported=2,
    )


def test_resources_of_all_projects_count_and_those_without_a_difference_do_not():
    free, by_use = {"name": "a.free", "monthlyCost": "0"}, {"name": "a.by_use", "monthlyCost": None}
    projects = [{"diff": {"resources": [free, by_use, {"name": "a.none"}]}}, {"diff": {"resources": [SERVER]}}]
    assert [each.address for each in cost_of(output(projects=projects)).resources] == ["aws_instance.web[0]"]


def test_numbers_are_read_like_texts_and_without_rounding_errors():
    read = cost_of(output(totalMonthlyCost=100, diffTotalMonthlyCost=0.07, summary=None))
    assert (read.monthly, read.difference, read.unsupported) == (10000, 7, 0)


def test_many_resources_are_counted_and_the_largest_kept():
    read = cost_of(output(*({"name": f"a.b[{number}]", "monthlyCost": number} for number in range(1, KEPT + 4))))
    assert (len(read.resources), read.more) == (KEPT, 3)
    assert read.resources[0] == ResourceCost(f"a.b[{KEPT + 3}]", (KEPT + 3) * 100)


def test_secrets_in_addresses_are_masked_before_they_are_shortened():
    name = "x" * 398 + "secret"
    read = read_cost(
        json.dumps(output({"name": name, "monthlyCost": 1})).encode(), lambda text: text.replace("secret", "(masked)")
    )
    assert read.resources[0].address == "x" * 398 + "(…"


@pytest.mark.parametrize(
    ("content", "why"),
    [
        (b"", "not JSON"),
        (b"\xff{}", "not JSON"),
        (b"[" * 100_000, "not JSON"),
        (b'{"version": ' + b"9" * 5000 + b"}", "not JSON"),
        (b'{"version": 1e999999999999999999999}', "not JSON"),
        (b'{"version": NaN}', "NaN is not an amount"),
        (b"[]", "not an object"),
    ],
)
def test_what_is_not_the_output_states_no_cost(content, why):
    read = read_cost(content, str)
    assert why in read.problem
    assert read == unknown_cost(read.problem)


@pytest.mark.parametrize(
    ("fields", "why"),
    [
        ({"version": "1.0"}, "version 0.2"),
        ({"currency": ""}, "three letters"),
        ({"currency": ["USD"]}, "three letters"),
        ({"currency": "<b>"}, "three letters"),
        ({"totalMonthlyCost": None}, "totalMonthlyCost is missing"),
        ({"diffTotalMonthlyCost": None}, "let Infracost read the plan's JSON"),
        ({"diffTotalMonthlyCost": "NaN"}, "diffTotalMonthlyCost is not an amount"),
        ({"diffTotalMonthlyCost": "-Infinity"}, "not an amount"),
        ({"diffTotalMonthlyCost": "1e12"}, "not an amount"),
        ({"diffTotalMonthlyCost": "1e999999999"}, "not an amount"),
        ({"diffTotalMonthlyCost": "9" * 300}, "not an amount"),
        ({"diffTotalMonthlyCost": True}, "not an amount"),
        ({"diffTotalMonthlyCost": ["1"]}, "not an amount"),
        ({"diffTotalMonthlyCost": "twelve"}, "not an amount"),
        ({"projects": None}, "projects is not a list"),
        ({"projects": ["a"]}, "project is not an object"),
        (project(diff=None), "diff is not an object"),
        (project(diff={"resources": {}}), "resources is not a list"),
        (project(diff={"resources": [1]}), "resource is not an object"),
        (project(diff={"resources": [{"monthlyCost": 1}]}), "has no name"),
        (project(diff={"resources": [{"name": "a.b", "monthlyCost": "x"}]}), "monthlyCost is not an amount"),
        (project(metadata={"errors": [{"message": "no such file"}]}), "Infracost failed: no such file"),
        (project(metadata={"errors": ["bad"]}), "error is not an object"),
        ({"summary": {"totalUnsupportedResources": -1}}, "not a count"),
        ({"summary": {"totalUnsupportedResources": True}}, "not a count"),
        ({"summary": {"totalUnsupportedResources": 10**40}}, "not a count"),
        ({"summary": ["x"]}, "summary is not an object"),
    ],
)
def test_an_output_with_anything_unexpected_states_no_cost(fields, why):
    read = cost_of(output(**fields))
    assert why in read.problem
    assert read == unknown_cost(read.problem)


def test_a_long_reason_is_shortened():
    assert len(unknown_cost("x" * 1000).problem) == 300


HALF = "\ud83d"  # Half of a character: no text in UTF-8 has it, and neither the table nor a page takes it.


@pytest.mark.parametrize(
    "document",
    [output({"name": HALF, "monthlyCost": 1}), output(**project(metadata={"errors": [{"message": HALF}]}))],
)
def test_halves_of_characters_are_not_kept(document):
    read = cost_of(document)
    assert "?" in (read.problem or read.resources[0].address)


JSON = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats() | st.text(),
    lambda inner: st.lists(inner, max_size=4) | st.dictionaries(st.text(), inner, max_size=4),
    max_leaves=10,
)


@given(st.binary() | JSON.map(json.dumps).map(str.encode))
def test_no_content_makes_the_reader_fail(content):
    assert read_cost(content, str).problem


@given(st.sampled_from([*output(), "diff", "resources", "metadata"]), JSON)
def test_no_value_of_any_field_makes_the_reader_fail(name, value):
    document = output(SERVER)
    (document if name in document else document["projects"][0])[name] = value
    read = cost_of(document)
    assert read.problem or read.currency.isascii()


def test_policies_get_the_plan_with_its_cost_in_numbers():
    plan = b'{"format_version":"1.2","resource_changes":[]}\n'
    document = json.loads(with_cost(plan, cost_of(output(SERVER))))
    assert document == {
        "format_version": "1.2",
        "resource_changes": [],
        "cost": {
            "known": True,
            "currency": "USD",
            "monthly": 345.1,
            "difference": 12.3,
            "resources": [{"address": "aws_instance.web[0]", "difference": 15.4}],
            "more": 0,
            "unsupported": 2,
        },
    }


def test_policies_see_that_a_cost_is_not_known_or_not_stated():
    unknown = json.loads(with_cost(b'{"format_version":"1.2"}', unknown_cost("the file is not JSON")))
    assert unknown["cost"] == {"known": False, "problem": "the file is not JSON"}
    assert with_cost(b'{"format_version":"1.2"}', None) == b'{"format_version":"1.2"}'
    assert json.loads(with_cost(b"{}\n", unknown_cost("x"))) == {"cost": {"known": False, "problem": "x"}}


def test_the_stated_cost_counts_if_a_plan_has_a_field_of_this_name():
    assert json.loads(with_cost(b'{"cost":0}', PlanCost("USD")))["cost"]["known"] is True


@given(st.decimals(allow_nan=False, allow_infinity=False, min_value=-(10**11), max_value=10**11, places=2))
def test_amounts_of_two_places_are_exact(amount):
    assert Decimal(cost_of(output(diffTotalMonthlyCost=str(amount))).difference) == amount * 100


@pytest.mark.parametrize(("hundredths", "text"), [(123456789, "1234567.89"), (-5, "-0.05"), (0, "0.00")])
def test_programs_get_amounts_as_decimal_numbers(hundredths, text):
    assert decimal_text(hundredths) == text


@pytest.mark.parametrize(
    ("hundredths", "text"), [(123456789, "1,234,567.89 USD"), (-5, "-0.05 USD"), (0, "0.00 USD"), (100, "1.00 USD")]
)
def test_an_amount_names_its_currency(hundredths, text):
    assert money(hundredths, "USD") == text


@pytest.mark.parametrize(
    ("cost", "words"),
    [
        (PlanCost("USD", 34510, 1230), "1 to add; +12.30 USD a month"),
        (PlanCost("EUR", 0, -1), "1 to add; -0.01 EUR a month"),
        (PlanCost("USD", 34510, 0), "1 to add; no change of cost"),
        (unknown_cost("the file is not JSON"), "1 to add; cost not known"),
        (None, "1 to add"),
    ],
)
def test_the_difference_stands_beside_the_counts(cost, words):
    assert counts_and_cost(PlannedChanges(add=1), cost) == words


@pytest.mark.parametrize(
    ("costs", "words"),
    [
        ([None, None], ""),
        ([PlanCost("USD", 0, 1230), None, PlanCost("USD", 0, 70)], "+13.00 USD a month"),
        ([PlanCost("USD", 0, 100), PlanCost("EUR", 0, -100)], "-1.00 EUR a month, +1.00 USD a month"),
        ([PlanCost("USD", 0, 100), PlanCost("USD", 0, -100)], "no change of cost"),
        ([PlanCost("USD", 0, 100), unknown_cost("x")], "+1.00 USD a month, cost of 1 not known"),
        ([unknown_cost("x")], "cost of 1 not known"),
    ],
)
def test_a_sum_adds_each_currency_and_says_what_is_not_known(costs, words):
    assert total_text(costs) == words
