"""The organization-wide file: what it says around and over the files of repositories, and what it refuses."""

from __future__ import annotations

import pytest

from tests.builders import REPOSITORY
from tidegate.config.loader import LoadedConfiguration, examine_configuration, load_configuration
from tidegate.config.organization import ORGANIZATION, Organization, examine_organization, read_organization
from tidegate.config.resolution import configure
from tidegate.deploys.rules.review_rule import PlanReview, ReviewRule
from tidegate.policies.rules.requirements import Requirements
from tidegate.roots.rules.root import Engine, EngineName, Root
from tidegate.rules.errors import InvalidConfiguration

NETWORK = Root("network", "network")


def organization(text):
    read = examine_organization(text.encode())
    assert isinstance(read, Organization), [str(each) for each in read]
    return read


def load(around, text="version: 1"):
    return load_configuration(text.encode(), REPOSITORY, organization(around))


def one(around, text="version: 1"):
    """Return the root ``network`` as it is configured, or why it is refused."""
    configured = configure(load(around, text), [NETWORK])
    return configured.roots[0] if configured.roots else configured.refused["network"]


def refusals(around, text):
    found = examine_configuration(text.encode(), REPOSITORY, organization(around))
    assert not isinstance(found, LoadedConfiguration)
    return [str(each) for each in found]


class TestDefaults:
    AROUND = "defaults: {engine: {name: tofu, version: 1.9.0}, apply_requirements: {approved: {any_of_count: 2}}}"

    def test_they_hold_where_a_repository_says_nothing(self):
        loaded = load(self.AROUND, "engine: terraform")
        assert (loaded.engine, loaded.requirements) == (Engine(), Requirements(approvals=2))

    def test_they_hold_for_a_repository_without_a_file(self):
        loaded = load_configuration(None, REPOSITORY, organization(self.AROUND))
        assert loaded.engine == Engine(EngineName.TOFU, "1.9.0")
        assert loaded.roots is None

    def test_a_repository_that_says_a_key_says_all_of_it(self):
        assert load(self.AROUND, "apply_requirements: {merge_conflicts: {}}").requirements == Requirements(
            mergeable=True
        )


class TestForced:
    def test_what_is_forced_takes_the_place_of_what_a_repository_says(self):
        around = "forced: {access_control: {policies: [{tag_query: '', apply: ['team:sre']}]}}"
        mine = "access_control: {policies: [{tag_query: '', apply: ['*']}]}"
        assert one(around, mine).access.apply == ("team:sre",)
        assert one(around, mine).access.review == ("team:sre",)

    def test_it_is_forced_on_single_roots_stacks_and_workflows_too(self):
        around = "forced: {engine: {name: tofu, version: 1.9.0}, plan_review: {when: always, approvals: 2}}"
        mine = """
        dirs: {network: {engine: terraform, plan_review: never, workspaces: {default: {plan_review: never}}}}
        stacks: {names: {prod: {tag_query: '', engine: terraform, rules: {auto_apply: true}}}}
        workflows: [{tag_query: '', engine: terraform}]
        """
        configured = one(around, mine)
        assert configured.root.engine == Engine(EngineName.TOFU, "1.9.0")
        assert configured.review_rule == ReviewRule(PlanReview.ALWAYS, 2)
        assert configured.stack == "prod"


class TestLimits:
    AROUND = "limits: {plan_review: {when: manual, approvals: 2}, engines: {terraform: ['1.11.*', 1.12.0]}}"

    @pytest.mark.parametrize(
        ("mine", "rule"),
        [
            ("plan_review: never", ReviewRule(PlanReview.MANUAL, 2)),
            ("plan_review: {when: always, approvals: 3}", ReviewRule(PlanReview.ALWAYS, 3)),
            ("dirs: {network: {plan_review: never}}", ReviewRule(PlanReview.MANUAL, 2)),
            ("stacks: {names: {a: {tag_query: '', rules: {auto_apply: true}}}}", ReviewRule(PlanReview.MANUAL, 2)),
        ],
    )
    def test_no_review_is_weaker_than_the_least(self, mine, rule):
        assert one(self.AROUND, mine).review_rule == rule

    @pytest.mark.parametrize(
        ("mine", "is_allowed"),
        [
            ("version: 1", True),
            ("engine: {name: terraform, version: 1.11.4}", True),
            ("engine: {name: terraform, version: 1.12.0}", True),
            ("engine: {name: terraform, version: 1.12.1}", False),
            ("engine: tofu", False),
            ("dirs: {network: {engine: {name: tofu, version: 1.9.0}}}", False),
            ("stacks: {names: {a: {tag_query: '', engine: {name: terraform, version: 1.5.7}}}}", False),
        ],
    )
    def test_only_allowed_engines_run(self, mine, is_allowed):
        configured = one(self.AROUND, mine)
        assert isinstance(configured, str) is not is_allowed
        if not is_allowed:
            assert f"is not allowed: the organization's file ({ORGANIZATION}:1) allows terraform 1.11.* or 1.12.0" in (
                configured
            )

    def test_without_limits_any_engine_runs(self):
        assert one("defaults: {}", "engine: tofu").root.engine == Engine(EngineName.TOFU)


