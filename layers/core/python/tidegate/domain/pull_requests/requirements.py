"""What a pull request must fulfil before its head is deployed by hand, and what is told when it does not."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from fnmatch import fnmatchcase

from tidegate.domain.access import EVERYBODY, Person, matches, spelled
from tidegate.domain.changes.change_set import Key
from tidegate.domain.changes.stack import DEFAULT_STACK
from tidegate.domain.markdown import code
from tidegate.domain.pull_requests.approvals import MORE_AS_UNKNOWN, ToApprove, approvals
from tidegate.domain.pull_requests.pull_request import PullRequest, PullRequestReview

#: Failing checks, and people, that a reply names; who wants to know all of them looks at the pull request.
_NAMED = 10
_UNMATCHED = (
    "No check of `apply_requirements` matches, so nobody said what is required. "
    "Add a last check with `tag_query: ''`, which matches every root, on the default branch."
)


@dataclass(frozen=True, slots=True)
class Requirements:
    """What is configured: how many approvals (0: none), whether conflicts and failing checks hold up, and whether a
    head that lacks commits of its base branch does (``undiverged``).

    ``approvals`` count those by people whom one of ``any_of`` means, by whoever may write where it is empty; each of
    ``all_of`` must mean one of those who approved. They are written as in access control: ``user:``, ``team:``,
    ``role:``. Checks whose name fits one of ``ignore_matching``, globs, do not hold up.
    """

    approvals: int = 0
    mergeable: bool = False
    checks: bool = False
    any_of: tuple[str, ...] = ()
    all_of: tuple[str, ...] = ()
    ignore_matching: tuple[str, ...] = ()
    undiverged: bool = False

    @property
    def asks_people(self) -> bool:
        return bool(self.approvals or self.all_of)

    @property
    def grantees(self) -> tuple[str, ...]:
        """Whom approvals may be asked of."""
        return (*self.any_of, *self.all_of)


#: What several checks of which each must be fulfilled require, by root and stack; None where no check matches.
Required = Mapping[Key, Sequence[Requirements] | None]


@dataclass(frozen=True, slots=True)
class Missing:
    """What a deploy by hand lacks, a sentence in Markdown for each.

    ``always`` cannot be passed over; ``configured`` can be, by force.
    """

    always: tuple[str, ...] = ()
    configured: tuple[str, ...] = ()


def always_missing(pull_request: PullRequest) -> tuple[str, ...]:
    """Return what a deploy of the pull request's head lacks whatever is configured."""
    missing = []
    if not pull_request.is_open:
        missing.append("The pull request is closed. Reopen it, or deploy by merging.")
    if pull_request.from_fork:
        missing.append(
            "The pull request comes from a fork, and code of forks never runs with this repository's credentials. "
            "Push the branch to this repository and open a pull request from there."
        )
    return tuple(missing)


def may_not_write(user: str) -> str:
    """Return what is told to somebody who may not write."""
    return f"{code(user)} may not write to this repository. Ask somebody who may to comment."


def missing_for_all(pull_request: PullRequest, approving: Sequence[Person], wanted: Requirements) -> tuple[str, ...]:
    """Return what deploys of any root lack where the same is required of all. The rest is as for each root."""
    return tuple(_lacking(pull_request, approving, (wanted,)))


def missing_by_root(pull_request: PullRequest, approving: Sequence[Person], required: Required) -> tuple[str, ...]:
    """Return what deploys of roots lack: a sentence in Markdown for each lack, after the names of its roots.

    ``approving`` are those who approve the head, each once.
    """
    lacking: dict[str, list[str]] = {}
    for key, wanted in required.items():
        sentences = [_UNMATCHED] if wanted is None else _lacking(pull_request, approving, wanted)
        for sentence in dict.fromkeys(sentences):
            lacking.setdefault(sentence, []).append(_labelled(key))
    return tuple(f"{_roots(names)}: {sentence}" for sentence, names in lacking.items())


def approvers(pull_request: PullRequest, reviews: Sequence[PullRequestReview]) -> list[str]:
    """Return who approves the pull request's head, as policy sets count it. ``reviews`` are the oldest first."""
    its = pull_request
    wanted = ToApprove(its.head_sha, its.author, its.base_branch, its.base_since, its.made_by)
    return list(approvals(reviews, wanted).of_head)


