"""What ``make soak-mutants`` breaks: each mutant is texts of the product that are replaced by others.

Those of rules 1 to 7 and 9 are found by a soak, those of rules 8, 10 and 11 by tests that are named here.
"""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path

_CORE = "layers/core/python/tidegate"
_QUEUE, _ENSURE = f"{_CORE}/deploys/rules/queue.py", f"{_CORE}/deploys/queue/ensure_worker.py"
_NOBODY_WAKES = (_ENSURE, "            self._wake(head.token)", "            pass")
_NOBODY_LOOKS = (
    f"{_CORE}/reconciler/start_workers.py",
    "        if not has_work(head, first):",
    "        if head or first:",
)
_NO_HEAD_IS_MISSED = (
    f"{_CORE}/reconciler/catch_up_heads.py",
    "        if not known.seen:",
    "        if known.seen or not known.seen:",
)


class DoesNotApply(Exception):
    """A text that a mutant replaces is not there, or not once: the product has changed, and the mutant must."""


@dataclass(frozen=True, slots=True)
class Mutant:
    """A broken product: the rule that it breaks, in words how, and the replacements (file, old text, new text).

    A soak of a few ``roots`` does more of what ``focus`` names, for ``minutes``: what is lost shows when all rests.
    ``test`` is for mutants that a test finds.
    """

    rule: int
    what: str
    edits: tuple[tuple[str, str, str], ...]
    focus: tuple[str, ...] = ()
    minutes: float = 8
    roots: int = 4
    test: str = ""

    @property
    def name(self) -> str:
        """Return what it is called in a report."""
        return f"{self.rule} {self.what}"

    def apply(self, tree: Path) -> None:
        """Change a copy of the product. Raise DoesNotApply, with nothing changed in that file."""
        for file, old, new in self.edits:
            text = (tree / file).read_text(encoding="utf-8")
            if text.count(old) != 1:
                raise DoesNotApply(f"{self.name}: {file} has {text.count(old)} times {old.strip()!r}")
            (tree / file).write_text(text.replace(old, new), encoding="utf-8")


#: Found by the soak.
SOAKED = (
    Mutant(
        1,
        "a queue has a second worker while a deployment is in flight",
        (
            (_QUEUE, "head.worker is not None and head.worker.execution == execution", "head.worker is not None"),
            (
                _QUEUE,
                "if head.in_flight is not None:\n        return NextStep",
                "if False:\n        return NextStep",
            ),
            (
                _ENSURE,
                "        if head.worker is None:",
                "        if head.worker is None or head.in_flight is not None:",
            ),
        ),
        ("push quickly", "push several", "decide all"),
    ),
    Mutant(
        2,
        "one push of four is acknowledged and forgotten",
        (
            (
                f"{_CORE}/vcs/receive_webhook.py",
                "self.queue.send(delivery)",
                'delivery.event == "push" and delivery.id[-1] in "0123" or self.queue.send(delivery)',
            ),
            _NO_HEAD_IS_MISSED,
        ),
        ("push", "push through tiers"),
        minutes=2,
    ),
    Mutant(
        3,
        "a worker closes without a last look at its queue, and nobody wakes it",
        (
            (
                f"{_CORE}/deploys/queue/close_worker.py",
                "        if has_work(head, first):",
                "        if has_work(head, None):",
            ),
            _NOBODY_WAKES,
            _NOBODY_LOOKS,
        ),
        ("push", "push quickly"),
        minutes=3,
    ),
    Mutant(
        4,
        "a revision behind the last one is deployed",
        (
            (
                f"{_CORE}/deploys/rules/revision.py",
                "        return _behind(last, known.branch_to_deployed)",
                '        return RevisionVerdict(True, "It is older.")',
            ),
        ),
        ("go back", "webhooks go wrong", "push", "decide all"),
    ),
    Mutant(
        4,
        "what a forced push took away is applied",
        (
            (
                f"{_CORE}/deploys/jobs/check_branch.py",
                "        if head == revision.sha or",
                "        if head or head == revision.sha or",
            ),
        ),
        ("force push", "go back", "decide all"),
    ),
    Mutant(
        5,
        "an unknown outcome does not lock",
        (
            (
                _QUEUE,
                "if deployment.state is State.OUTCOME_UNKNOWN:\n        reason",
                "if False:\n        reason",
            ),
        ),
        ("apply is cut", "push quickly", "decide all"),
    ),
    Mutant(
        6,
        "whoever may read may confirm",
        (
            (
                f"{_CORE}/rules/access.py",
                "        return person.permission >= Permission.WRITE",
                "        return person.permission >= Permission.READ",
            ),
        ),
        ("press as onlooker",),
    ),
    Mutant(
        6,
        "one approval is enough for all",
        (
            (
                f"{_CORE}/deploys/rules/review.py",
                "    return rule.approvals + (rule.exclude_authors and not deployment.authors_known)",
                "    return 1",
            ),
        ),
        ("confirm", "decide all"),
        roots=8,
    ),
    Mutant(
        7,
        "an audit message that fails is swallowed",
        (
            (
                f"{_CORE}/jobs/begin_job.py",
                "        self.audit.publish(running)",
                "        try:\n            self.audit.publish(running)\n        except Exception:\n            pass",
            ),
        ),
        ("audit is out", "decide all"),
    ),
    Mutant(
        9,
        "what a policy refuses is green",
        (
            (
                f"{_CORE}/pull_requests/rules/checks.py",
                "        (VerdictKind.HELD_UP, not {*blocking}.isdisjoint(found.failing)),\n",
                "",
            ),
            (
                f"{_CORE}/pull_requests/rules/checks.py",
                "        (VerdictKind.HELD_UP, bool(blocking)),",
                "        (VerdictKind.HELD_UP, False),",
            ),
        ),
        ("open pull request",),
    ),
)