class TestOverridable:
    AROUND = "defaults: {plan_review: always}\noverridable: [dirs, engine]\n"

    def test_other_keys_are_refused_with_their_place_and_the_file_that_decides(self):
        (told,) = refusals(self.AROUND, "version: 1\nhooks: {}\n")
        assert told.startswith("tidegate.yaml:2:1: the organization's file decides the key 'hooks'")
        assert f"({ORGANIZATION}:2)" in told
        assert "Repositories may set: dirs, engine" in told

    @pytest.mark.parametrize(
        "mine",
        [
            "plan_review: never",
            "dirs: {a: {plan_review: never}}",
            "dirs: {a: {workspaces: {b: {plan_review: never}}}}",
        ],
    )
    def test_a_key_is_refused_wherever_it_stands(self, mine):
        (told,) = refusals(self.AROUND, mine)
        assert "the organization's file decides the key 'plan_review'" in told

    def test_a_stack_may_not_say_in_other_words_what_it_may_not_say(self):
        mine = "stacks: {names: {a: {tag_query: '', rules: {auto_apply: true}}}}"
        (told,) = refusals("overridable: [stacks]", mine)
        assert "decides the key 'auto_apply'" in told
        assert "it sets 'plan_review'" in told

    def test_what_may_be_said_is_said(self):
        assert load(self.AROUND, "dirs: {network: {engine: tofu}}").roots[0].root.engine.name is EngineName.TOFU

    def test_roots_may_be_what_a_repository_may_not_say(self):
        (told,) = refusals("overridable: []", "roots: [{dir: a}]")
        assert "Repositories may set: none" in told


class TestMistakes:
    @pytest.mark.parametrize(
        ("text", "place", "words"),
        [
            ("", "1:1", "the file must be a mapping"),
            ("a: [", "", "invalid YAML"),
            ("version: 1\nforce: {}", "2:1", "Did you mean 'forced'?"),
            ("defaults:\n  plan_revew: never", "2:3", "'plan_revew' is not allowed here"),
            ("defaults:\n  roots: []", "2:3", "'roots' is not allowed here"),
            ("forced:\n  plan_review: sometimes", "2:16", "It should be"),
            ("forced:\n  plan_review: {wen: never}", "2:17", "Did you mean 'when'?"),
            ("limits:\n  engines: {pulumi: ['*']}", "2:13", "It should be"),
            ("overridable: [hook]", "1:1", "unknown key 'hook'"),
            ("overridable: hooks", "1:14", "a list is needed"),
        ],
    )
    def test_they_are_told_with_their_place_in_the_organizations_file(self, text, place, words):
        found = examine_organization(text.encode())
        assert isinstance(found, list)
        assert str(found[0]).startswith(f"{ORGANIZATION}:{place}")
        assert words in str(found[0])

    def test_with_a_file_that_cannot_be_used_no_repositorys_file_can(self):
        broken = read_organization(b"forced: [")
        for raw in (b"version: 1", None):
            with pytest.raises(InvalidConfiguration) as refusal:
                load_configuration(raw, REPOSITORY, broken)
            assert refusal.value.file == ORGANIZATION

    def test_what_is_wrong_between_two_files_is_told_of_the_file_that_says_it(self):
        around = "defaults:\n  stacks: {names: {a: {tag_query: x, rules: {apply_after: [b]}}}}\n"
        found = examine_configuration(b"version: 1", REPOSITORY, organization(around))
        assert isinstance(found, list)
        assert (found[0].file, found[0].line) == (ORGANIZATION, 2)


def test_without_an_organizations_file_repositories_say_all():
    assert read_organization(None, PlanReview.MANUAL) == Organization(PlanReview.MANUAL)
    assert load_configuration(None, REPOSITORY, read_organization(None, PlanReview.MANUAL)).review_rule == ReviewRule(
        PlanReview.MANUAL
    )


def test_a_file_that_is_no_mapping_is_refused_as_ever():
    (told,) = refusals("defaults: {engine: tofu}", "- a")
    assert told.startswith("tidegate.yaml:1:1: the file must be a mapping")
