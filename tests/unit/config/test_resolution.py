"""What holds for each root by a file: its stacks, and in each of them all that stacks, workflows and others say."""

from __future__ import annotations

import time
from dataclasses import fields, replace

import pytest

from tests.builders import any_root
from tests.resolving import A_AND_B, only, refusal, resolve, stacks_of
from tidegate.changes.rules.stack import Stack, StackDefinition, StackRules
from tidegate.config.configured import ConfiguredRoot, how_changed
from tidegate.config.declarations import DeclaredPolicy, DeclaredStack, DeclaredWorkflow, RootDeclaration
from tidegate.config.loader import LoadedConfiguration, without_file
from tidegate.config.resolution import configure
from tidegate.deploys.rules.review_rule import PlanReview, ReviewRule
from tidegate.deploys.rules.workflow import APPLY_STEPS, PLAN_STEPS, RunSettings, StepKind, WorkflowStep
from tidegate.roots.rules.root import Engine, EngineName, Root
from tidegate.roots.rules.root_query import parse_tag_query
from tidegate.roots.rules.terms import tagged
from tidegate.rules.access import UNMATCHED, Access


class TestWithoutAFile:
    def test_roots_are_in_the_implicit_stack_with_what_holds_for_all(self):
        resolved = configure(without_file(PlanReview.MANUAL), [Root("a", "a")])
        assert resolved.stacks == {"default": Stack("default")}
        (one,) = resolved.roots
        assert one.key == ("a", "default")
        assert one.tagged.tags == {"dir:a", "name:a", "workspace:default", "stack_name:default"}
        assert (one.root, one.run, one.access, one.depends_on) == (Root("a", "a"), RunSettings(), None, None)
        assert one.review_rule == ReviewRule(PlanReview.MANUAL)
        assert one.autoplan
        assert not one.shared
        assert one.when_modified
        assert not any(one.sources.values())


class TestEngines:
    @pytest.mark.parametrize(
        ("own", "stack", "workflow", "file", "expected"),
        [
            ("", "", "", "", Engine()),
            ("", "", "", "engine: {name: tofu, version: 1.6.1}", Engine(EngineName.TOFU, "1.6.1")),
            ("", "", "engine: tofu", "engine: {version: 1.5.7}", Engine(EngineName.TOFU)),
            (
                "",
                "",
                "engine: {version: 1.5.8}",
                "engine: {name: tofu, version: 1.6.1}",
                Engine(EngineName.TOFU, "1.5.8"),
            ),
            ("", "engine: {name: terraform, tf_version: 1.5.7}", "engine: tofu", "", Engine(version="1.5.7")),
            ("", "engine: tofu", "engine: {name: tofu, version: 1.6.1}", "", Engine(EngineName.TOFU, "1.6.1")),
            ("", "engine: tofu", "engine: {version: 1.6.1}", "engine: tofu", Engine(EngineName.TOFU, "1.6.1")),
            (
                "engine: {version: 1.4.0}",
                "engine: {name: tofu, version: 1.6.1}",
                "",
                "",
                Engine(EngineName.TOFU, "1.4.0"),
            ),
            ("engine: terraform", "engine: {name: tofu, version: 1.6.1}", "", "engine: {version: 1.2.3}", Engine()),
        ],
    )
    def test_the_nearest_part_counts(self, own, stack, workflow, file, expected):
        text = f"""
{file}
dirs: {{a: {{{own}}}}}
stacks: {{names: {{s: {{tag_query: '', {stack}}}}}}}
workflows: [{{tag_query: '', {workflow}}}]
"""
        assert only(text).root.engine == expected

    def test_stack_variables_are_filled_in_and_the_line_is_told(self):
        found = only("""
            dirs: {a: {}}
            stacks:
              names:
                n: {stacks: [s], variables: {engine: tofu}}
                s: {tag_query: '', variables: {v: 1.6}}
            workflows:
              - tag_query: ''
                engine: {name: '${STACK_VAR_ENGINE}', version: '${STACK_VAR_V}.1'}
        """)
        assert found.root.engine == Engine(EngineName.TOFU, "1.6.1")
        assert found.sources["engine"] == 9
        assert (found.sources["variables.ENGINE"], found.sources["variables.V"]) == (5, 6)

    @pytest.mark.parametrize(
        ("part", "kind", "advice"),
        [
            ("name", "engine", "Engines: terraform and tofu"),
            ("version", "exact version", "Write a version such as 1.11.4, without operators"),
        ],
    )
    def test_what_is_no_engine_then_is_refused(self, part, kind, advice):
        text = f"""
dirs: {{a: {{}}}}
stacks: {{names: {{s: {{tag_query: '', variables: {{v: rust}}}}}}}}
workflows: [{{tag_query: '', engine: {{{part}: '${{STACK_VAR_V}}'}}}}]
"""
        assert refusal(text) == (
            f"tidegate.yaml:4: 'rust', the value of '${{STACK_VAR_V}}' in the stack 's', is not a valid "
            f"{kind}. {advice}."
        )

    def test_stack_groups_that_are_equally_near_may_not_disagree(self):
        text = """
            dirs: {a: {}}
            stacks:
              names:
                left: {stacks: [s], engine: tofu}
                right: {stacks: [s], engine: terraform}
                s: {tag_query: ''}
        """
        assert refusal(text) == (
            "tidegate.yaml:6: 'left' and 'right' set engines differently, and 's' is in both. Set it in 's' itself."
        )


