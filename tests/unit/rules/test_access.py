"""Who a grantee stands for, and what is said to somebody who is not among those who may."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from tidegate.rules.access import UNMATCHED, Access, Action, Person, check_access, grantee, teams_among
from tidegate.rules.permission import ROLES, Permission

PEOPLE = st.builds(
    Person,
    st.sampled_from(["anna", "Bob", "carol"]),
    st.sampled_from(Permission),
    st.frozensets(st.sampled_from(["sre", "dba"])),
)
GRANTEES = st.sampled_from(["*", "user:anna", "user:bob", "team:sre", "team:dba", *(f"role:{role}" for role in ROLES)])


def judged(grantees, login="anna", permission=Permission.WRITE, teams=()):
    access = Access(review=tuple(grantees))
    return check_access(access, Action.REVIEW, Person(login, permission, frozenset(teams)), "acme/infra", "stack prod")


@pytest.mark.parametrize(
    ("grantees", "login", "permission", "teams", "may"),
    [
        (["*"], "anna", Permission.WRITE, (), True),
        (["*"], "anna", Permission.TRIAGE, (), False),
        (["user:anna"], "Anna", Permission.READ, (), True),
        (["user:Anna"], "anna", Permission.READ, (), True),
        (["user:anna"], "anna", Permission.NONE, (), False),
        (["user:anna"], "hanna", Permission.ADMIN, (), False),
        (["team:sre"], "anna", Permission.READ, ["sre"], True),
        (["team:sre"], "anna", Permission.ADMIN, ["sres"], False),
        (["team:sre"], "anna", Permission.NONE, ["sre"], False),
        (["role:maintain"], "anna", Permission.WRITE, (), False),
        (["role:maintain"], "anna", Permission.MAINTAIN, (), True),
        (["role:maintain"], "anna", Permission.ADMIN, (), True),
        (["role:read"], "anna", Permission.READ, (), True),
        (["user:bob", "team:sre"], "anna", Permission.WRITE, ["sre"], True),
        ([], "anna", Permission.ADMIN, ["sre"], False),
    ],
)
def test_somebody_may_when_one_of_the_grantees_stands_for_them(grantees, login, permission, teams, may):
    assert judged(grantees, login, permission, teams).done is may


@pytest.mark.parametrize("action", Action)
def test_each_action_has_a_list_of_its_own(action):
    access = Access(**{each.value: (f"user:{each.value}",) for each in Action})
    may = {
        each.value: check_access(access, action, Person(each.value, Permission.WRITE), "acme/infra", "root a").done
        for each in Action
    }
    assert [login for login, done in may.items() if done] == [action.value]


@pytest.mark.parametrize(("permission", "may"), [(Permission.WRITE, True), (Permission.TRIAGE, False)])
def test_without_access_control_whoever_may_write_may(permission, may):
    person = Person("anna", permission)
    assert check_access(None, Action.REVIEW, person, "acme/infra", "root network").done is may


@pytest.mark.parametrize(
    ("grantees", "told"),
    [
        (
            ["role:maintain"],
            "Only role:maintain (or higher) can review plans of stack prod, and anna is not among them.",
        ),
        (["team:sre"], "Only team:sre can review plans of stack prod, and anna is not among them."),
        (
            ["user:bob", "role:admin"],
            "Only user:bob and role:admin can review plans of stack prod, and anna is not among them.",
        ),
        ([], "Nobody can review plans of stack prod: its 'access_control' has an empty list for 'review'."),
        (["*"], "anna needs write access to acme/infra to review plans of stack prod."),
        (
            ["*", "user:bob"],
            "Only people with write access and user:bob can review plans of stack prod, and anna is not among them.",
        ),
    ],
)
def test_a_refusal_says_who_may(grantees, told):
    assert judged(grantees, permission=Permission.READ).reason == told


def test_what_no_policy_matches_is_refused_with_the_hint_to_add_a_catch_all():
    access = Access((), (), (), (), UNMATCHED)
    decision = check_access(access, Action.APPLY, Person("anna", Permission.ADMIN), "acme/infra", "root network")
    assert not decision.done
    assert "no policy of 'access_control' matches" in decision.reason
    assert "tag_query: ''" in decision.reason


@pytest.mark.parametrize(
    ("text", "normal"),
    [
        ("*", "*"),
        (" user:Anna ", "user:Anna"),
        ("User:anna", "user:anna"),
        ("user:dependabot[bot]", "user:dependabot[bot]"),
        ("user:anna_acme", "user:anna_acme"),
        ("team:SRE", "team:sre"),
        ("role:Maintain", "role:maintain"),
    ],
)
def test_a_grantee_has_one_spelling(text, normal):
    assert grantee(text) == normal


@pytest.mark.parametrize(
    "text",
    [
        "",
        "anna",
        "**",
        "user:",
        "user:a b",
        "user:@anna",
        "user:../x",
        "team:",
        "team:acme/sre",
        "role:owner",
        "org:acme",
    ],
)
def test_what_is_no_grantee_is_refused_with_what_may_be_written(text):
    with pytest.raises(ValueError, match=r"user:LOGIN, team:SLUG, or role:"):
        grantee(text)


def test_each_team_is_asked_about_once():
    assert teams_among(["team:sre", "user:anna", "team:dba", "team:sre"]) == ("sre", "dba")


@given(st.lists(GRANTEES), GRANTEES, PEOPLE)
def test_one_more_grantee_takes_the_right_from_nobody(grantees, more, person):
    def may(listed):
        return check_access(Access(review=tuple(listed)), Action.REVIEW, person, "acme/infra", "root a").done

    assert may([*grantees, more]) or not may(grantees)


@given(st.lists(GRANTEES), PEOPLE)
def test_who_may_not_is_told_why_and_who_may_is_told_nothing(grantees, person):
    decision = check_access(Access(review=tuple(grantees)), Action.REVIEW, person, "acme/infra", "root a")
    assert bool(decision.reason) is not decision.done


@given(st.lists(GRANTEES), PEOPLE)
def test_who_cannot_read_the_repository_may_nothing(grantees, person):
    blind = Person(person.login, Permission.NONE, person.teams)
    assert not check_access(Access(review=tuple(grantees)), Action.REVIEW, blind, "acme/infra", "root a").done


class TestBoth:
    """The access of what may be one thing or another."""

    @pytest.mark.parametrize(
        ("ours", "theirs", "both"),
        [
            (["*"], ["*"], ["*"]),
            (["*"], ["team:sre", "user:anna"], ["team:sre", "user:anna"]),
            (["team:sre", "user:anna"], ["user:bob", "team:sre"], ["team:sre"]),
            (["role:write"], ["role:admin"], ["role:admin"]),
            (["role:read"], ["*"], ["*"]),
            (["team:sre"], ["role:admin"], []),
            (["team:sre"], [], []),
        ],
    )
    def test_only_who_is_named_for_both_may(self, ours, theirs, both):
        one, other = Access(review=tuple(ours)), Access(review=tuple(theirs))
        assert one.and_also(other).review == other.and_also(one).review == tuple(both)

    def test_where_nobody_is_left_it_is_told_why(self):
        nobody = Access(apply=("team:sre",)).and_also(Access(apply=("team:dba",)))
        decision = check_access(nobody, Action.APPLY, Person("anna", Permission.ADMIN), "acme/infra", "root x")
        assert "the default branch has no such" in decision.reason
        assert Access().and_also(Access()).denied == ""
        assert nobody.and_also(Access(denied="why")).denied

    @given(st.lists(GRANTEES), st.lists(GRANTEES), PEOPLE)
    def test_a_writer_who_may_by_both_rules_together_may_by_each(self, ours, theirs, person):
        one, other = Access(review=tuple(ours)), Access(review=tuple(theirs))

        def may(access):
            return check_access(access, Action.REVIEW, person, "acme/infra", "root a").done

        if person.permission >= Permission.WRITE and may(one.and_also(other)):
            assert may(one)
            assert may(other)