_MARKDOWN, _TEMPLATE = "tests/unit/test_markdown.py", "tests/cdk/test_permissions.py"
_OF_THE_APPLY = """]
        Comment: The function was not run, so the apply"""
_MACHINES = "tests/stepfunctions/test_rules.py"
#: Found by the test that is named.
TESTED = (
    Mutant(
        8,
        "escape sequences of others reach a comment or a log",
        ((f"{_CORE}/texts/markdown.py", '_ESCAPE_SEQUENCES.sub("", text)', "text"),),
        test=f"{_MARKDOWN}::test_escape_sequences_and_control_characters_are_taken_out",
    ),
    Mutant(
        8,
        "what a fork proposes is planned",
        (
            (
                f"{_CORE}/pull_requests/affected_layers.py",
                "            if record.spec.from_fork:",
                "            if record.spec.from_fork and not record:",
            ),
        ),
        test="tests/unit/usecases/test_told_not_planned.py",
    ),
    Mutant(
        8,
        "a known secret stays in a log",
        (("runner/masking.py", "expression.sub(MASK, text)", "text"),),
        test="tests/runner/test_output.py::test_a_known_value_is_masked",
    ),
    Mutant(
        10,
        "a task waits without a limit",
        (("stepfunctions/deploy.asl.yaml", "    TimeoutSeconds: 3600  # 1 hour\n", ""),),
        test=f"{_MACHINES}::test_every_task_has_a_time_limit",
    ),
    Mutant(
        10,
        "a retry names no error",
        (
            (
                "stepfunctions/terraform.asl.yaml",
                f"Lambda.TooManyRequestsException{_OF_THE_APPLY}",
                f"States.ALL{_OF_THE_APPLY}",
            ),
        ),
        test=f"{_MACHINES}::test_every_retry_names_its_errors_and_is_bounded",
    ),
    Mutant(
        11,
        "an engine may touch what is tagged as Tidegate's own",
        (
            (
                "tidegate_cdk/engine_denials.py",
                '_deny("*", on=["*"], under={"StringEquals": {"aws:ResourceTag/tidegate": settings.prefix}}),',
                "",
            ),
        ),
        test=f"{_TEMPLATE}::test_every_engine_is_denied_everything_of_the_installation_by_tag",
    ),
    Mutant(
        11,
        "a function answers task tokens without a need",
        (
            (
                "tidegate_cdk/verbs.py",
                '"hand_over_job": (_C.READ_DEPLOYMENTS, _C.JOBS,',
                '"hand_over_job": (_C.ANSWER_JOBS, _C.READ_DEPLOYMENTS, _C.JOBS,',
            ),
        ),
        test=f"{_TEMPLATE}::test_only_what_answers_tokens_may_answer_them",
    ),
)
