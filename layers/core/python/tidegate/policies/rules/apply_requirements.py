"""Apply requirements of a pull request, and the messages about missing ones."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from fnmatch import fnmatchcase

from tidegate.changes.rules.change_set import Key
from tidegate.changes.rules.stack import DEFAULT_STACK
from tidegate.policies.rules.requirements import Requirements
from tidegate.rules.access import EVERYBODY, Person, matches, spelled
from tidegate.texts.markdown import code
from tidegate.vcs.rules.approvals import ToApprove, approvals, why_more
from tidegate.vcs.rules.authors import Authors
from tidegate.vcs.rules.forge_terms import ForgeTerms
from tidegate.vcs.rules.pull_request import PullRequest, PullRequestReview

#: Failing checks, and people, in a reply at most.
_NAMED = 10
UNMATCHED = (
    "No check of `apply_requirements` matches this root, so its requirements are not defined. On the default branch, "
    "add a last check with `tag_query: ''`, which matches every root."
)
FORK = (
    "The branch comes from a fork, whose code never runs with this repository's credentials. Push the branch to this "
    "repository, and merge it from there."
)


#: Requirements by root and stack, all of which must be met; None if no check matches.
Required = Mapping[Key, Sequence[Requirements] | None]


@dataclass(frozen=True, slots=True)
class Missing:
    """What a manual deploy lacks, a sentence in Markdown for each.

    ``always`` cannot be overridden; ``configured`` can be, with ``--force``.
    """

    always: tuple[str, ...] = ()
    configured: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True)
class Merged:
    """A pull request whose changes are applied, and who approves the merged head."""

    pull_request: PullRequest
    approving: tuple[Person, ...] = ()


@dataclass(frozen=True, slots=True)
class Origin:
    """What the applied changes came with: pull requests, or none.

    ``without`` are commits without a pull request, ``altered`` are merge commits with further changes, ``complete``
    tells whether all were read. ``here`` are those who approved the deployment itself, ``makers`` who made or pushed
    those commits.
    """

    merged: tuple[Merged, ...] = ()
    without: tuple[str, ...] = ()
    complete: bool = True
    here: tuple[Person, ...] = ()
    makers: Authors = field(default_factory=Authors)
    altered: tuple[str, ...] = ()

    @property
    def is_of_pull_requests(self) -> bool:
        """Whether all of it came with pull requests."""
        return self.complete and not (self.without or self.altered)


def missing_before_apply(origin: Origin, required: Sequence[Requirements], terms: ForgeTerms) -> tuple[str, ...]:
    """Return what is missing before merged changes are applied, in Markdown.

    The merge has settled conflicts and missing commits of the base: the merge commit is planned. Checks are those of
    the merged head. Approvals of the deployment itself count in addition to those of the pull request, unless they are
    by its authors.
    """
    found = []
    for wanted in required:
        for each in origin.merged:
            pull_request = each.pull_request
            made_by = (pull_request.author, *pull_request.made_by.logins)
            approving = _together(each.approving, _others(origin.here, made_by))
            lacking = _lacking(pull_request, approving, (wanted.after_merge,))
            found += [f"{terms.reference(pull_request.number)}: {sentence}" for sentence in lacking]
        found += _missing_without(origin, wanted)
    return tuple(dict.fromkeys(found))


def _missing_without(origin: Origin, wanted: Requirements) -> Iterator[str]:
    """Yield what is missing for commits without a pull request: they need approvals of people."""
    if origin.is_of_pull_requests:
        return
    told = _stray(origin)
    if not wanted.asks_people:
        yield f"{told}, so it cannot meet the requirements."
        return
    yield from (f"{told}: {sentence}" for sentence in _unapproved_here(origin, wanted))
    if wanted.checks:
        yield f"{told}, so there are no checks to evaluate."


def _stray(origin: Origin) -> str:
    if origin.without:
        return f"Commit {_commits(origin.without)} was pushed directly"
    if origin.altered:
        return f"Commit {_commits(origin.altered)} changes more than the branch that it merged"
    return "The origin of some commits is unknown"


def _commits(commits: Sequence[str]) -> str:
    names, more = ", ".join(code(sha[:7]) for sha in commits[:_NAMED]), len(commits) - _NAMED
    return f"{names}{f' and {more} more' if more > 0 else ''}"


def _unapproved_here(origin: Origin, wanted: Requirements) -> Iterator[str]:
    here = _others(origin.here, origin.makers.logins)
    given, asked = _meant(here, wanted), wanted.approvals
    besides = 0 if origin.makers.known or not asked else 1
    if len(given) < asked + besides:
        why = f" {why_more(origin.makers, wanted.any_of, asked + besides)}" if besides else ""
        among = f" by people among {_people(wanted.any_of, 'or')}" if wanted.any_of else ""
        yield f"{_counted(asked + besides)}{among} must be given here, but {_there_are(given)}.{why}"
    unmet = [each for each in wanted.all_of if not any(matches(each, person) for person in here)]
    if unmet:
        yield f"{_people(unmet, 'and by')} must approve here."


def _counted(approvals: int) -> str:
    return f"{approvals} approval{'s' if approvals > 1 else ''}"


def _there_are(given: Sequence[Person]) -> str:
    return f"there {'is' if len(given) == 1 else 'are'} {len(given) or 'none'}{_named(given)}"


def _named(given: Sequence[Person]) -> str:
    return f" (by {', '.join(code(person.login) for person in given[:_NAMED])})" if given else ""


def _others(people: Iterable[Person], made_by: Iterable[str]) -> list[Person]:
    """Return those who did not contribute to others' changes."""
    makers = {login.casefold() for login in made_by}
    return [person for person in people if person.login.casefold() not in makers]


