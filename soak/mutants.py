"""What ``make soak-mutants`` breaks: each mutant is texts of the product that are replaced by others."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path

_CORE = "layers/core/python/tidegate"
_QUEUE, _ENSURE = f"{_CORE}/deploys/rules/queue.py", f"{_CORE}/deploys/queue/ensure_worker.py"
_UPDATES = f"{_CORE}/config_updates"
_NOBODY_WAKES = (_ENSURE, "        wake(ports, head.token)", "        pass")
_NOBODY_LOOKS = (
    f"{_CORE}/reconciler/start_workers.py",
    "    if not has_work(head, first):",
    "    if head or first:",
)
_NO_HEAD_IS_MISSED = (
    f"{_CORE}/reconciler/catch_up_heads.py",
    "    if not known.seen:",
    "    if known.seen or not known.seen:",
)


class DoesNotApply(Exception):
    """A text that a mutant replaces is not there, or not once: the product has changed, and the mutant must."""


@dataclass(frozen=True, slots=True)
class Mutant:
    """A broken product: the rule that it breaks, in words how, and the replacements (file, old text, new text).

    ``rule`` is a number of the design, or "updates" for one of config repositories.

    A soak of a few ``roots`` does more of what ``focus`` names, for ``minutes``: what is lost shows when all rests.
    """

    rule: int | str
    what: str
    edits: tuple[tuple[str, str, str], ...]
    focus: tuple[str, ...] = ()
    minutes: float = 8
    roots: int = 4

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


MUTANTS = (
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
                "    if head.worker is None:",
                "    if head.worker is None or head.in_flight is not None:",
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
        "a worker closes without a last check of its queue, and nothing wakes it",
        (
            (
                f"{_CORE}/deploys/queue/close_worker.py",
                "    if has_work(head, first):",
                "    if has_work(head, None):",
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
        "a revision that a force push removed is applied",
        (
            (
                f"{_CORE}/deploys/check_branch.py",
                "    if head == revision.sha or",
                "    if head or head == revision.sha or",
            ),
        ),
        ("force push", "go back", "decide all"),
    ),
    Mutant(
        5,
        "an unknown outcome does not lock the queue",
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
        "anybody with read permission may approve",
        (
            (
                f"{_CORE}/rules/access.py",
                "        return person.permission >= Permission.WRITE",
                "        return person.permission >= Permission.READ",
            ),
        ),
        ("click as onlooker",),
    ),
    Mutant(
        6,
        "one approval is always enough",
        (
            (
                f"{_CORE}/deploys/rules/review.py",
                "    return rule.approvals + (rule.exclude_authors and not deployment.commits.authors_known)",
                "    return 1",
            ),
        ),
        ("approve", "decide all"),
        roots=8,
    ),
    Mutant(
        7,
        "a failed audit message is ignored",
        (
            (
                f"{_CORE}/jobs/begin_job.py",
                "    ports.audit.publish(running)",
                "    try:\n        ports.audit.publish(running)\n    except Exception:\n        pass",
            ),
        ),
        ("audit is out", "decide all"),
    ),
    Mutant(
        9,
        "a plan that a policy refuses is green",
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
    Mutant(
        "updates",
        "a required check counts from any App",
        ((f"{_UPDATES}/rules/verdicts.py", "        if report.app != check.app:", "        if not check.app:"),),
        ("judge", "announce images"),
        minutes=3,
    ),
    Mutant(
        "updates",
        "a cancelled check is a failure",
        (
            (
                f"{_UPDATES}/rules/verdicts.py",
                '_FAILED = frozenset({"failure", "error"})',
                '_FAILED = frozenset({"failure", "error", "cancelled", "stale"})',
            ),
        ),
        ("judge", "announce images"),
        minutes=2,
    ),
    Mutant(
        "updates",
        "a failed entry is evicted while one below it is open",
        (
            (
                f"{_UPDATES}/rules/landing.py",
                "    if failed == 0:\n",
                "    if failed < len(entries):\n",
            ),
            (
                f"{_UPDATES}/rules/landing.py",
                '"It is the lowest failed entry.", entries[0].id',
                '"It is the lowest failed entry.", entries[failed].id',
            ),
        ),
        ("judge", "announce several"),
        minutes=4,
    ),
    Mutant(
        "updates",
        "a held image set takes new images",
        (
            (
                f"{_UPDATES}/rules/moves.py",
                "    held = one.kind is not EntryKind.ROLLBACK and head.set_state(one.image_set).hold is not None",
                "    held = False",
            ),
        ),
        ("hold set", "announce images", "judge all"),
        minutes=3,
    ),
    Mutant(
        "updates",
        "a promotion skips an environment",
        (
            (
                f"{_UPDATES}/rules/promotion.py",
                "        following = NextEnvironment(\n            known[at + 1].name,",
                "        following = NextEnvironment(\n            known[-1].name,",
            ),
        ),
        ("announce images", "judge all", "report all"),
        minutes=3,
    ),
    Mutant(
        "updates",
        "a slow build replaces a newer one",
        ((f"{_UPDATES}/rules/announcing.py", "    if entry.sequence < newest:", "    if entry.sequence < 0:"),),
        ("announce late", "announce images", "judge all"),
        minutes=3,
    ),
    Mutant(
        "updates",
        "entries are forgotten whose replay was cut short",
        (
            (
                f"{_UPDATES}/rules/queue.py",
                "return replace(head, replaying=None, blocked=problem, refusals=",
                "return replace(head, replaying=None, waiting=(), blocked=problem, refusals=",
            ),
        ),
        ("runner is killed", "announce several", "judge all"),
        minutes=3,
    ),
)
