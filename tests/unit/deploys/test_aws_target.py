"""The account that a root's engine works in, and the rule which roles an installation lets a repository name."""

from __future__ import annotations

import re

import botocore.session
import pytest
from hypothesis import given
from hypothesis import strategies as st

from tidegate.deploys.rules.aws_target import (
    AllowedRole,
    AllowedRoles,
    AwsTarget,
    InvalidTarget,
    Phase,
    account_problem,
    aws_target,
    fits,
    from_text,
    is_allowed,
    region_problem,
    role_problem,
    to_text,
)

ACCOUNT, OTHER = "111111111111", "222222222222"
PLAN, APPLY = f"arn:aws:iam::{ACCOUNT}:role/plan", f"arn:aws:iam::{ACCOUNT}:role/deploy"
TARGET = AwsTarget(PLAN, APPLY, "eu-west-1")
EVERYWHERE = {
    Phase.PLAN: (AllowedRole(PLAN, ("acme/*",)),),
    Phase.APPLY: (AllowedRole(APPLY, ("acme/*",)),),
    Phase.PULL_REQUEST: (AllowedRole(PLAN, ("acme/*",)),),
}
PATTERNS = st.text("ab/*", max_size=8)
TEXTS = st.text("ab/", max_size=12)


class TestWhatIsSaid:
    @pytest.mark.parametrize(
        ("said", "expected"),
        [
            (("", "", "", ""), AwsTarget()),
            (("", "", "", "eu-west-1"), AwsTarget(region="eu-west-1")),
            ((ACCOUNT, "plan", "deploy", "eu-west-1"), TARGET),
            (("", PLAN, APPLY, ""), AwsTarget(PLAN, APPLY)),
            ((ACCOUNT, PLAN, "deploy", ""), AwsTarget(PLAN, APPLY)),
            (
                (ACCOUNT, "ci/plan", "ci/deploy", "cn-north-1"),
                AwsTarget(
                    f"arn:aws-cn:iam::{ACCOUNT}:role/ci/plan", f"arn:aws-cn:iam::{ACCOUNT}:role/ci/deploy", "cn-north-1"
                ),
            ),
        ],
    )
    def test_roles_by_name_are_of_the_account_and_of_its_partition(self, said, expected):
        assert aws_target(*said) == expected

    @pytest.mark.parametrize(
        ("said", "about"),
        [
            ((ACCOUNT, "", "", ""), "plan_role"),
            ((ACCOUNT, "plan", "", ""), "no apply_role"),
            ((ACCOUNT, "", "deploy", ""), "no plan_role"),
            (("", "plan", "deploy", ""), "account"),
            ((OTHER, PLAN, APPLY, ""), ACCOUNT),
            ((ACCOUNT, "plan", f"arn:aws:iam::{OTHER}:role/deploy", ""), OTHER),
            (("", PLAN, f"arn:aws:iam::{OTHER}:role/deploy", ""), OTHER),
            ((ACCOUNT, "same", "same", ""), "both"),
            (("", PLAN, APPLY, "cn-north-1"), "arn:aws-cn:"),
            ((ACCOUNT, "x" * 513, "deploy", ""), "is not an IAM role name"),
        ],
    )
    def test_what_contradicts_itself_is_refused_with_what_to_do(self, said, about):
        with pytest.raises(InvalidTarget, match=re.escape(about)) as refused:
            aws_target(*said)
        assert refused.value.problem
        assert refused.value.allowed

    def test_a_target_knows_its_account_and_the_role_of_each_phase(self):
        assert (TARGET.account, AwsTarget(region="eu-west-1").account) == (ACCOUNT, "")
        assert [TARGET.role(phase) for phase in Phase] == [PLAN, APPLY, PLAN]

    def test_accounts_have_12_digits(self):
        assert not account_problem("012345678901")
        assert all(account_problem(text) for text in ("", "12345678901", "1234567890123", "12345678901a"))

    @pytest.mark.parametrize("text", ["plan", "path/plan", PLAN, f"arn:aws-us-gov:iam::{ACCOUNT}:role/a/b+=,.@_-"])
    def test_roles_are_named_by_arn_or_by_name(self, text):
        assert not role_problem(text)

    @pytest.mark.parametrize(
        "text", ["", "/plan", "a b", "a*", "arn:aws:iam::1:role/x", f"arn:aws:iam::{ACCOUNT}:user/x", f"{PLAN}*"]
    )
    def test_anything_else_names_no_role(self, text):
        assert role_problem(text)

    def test_all_regions_of_reachable_partitions_are_known(self):
        session = botocore.session.get_session()
        reachable = [each for each in session.get_available_partitions() if not each.startswith("aws-iso")]
        regions = [region for each in reachable for region in session.get_available_regions("sts", each)]
        assert len(regions) > 30
        assert not [region for region in regions if region_problem(region)]

    @pytest.mark.parametrize(
        "text", ["", "europe", "eu-wset-1", "eu-west1", "eu-west-1a", "us-iso-east-1", "EU-WEST-1"]
    )
    def test_other_texts_are_no_regions(self, text):
        assert region_problem(text)


