"""Which environments an operation is about, and who may do it there; and the tokens of targets."""

from __future__ import annotations

import pytest

from tests.fakes import MemoryForge
from tests.unit.config_updates.verbs import CONFIGURATION, REPOSITORY, announce, updates_ports
from tidegate.config_updates.authorize import is_offered, may_operate
from tidegate.config_updates.read_configuration import current_updates
from tidegate.config_updates.rules.operations import Operated, Operation, concerned
from tidegate.config_updates.rules.refusals import UnknownEnvironment, UnknownImageSet, UnknownTarget
from tidegate.config_updates.target_tokens import is_target_token, make_target_token
from tidegate.deploys.authorize import person_asking
from tidegate.rules.permission import Permission

ALL = {"entry": "e", "set": "shop", "environment": "production", "target": "live"}
POLICIES = """\
access_control:
  policies:
    - {tag_query: 'environment:production', apply: ['user:sue'], unlock: ['user:sue']}
    - {tag_query: 'set:shop'}
"""
PEOPLE = ("sue", "wim")


def ports_with(policies=""):
    forge = MemoryForge(roles=dict.fromkeys(PEOPLE, Permission.WRITE))
    return updates_ports(CONFIGURATION + policies, forge=forge)


def who_may(ports, operation, **about):
    operated = Operated(operation, REPOSITORY, **about)
    return [login for login in PEOPLE if may_operate(ports, operated, login).done]


@pytest.mark.parametrize(
    ("operations", "about"),
    [
        ((Operation.EVICT, Operation.RETRY), {"entry": "e"}),
        ((Operation.PROMOTE, Operation.ROLL_BACK), {"image_set": "shop", "environment": "production"}),
        ((Operation.HOLD, Operation.RELEASE), {"image_set": "shop"}),
        ((Operation.TOKEN,), {"image_set": "shop", "target": "live"}),
        ((Operation.PAUSE, Operation.RESUME), {}),
    ],
)
def test_an_operation_is_about_no_more_than_it_takes(operations, about):
    for each in operations:
        assert concerned(each, REPOSITORY, ALL) == Operated(each, REPOSITORY, **about)
        assert concerned(each, REPOSITORY, {}) == Operated(each, REPOSITORY)


def test_a_policy_of_an_environment_decides_about_it_alone():
    ports = ports_with(POLICIES)
    for environment, who in (("production", ["sue"]), ("staging", ["sue", "wim"])):
        assert who_may(ports, Operation.PROMOTE, image_set="shop", environment=environment) == who


def test_an_operation_on_a_whole_set_takes_the_right_in_all_of_its_environments():
    assert who_may(ports_with(POLICIES), Operation.HOLD, image_set="shop") == ["sue"]


def test_where_policies_match_only_some_environments_nobody_may_act_on_the_others():
    ports = ports_with(POLICIES)
    assert who_may(ports, Operation.PAUSE) == []
    assert who_may(ports, Operation.PROMOTE, image_set="blog", environment="live") == []
    refused = may_operate(ports, Operated(Operation.PAUSE, REPOSITORY), "sue").reason
    assert "environment blog/live" in refused
    assert "production" not in refused


def test_without_access_control_whoever_may_write_may_pause():
    assert who_may(ports_with(), Operation.PAUSE) == list(PEOPLE)


def test_a_token_takes_the_right_in_the_environment_of_its_target():
    ports = ports_with(POLICIES)
    for target, who in (("production-us", ["sue"]), ("staging-eu", ["sue", "wim"])):
        assert who_may(ports, Operation.TOKEN, image_set="shop", target=target) == who


def test_an_entry_takes_the_right_in_its_environment():
    ports = ports_with(POLICIES.replace("production", "staging"))
    entry = announce(ports).entry.id
    assert who_may(ports, Operation.RETRY, entry=entry) == ["sue"]


@pytest.mark.parametrize(
    ("about", "refusal"),
    [
        ({"image_set": "none"}, UnknownImageSet),
        ({"image_set": "shop", "environment": "live"}, UnknownEnvironment),
        ({"image_set": "shop", "target": "live"}, UnknownTarget),
    ],
)
def test_what_is_not_declared_is_nobody_s(about, refusal):
    with pytest.raises(refusal):
        may_operate(ports_with(), Operated(Operation.TOKEN, REPOSITORY, **about), "sue")


def test_without_config_updates_writers_may_do_what_is_left_and_readers_may_not():
    forge = MemoryForge(roles={"sue": Permission.WRITE, "rhea": Permission.READ})
    ports = updates_ports("version: 1\n", forge=forge)
    about = Operated(Operation.EVICT, REPOSITORY, entry="e")
    assert may_operate(ports, about, "sue").done
    refused = may_operate(ports, about, "rhea")
    assert (refused.done, REPOSITORY in refused.reason) == (False, True)


@pytest.mark.parametrize(
    ("operation", "place", "who"),
    [
        ("promote", ("shop", "production"), ["sue"]),
        ("promote", ("shop", "staging"), ["sue", "wim"]),
        ("hold", ("shop",), ["sue"]),
        ("hold", ("blog",), []),
        ("pause", (), []),
    ],
)
def test_what_is_offered_is_what_is_allowed(operation, place, who):
    ports = ports_with(POLICIES)
    current = current_updates(ports, REPOSITORY)
    offered = [
        login for login in PEOPLE if is_offered(person_asking(ports, REPOSITORY, login), current, operation, *place)
    ]
    assert offered == who
    assert who_may(ports, Operation(operation), **dict(zip(("image_set", "environment"), place, strict=False))) == who


def test_a_target_s_token_is_valid_for_it_alone_until_the_next_one_is_made():
    ports = ports_with()
    first = make_target_token(ports, REPOSITORY, "shop", "production-eu", "sue")
    assert is_target_token(ports, REPOSITORY, "shop", "production-eu", first)
    assert not is_target_token(ports, REPOSITORY, "shop", "production-us", first)
    second = make_target_token(ports, REPOSITORY, "shop", "production-eu", "sue")
    valid = [
        is_target_token(ports, REPOSITORY, "shop", "production-eu", each) for each in (first, second, "", "\ud800")
    ]
    assert valid == [False, True, False, False]


def test_no_token_is_made_for_a_target_that_the_set_does_not_declare():
    ports = ports_with()
    with pytest.raises(UnknownTarget):
        make_target_token(ports, REPOSITORY, "shop", "live", "sue")
    assert ports.audit.published == []