def _together(*many: Iterable[Person]) -> list[Person]:
    return list({person.login.casefold(): person for people in many for person in people}.values())


def is_asked(person: Person, required: Iterable[Requirements]) -> bool:
    """Tell whether the person's approval is among the required ones."""
    return any(
        (wanted.approvals and person in _meant((person,), wanted))
        or any(matches(each, person) for each in wanted.all_of)
        for wanted in required
    )


def always_missing(pull_request: PullRequest) -> tuple[str, ...]:
    """Return what a deploy of the pull request's head lacks under any configuration."""
    missing = []
    if not pull_request.is_open:
        missing.append("It is closed. Reopen it, or deploy by merging.")
    if pull_request.from_fork:
        missing.append(FORK)
    return tuple(missing)


def may_not_write(user: str) -> str:
    """Return the message for a person without write permission."""
    return f"{code(user)} has no write permission on this repository. Ask somebody with write permission to comment."


def missing_for_all(pull_request: PullRequest, approving: Sequence[Person], wanted: Requirements) -> tuple[str, ...]:
    """Return what deploys of any root lack if all have the same requirements. Arguments are as for each root."""
    return tuple(_lacking(pull_request, approving, (wanted,)))


def missing_by_root(pull_request: PullRequest, approving: Sequence[Person], required: Required) -> tuple[str, ...]:
    """Return what deploys of roots lack: a sentence in Markdown for each lack, after the names of its roots.

    ``approving`` are those who approve the head, each once.
    """
    lacking: dict[str, list[str]] = {}
    for key, wanted in required.items():
        sentences = [UNMATCHED] if wanted is None else _lacking(pull_request, approving, wanted)
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
    given = _meant(approving, wanted)
    besides = 0 if pull_request.made_by.known or not wanted.approvals else 1
    if len(given) < wanted.approvals + besides:
        yield _too_few(pull_request, wanted, besides, given)
    unmet = [each for each in wanted.all_of if not any(matches(each, person) for person in approving)]
    if unmet:
        head = code(pull_request.head_sha[:7])
        yield f"The current head {head} needs an approval by {_people(unmet, 'and by')}, and has none."


def _meant(approving: Iterable[Person], wanted: Requirements) -> list[Person]:
    meant = wanted.any_of or (EVERYBODY,)
    return [person for person in approving if any(matches(each, person) for each in meant)]


def _too_few(pull_request: PullRequest, wanted: Requirements, besides: int, given: Sequence[Person]) -> str:
    asked = wanted.approvals + besides
    why = f" {why_more(pull_request.made_by, wanted.any_of, asked)}" if besides else ""
    different = "different people" if asked > 1 else "one"
    by = f" by {different} among {_people(wanted.any_of, 'or')}" if wanted.any_of else ""
    whom = "somebody among them" if wanted.any_of else "somebody with write permission"
    return (
        f"{_counted(asked)}{by} of the current head {code(pull_request.head_sha[:7])} {'are' if asked > 1 else 'is'} "
        f"required, but {_there_are(given)}.{why} Ask for a review by {whom}. Approvals by the author, by whoever "
        "made or pushed one of the commits, of earlier commits, or for another base branch do not count."
    )


def _people(grantees: Sequence[str], conjunction: str) -> str:
    words = [code(each) if spelled(each) == each else f"{code(each)} or higher" for each in grantees]
    return f" {conjunction} ".join(words)


def _is_ignored(name: str, globs: Sequence[str]) -> bool:
    """Tell whether a name fits a glob: ``*`` is any text, also with slashes, ``?`` one character, all else itself."""
    return any(fnmatchcase(name, glob.replace("[", "[[]")) for glob in globs)


def _not_mergeable(pull_request: PullRequest) -> str:
    if pull_request.mergeable is None:
        return "It is not known yet whether the branch can be merged. Comment again in a minute."
    return f"The branch has conflicts with {code(pull_request.base_branch)}. Resolve them and push."


def _diverged(pull_request: PullRequest) -> str:
    base = code(pull_request.base_branch)
    return (
        f"The branch is out of date: it lacks {code(pull_request.lacks[:7])}, the newest commit of {base}. Merge "
        f"{base} into it, or rebase it, and push."
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
    return f"These checks failed or have not completed: {names}{more}. Wait for them, or fix what they report."