class TestWhichRolesAreAllowed:
    def test_nothing_is_allowed_where_nobody_allows_it(self):
        assert all(AllowedRoles().problem(TARGET, "acme/infra", [phase]) for phase in Phase)

    def test_a_role_is_allowed_to_the_repositories_that_its_entry_names_and_to_no_other(self):
        allowed = AllowedRoles(EVERYWHERE)
        assert not allowed.problem(TARGET, "acme/infra", Phase)
        assert "evil/infra" in allowed.problem(TARGET, "evil/infra", Phase)
        assert "pull_request_target_roles" in AllowedRoles({**EVERYWHERE, Phase.PULL_REQUEST: ()}).problem(
            TARGET, "acme/infra", Phase
        )

    def test_without_roles_there_is_nothing_to_be_allowed(self):
        assert not AllowedRoles().problem(AwsTarget(region="eu-west-1"), "acme/infra", Phase)

    @given(st.sampled_from(Phase), st.booleans(), st.booleans())
    def test_an_entry_of_one_phase_allows_nothing_in_another(self, phase, named, mine):
        entry = AllowedRole(
            TARGET.role(phase) if named else "arn:aws:iam::1:role/x", ("acme/*" if mine else "other/*",)
        )
        allowed = AllowedRoles({phase: (entry,)})
        usable = {each for each in Phase if not allowed.problem(TARGET, "acme/infra", [each])}
        assert usable == ({phase} if named and mine else set())

    @pytest.mark.parametrize(
        ("pattern", "text", "fitting"),
        [
            ("a*b*c", "abc", True),
            ("a*b*c", "a/b/b/c", True),
            ("a*b*c", "ac", False),
            ("ab*ba", "aba", False),
            ("*", "", True),
            ("acme/*", "acme/a/b", True),
            ("acme/*", "acme", False),
        ],
    )
    def test_stars_stand_for_texts_that_do_not_overlap(self, pattern, text, fitting):
        assert fits(pattern, text) is fitting

    @given(PATTERNS, TEXTS)
    def test_a_star_stands_for_any_text_and_all_else_for_itself(self, pattern, text):
        expected = re.fullmatch(".*".join(map(re.escape, pattern.split("*"))), text) is not None
        assert fits(pattern, text) is expected

    @given(PATTERNS, PATTERNS, TEXTS, TEXTS)
    def test_role_and_repository_must_fit_the_same_entry(self, role, repositories, named, repository):
        both = fits(role, named) and fits(repositories, repository)
        assert is_allowed([AllowedRole(role, (repositories,))], repository, named) is both
        apart = [AllowedRole(role, ()), AllowedRole("no", (repositories,))]
        assert not is_allowed(apart, repository, named)

    @given(
        st.dictionaries(
            st.sampled_from(Phase), st.lists(st.builds(AllowedRole, TEXTS, st.tuples(TEXTS))).map(tuple), max_size=3
        )
    )
    def test_the_list_survives_its_way_to_the_runner(self, phases):
        allowed = AllowedRoles(phases)
        assert from_text(to_text(allowed)) == allowed

    def test_a_text_that_is_no_list_is_refused_and_none_allows_none(self):
        assert from_text("") == AllowedRoles()
        assert from_text(to_text(AllowedRoles(EVERYWHERE))) == AllowedRoles(EVERYWHERE)
        for text in ("x", "[]", "3", '{"plan":3}', '{"destroy":[]}', '{"plan":[[]]}'):
            with pytest.raises(ValueError, match=r"\S"):
                from_text(text)