class TestWorkflows:
    TEXT = (
        A_AND_B
        + """
stacks: {names: {s: {tag_query: x, variables: {v: 'a$b', w: eu}}}}
workflows:
  - tag_query: stack_name:s
    environment: '${STACK_VAR_W}-$${STACK_VAR_W}'
    plan:
      - {type: run, cmd: [echo, '${STACK_VAR_V}', '$$STACK_VAR_V', '${HOME}'], env: {E: '${STACK_VAR_W}'}}
      - {type: init, extra_args: ['-backend-config=${STACK_VAR_W}.hcl']}
      - {type: plan}
  - tag_query: ''
"""
    )

    def test_the_first_that_matches_counts_with_the_stacks_variables_filled_in(self):
        a, b = resolve(self.TEXT).roots
        assert a.run.environment == "eu-${STACK_VAR_W}"
        assert a.run.variables == (("STACK_VAR_V", "a$b"), ("STACK_VAR_W", "eu"))
        assert a.run.plan == (
            WorkflowStep(StepKind.RUN, ("echo", "a$$b", "$$STACK_VAR_V", "${HOME}"), env=(("E", "eu"),)),
            WorkflowStep(StepKind.INIT, extra_args=("-backend-config=eu.hcl",)),
            WorkflowStep(StepKind.PLAN),
        )
        assert a.run.apply == APPLY_STEPS
        assert (a.workflow, a.sources["workflow"]) == ("'stack_name:s'", 8)
        assert b.run == RunSettings()
        assert (b.workflow, b.sources["workflow"]) == ("''", 14)

    def test_hooks_stand_around_the_steps(self):
        found = only("""
            dirs: {a: {}}
            hooks:
              all: {pre: [{type: run, cmd: [one]}], post: [{type: run, cmd: [last]}]}
              plan: {pre: [{type: run, cmd: [two]}]}
              apply: {post: [{type: run, cmd: [done]}]}
        """)

        def run(*words: str) -> list[WorkflowStep]:
            return [WorkflowStep(StepKind.RUN, (word,)) for word in words]

        assert list(found.run.plan) == [*run("one", "two"), *PLAN_STEPS, *run("last")]
        assert list(found.run.apply) == [*run("one"), *APPLY_STEPS, *run("last", "done")]
        assert found.sources["hooks"] == 3

    @pytest.mark.parametrize(
        ("part", "line"),
        [
            ("workflows:\n  - tag_query: ''\n    environment: '${STACK_VAR_REGOIN}'", 5),
            (
                "workflows:\n- tag_query: ''\n  apply:\n  - type: apply\n  - type: run\n    cmd: [$STACK_VAR_REGOIN]",
                8,
            ),
            ("hooks:\n  plan:\n    pre:\n      - type: run\n        cmd: [echo, '$STACK_VAR_REGOIN']", 7),
            ("workflows:\n  - tag_query: ''\n    engine:\n      version: '${STACK_VAR_REGOIN}'", 5),
        ],
    )
    def test_an_unset_variable_is_refused_with_stack_and_line_for_the_roots_that_use_it(self, part, line):
        text = f"dirs: {{a: {{}}}}\nstacks: {{names: {{s: {{tag_query: '', variables: {{region: eu}}}}}}}}\n{part}\n"
        problem = refusal(text)
        assert problem == (
            f"tidegate.yaml:{line}: the variable 'STACK_VAR_REGOIN' is not set in the stack 's'. Did you mean "
            "STACK_VAR_REGION? Set 'REGOIN' in the stack's variables."
        )

    def test_roots_whose_stack_has_the_variable_run(self):
        resolved = resolve(
            A_AND_B + "stacks: {names: {s: {tag_query: x, variables: {v: 1}}}}\n"
            "workflows: [{tag_query: '', environment: '${STACK_VAR_V}'}]"
        )
        assert stacks_of(resolved) == {"a": ["s"]}
        assert resolved.refused == {
            "b": "tidegate.yaml:6: the variable 'STACK_VAR_V' is not set in the stack 'default'. Set 'V' in the "
            "stack's variables."
        }

    def test_a_root_that_cannot_run_in_one_of_its_stacks_runs_in_none(self):
        resolved = resolve("""
            dirs: {a: {tags: [x]}}
            stacks:
              allow_workspace_in_multiple_stacks: true
              names: {s: {tag_query: x, variables: {v: 1}}, t: {tag_query: x}}
            workflows: [{tag_query: '', environment: '${STACK_VAR_V}'}]
        """)
        assert not resolved.roots
        assert "in the stack 't'" in resolved.refused["a"]

    def test_an_environment_has_no_other_variables(self):
        assert refusal("dirs: {a: {}}\nworkflows: [{tag_query: '', environment: '${environment}'}]") == (
            "tidegate.yaml:2: the variable 'environment' is not set in the stack 'default'. Only stack variables, "
            "${STACK_VAR_NAME}, work here. Write $${ for a literal ${."
        )

    def test_steps_that_cannot_run_with_the_variables_are_refused(self):
        text = """
            dirs: {a: {}}
            stacks: {names: {s: {tag_query: '', variables: {v: ''}}}}
            workflows:
              - {tag_query: '', apply: [{type: apply}, {type: run, cmd: ['${STACK_VAR_V}']}]}
        """
        assert refusal(text) == (
            "tidegate.yaml:5: its steps cannot run with the variables of the stack 's': the run step has no "
            "command. Change the steps, or the stack's variables that they name."
        )