def _lacking(pull_request: PullRequest, approving: Sequence[Person], required: Iterable[Requirements]) -> Iterable[str]:
    for wanted in required:
        yield from _unapproved(pull_request, approving, wanted)
        if wanted.mergeable and pull_request.mergeable is not True:
            yield _not_mergeable(pull_request)
        if wanted.undiverged and pull_request.lacks:
            yield _diverged(pull_request)
        failing = [name for name in pull_request.failing_checks if not _is_ignored(name, wanted.ignore_matching)]
        if wanted.checks and failing:
            yield _failing(failing)


def _unapproved(pull_request: PullRequest, approving: Sequence[Person], wanted: Requirements) -> Iterable[str]:
    """Yield which approvals are missing. A person counts once, however many of the grantees stand for them."""
    meant = wanted.any_of or (EVERYBODY,)
    given = [person for person in approving if any(matches(each, person) for each in meant)]
    besides = 0 if pull_request.made_by.known or not wanted.approvals else 1
    if len(given) < wanted.approvals + besides:
        yield _too_few(pull_request, wanted, besides, [person.login for person in given])
    unmet = [each for each in wanted.all_of if not any(matches(each, person) for person in approving)]
    if unmet:
        head = code(pull_request.head_sha[:7])
        yield f"An approval of the current head {head} by {_people(unmet, 'and by')} is required, and there is none."


def _too_few(pull_request: PullRequest, wanted: Requirements, besides: int, given: Sequence[str]) -> str:
    asked, why = wanted.approvals + besides, f" {MORE_AS_UNKNOWN}" if besides else ""
    different = "different people" if asked > 1 else "one"
    by = f" by {different} among {_people(wanted.any_of, 'or')}" if wanted.any_of else ""
    named = f" (by {', '.join(code(login) for login in given[:_NAMED])})" if given else ""
    whom = "somebody among them" if wanted.any_of else "somebody who may write here"
    return (
        f"{asked} approval{'s' if asked > 1 else ''}{by} of the current head {code(pull_request.head_sha[:7])} "
        f"{'are' if asked > 1 else 'is'} required, and there {'is' if len(given) == 1 else 'are'} "
        f"{len(given) or 'none'}{named}.{why} Ask for a review by {whom}. Those by who opened the pull request or made "
        "a commit of it, and those of earlier commits or of another base branch, do not count."
    )


def _people(grantees: Sequence[str], conjunction: str) -> str:
    words = [code(each) if spelled(each) == each else f"{code(each)} or higher" for each in grantees]
    return f" {conjunction} ".join(words)


def _is_ignored(name: str, globs: Sequence[str]) -> bool:
    """Tell whether a name fits a glob: ``*`` is any text, also with slashes, ``?`` one character, all else itself."""
    return any(fnmatchcase(name, glob.replace("[", "[[]")) for glob in globs)


def _not_mergeable(pull_request: PullRequest) -> str:
    if pull_request.mergeable is None:
        return "The forge does not know yet whether the branch can be merged. Comment again in a moment."
    return f"The branch has conflicts with {code(pull_request.base_branch)}. Resolve them and push."


def _diverged(pull_request: PullRequest) -> str:
    base = code(pull_request.base_branch)
    return (
        f"The branch has diverged: it lacks {code(pull_request.lacks[:7])}, the newest commit of {base}. Merge {base} "
        "into it, or rebase it, and push."
    )


def _labelled(key: Key) -> str:
    root, stack = key
    return code(root) if stack == DEFAULT_STACK else f"{code(root)} of stack {code(stack)}"


def _roots(names: Sequence[str]) -> str:
    shown = ", ".join(names[:_NAMED])
    return f"{shown} and {len(names) - _NAMED} more" if len(names) > _NAMED else shown


def _failing(checks: Sequence[str]) -> str:
    names = ", ".join(code(name) for name in checks[:_NAMED])
    more = f" and {len(checks) - _NAMED} more" if len(checks) > _NAMED else ""
    return f"These checks failed or have not ended: {names}{more}. Wait for them, or repair what they show."