class TestReviews:
    @pytest.mark.parametrize(
        ("own", "stack", "file", "when", "line"),
        [
            ("", "", "", PlanReview.ALWAYS, 0),
            ("", "", "plan_review: manual", PlanReview.MANUAL, 0),
            ("", "rules: {auto_apply: true}", "plan_review: manual", PlanReview.NEVER, 4),
            ("", "rules: {auto_apply: false}", "plan_review: never", PlanReview.ALWAYS, 4),
            ("plan_review: manual", "rules: {auto_apply: true}", "plan_review: never", PlanReview.MANUAL, 3),
        ],
    )
    def test_the_root_counts_before_its_stack_and_that_before_the_file(self, own, stack, file, when, line):
        text = f"""{file}

dirs: {{a: {{{own}}}}}
stacks: {{names: {{s: {{tag_query: '', {stack}}}}}}}
"""
        found = only(text)
        assert (found.review_rule.when, found.sources["plan_review"]) == (when, line)

    def test_a_stack_decides_when_and_not_by_whom(self):
        found = only(
            "plan_review: {when: manual, approvals: 2, exclude_authors: true}\ndirs: {a: {}}\n"
            "stacks:\n  names:\n    n: {stacks: [s], rules: {auto_apply: false}}\n    s: {tag_query: ''}\n"
        )
        assert found.review_rule == ReviewRule(PlanReview.ALWAYS, 2, exclude_authors=True)
        assert found.sources["plan_review"] == 5

    def test_a_protected_group_protects_its_stacks_whatever_a_root_says_of_its_reviews(self):
        groups = "stacks:\n  names:\n    n: {stacks: [s], rules: {protected: true}}\n    s: {tag_query: ''}\n"
        assert only(f"dirs: {{a: {{plan_review: never}}}}\n{groups}").review_rule == ReviewRule(
            PlanReview.NEVER, protected=True
        )


class TestAccess:
    TEXT = (
        A_AND_B
        + """
stacks: {names: {prod: {tag_query: x}}}
access_control:
  policies:
    - {tag_query: 'stack_name:prod', plan: ['*'], apply: ['team:sre'], review: ['user:ann']}
"""
    )

    def test_the_first_policy_that_matches_counts_and_without_one_nobody_may(self):
        a, b = resolve(self.TEXT).roots
        assert a.access == Access(("*",), ("team:sre",), ("*",), ("user:ann",))
        assert a.sources["access"] == 9
        assert b.access == Access((), (), (), (), UNMATCHED)


class TestDependencies:
    def test_directories_are_told_from_the_dependents(self):
        found = only(
            "dirs: {live/prod/app: {when_modified: {depends_on: 'relative_dir:../network or (x not relative_dir:..)'}}}"
        ).depends_on
        assert found.matches(tagged(Root("r", "live/prod/network")))
        assert found.matches(tagged(Root("r", "live"), ["x"]))
        assert not found.matches(tagged(Root("r", "live/prod"), ["x"]))
        assert not found.matches(tagged(Root("r", "network")))

    def test_a_glob_means_another_directory_for_each_root(self):
        text = "dirs: {live/**: {when_modified: {depends_on: 'relative_dir:../base'}}}"
        first, second = resolve(text, Root("a", "live/x/a"), Root("b", "live/y/b")).roots
        assert first.depends_on.text != second.depends_on.text
        assert first.depends_on.matches(tagged(Root("r", "live/x/base")))
        assert second.depends_on.matches(tagged(Root("r", "live/y/base")))

    def test_what_lies_above_the_repository_is_no_directory(self):
        found = only("dirs: {a: {when_modified: {depends_on: 'not relative_dir:../../..b'}}}").depends_on
        assert found.matches(tagged(Root("r", "..b")))


def many_roots(stack_query: str) -> LoadedConfiguration:
    """Return what a file of 10,000 roots in 200 stacks says, where each root depends on some of its stack."""
    rule = RootDeclaration(when_modified=("*.tf",))
    stacks = range(200)
    return replace(
        without_file(),
        declarations={
            f"live/s{number % 200}/r{number}": replace(
                rule, tags=(f"s{number % 200}",), depends_on=parse_tag_query(f"relative_dir:../r{number - 200}")
            )
            for number in range(10_000)
        },
        stacks=tuple(
            DeclaredStack(
                StackDefinition(
                    f"s{each}", variables=(("REGION", "eu"),), rules=StackRules((f"s{each - 1}",) * (each > 0))
                ),
                parse_tag_query(stack_query.format(each)),
                each,
            )
            for each in stacks
        ),
        workflows=tuple(DeclaredWorkflow(parse_tag_query(f"stack_name:s{each}"), each) for each in stacks),
        policies=tuple(DeclaredPolicy(parse_tag_query(f"stack_name:s{each}"), Access(), each) for each in stacks),
    )


@pytest.mark.large
@pytest.mark.parametrize("query", ["s{}", "dir:live/s{}/**", "live/s{} in dir"])
def test_ten_thousand_roots_in_two_hundred_stacks_take_few_seconds(query):
    """It takes a quarter of a second where nothing else runs; each query for each root takes many times as long."""
    loaded = many_roots(query)
    roots = [Root(name, name) for name in loaded.declarations]
    begun = time.process_time()
    resolved = configure(loaded, roots)
    assert time.process_time() - begun < 12
    assert len(resolved.roots) == 10_000
    assert resolved.roots[201].stack == "s1"
    assert resolved.stacks["s199"].apply_after == {f"s{each}" for each in range(199)}


def test_each_part_of_how_a_root_is_deployed_has_words():
    root = any_root()
    before = ConfiguredRoot(root, tagged(root), ())
    others = [replace(before, root=replace(root, **{each.name: "other"})) for each in fields(root)]
    parts = [each.name for each in fields(before.run) if each.name != "runner"]
    others += [replace(before, run=replace(before.run, **{name: "other"})) for name in parts]
    assert all(how_changed(before, other) for other in [*others, replace(before, destroy=True)])
