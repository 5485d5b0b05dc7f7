"""What is replied under pull requests, in Markdown."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from itertools import zip_longest

from tidegate.changes.rules.change_set import Candidate
from tidegate.deploys.rules import repeats
from tidegate.deploys.rules.deployment import Deployment
from tidegate.policies.rules.apply_requirements import Missing
from tidegate.roots.rules.nearest import did_you_mean, meant_tag
from tidegate.roots.rules.plan_request import PlanRequest
from tidegate.roots.rules.root_query import parse_tag_query
from tidegate.rules.decision import Decision
from tidegate.rules.errors import AppLacksPermission, CyclicChange, InvalidConfiguration, NotFound
from tidegate.texts.markdown import code, escaped, prose
from tidegate.vcs.rules.pull_request import PullRequest

#: Roots that a reply lists; more would not be read.
_LISTED = 50
#: Unknown roots for which the nearest one is looked for: among 10,000 roots that takes a third of a second for each.
_GUESSED = 5
#: Characters of a comment that its reply quotes: a line.
_QUOTED = 100
#: What is answered with its reason: what was not found, cannot be used, or may not be done by our App.
ANSWERED = (NotFound, InvalidConfiguration, CyclicChange, AppLacksPermission)
#: Mistakes of a file that a reply names, and characters of each.
_MISTAKES, _MISTAKE = 20, 500
#: Directories and tags that nothing has, of each so many.
_UNKNOWN = 5


def answering(comment: str, reply: str) -> str:
    """Return a reply below the beginning of the comment that it answers: several are answered in any order."""
    return f"> {code(comment, _QUOTED)}\n\n{reply}"


def not_confirmed(doubt: str) -> str:
    """Return why a comment is not carried out of which the forge has not what was told. ``doubt`` is a sentence."""
    return f"**Nothing was done**: this comment is not what Tidegate was told of. {doubt} Write a new one."


def not_planned(problems: Iterable[str]) -> str:
    """Return why nothing is planned again; ``problems`` are sentences in Markdown."""
    return f"**Nothing is planned again:**\n\n{_list(problems)}"


def nothing_meant(request: PlanRequest, affected: Sequence[Candidate], done: str = "planned again") -> str:
    """Return that a directory or a tag query means none of the roots that the pull request changes: what there is.

    ``done`` is what would be done.
    """
    why = " ".join(("None of the roots that this pull request changes is meant.", *_unknown_parts(request, affected)))
    there = f"It changes:\n\n{_list(_by_stack(affected))}" if affected else "It changes no root."
    otherwise = f"Name a root with `-p ROOT` to have it {done.split(maxsplit=1)[0]} in any case."
    return f"**Nothing is {done}.** {why}\n\n{there}\n\n{otherwise}"


def _unknown_parts(request: PlanRequest, affected: Sequence[Candidate]) -> Iterator[str]:
    """Yield which directories and tags of a request none of the roots has, and which may have been meant."""
    directories = {place for each in affected for place in _around(each.root.dir)}
    for name in request.directories[:_UNKNOWN]:
        yield f"None is in {code(name)}. {did_you_mean(name, sorted(directories))}".rstrip()
    known = {tag for each in affected for tag in each.tagged.tags}
    for tag in [each for each in parse_tag_query(request.query).tags if each not in known][:_UNKNOWN]:
        yield f"None has the tag {code(tag)}. {meant_tag(tag, sorted(known))}".rstrip()


def _around(directory: str) -> Iterator[str]:
    """Yield a directory and those that it lies in."""
    parts = directory.split("/")
    return ("/".join(parts[:depth]) for depth in range(1, len(parts) + 1))


def _by_stack(affected: Sequence[Candidate]) -> Iterator[str]:
    """Yield the names of the roots of each stack, with the directories of those that are named otherwise."""
    for stack in dict.fromkeys(each.stack for each in affected):
        roots = [each.root for each in affected if each.stack == stack]
        named = [f"{code(one.name)}{'' if one.name == one.dir else f' (in {code(one.dir)})'}" for one in roots]
        yield f"of stack {code(stack)}: {_joined(named)}"


def requirements_missing(pull_request: PullRequest, missing: Missing, prefix: str) -> str:
    """Return the one reply that names everything that a deploy by hand lacks."""
    head = code(pull_request.head_sha[:7])
    lines = _list((*missing.always, *missing.configured))
    after = "Comment again once that is done."
    if missing.configured and not missing.always:
        after += (
            f" In an emergency, {code(f'{prefix} deploy --force')} passes over it: that is recorded in the audit log, "
            "and the plan waits for its review all the same."
        )
    return f"**Nothing of {head} is deployed**, because this is missing:\n\n{lines}\n\n{after}"


def head_moved(bound: str, pull_request: PullRequest) -> str:
    """Return that a comment is about an earlier head, ``bound``, and does nothing about the one of now."""
    then, now = code(bound[:7]), code(pull_request.head_sha[:7])
    return (
        f"**Nothing of {now} is deployed**: the head was {then} when this comment was received. What it put in line of "
        f"{then} by then stays there. Comment again to deploy {now}."
    )


def merged_already(repository: str, pull_request: PullRequest) -> str:
    """Return that a pull request is deployed by its merge, and how a root of it is deployed once more."""
    command = code(f"tidegate deploy {repository} ROOT")
    return (
        f"**Nothing of {code(pull_request.head_sha[:7])} is deployed**: the pull request is merged already, and what "
        f"it changes is deployed by its merge. What failed is run again by *Re-run* at its check on the commit of the "
        f"merge, if the forge has that button. To deploy a root as the default branch is now, ask an operator for "
        f"{command} on the command line."
    )


def destroying(deployments: Sequence[Deployment]) -> str:
    """Return where the plans of destructions are reviewed."""
    lines = [f"{code(each.root.name)}, as of {code(each.revision.short)}" for each in deployments]
    return (
        f"The destruction is planned of\n\n{_list(lines)}\n\nEach plan waits for a review, at the check "
        "`tidegate/deploy: ROOT` of that commit, which was deployed last, and on the queue's page."
    )


def not_merged(prefix: str) -> str:
    """Return that nothing is destroyed that is there as long as the pull request is not merged."""
    return (
        "**Nothing is destroyed**: the pull request is not merged, so what it deletes is still there. Merge it first. "
        f"Then comment {code(f'{prefix} destroy -p ROOT')}."
    )


def name_what_to_destroy(prefix: str) -> str:
    """Return that roots have to be named."""
    return f"**Nothing is destroyed**: name each root, such as {code(f'{prefix} destroy -p ROOT')}."


def not_destroyed(reasons: Iterable[str]) -> str:
    """Return why nothing is destroyed, in Markdown."""
    return f"**Nothing is destroyed.**\n\n{_list(reasons)}"


def forced(by: str, pull_request: PullRequest, roots: Sequence[str], missing: Missing) -> str:
    """Return the warning that requirements were passed over, and which."""
    what = f"{code(pull_request.head_sha[:7])} to {_names(roots)}"
    if not missing.configured:
        return (
            f"**Forced** by {code(by)}: {what}. Nothing was missing, so `--force` passed over nothing. "
            "It is recorded in the audit log."
        )
    return (
        f"⚠️ **Forced** by {code(by)}: {what} is deployed although this is missing:\n\n{_list(missing.configured)}\n\n"
        "This is recorded in the audit log. The plan waits for its review as any other."
    )


def nothing_changed(notes: Iterable[str]) -> str:
    """Return that there is nothing to deploy or unlock; ``notes`` are sentences on what was seen besides."""
    told = _list([prose(note) for note in notes])
    base = "**This pull request changes no root**, so there is nothing to do. Name one with `-p ROOT` to choose it."
    return f"{base}\n\n{told}" if told else base


def unknown_roots(unknown: Sequence[str], known: Iterable[str]) -> str:
    """Return which roots do not exist, which may have been meant, and what there is. Nothing was done."""
    names = sorted(known)
    meant = [did_you_mean(name, names) for name in unknown[:_GUESSED]]
    lines = [
        f"There is no root {code(name)}. {near}".rstrip() for name, near in zip_longest(unknown, meant, fillvalue="")
    ]
    there = f"The roots are {_names(names)}." if names else "There are no roots here yet."
    return f"**Nothing was done.**\n\n{_list(lines)}\n\n{there}"


def roots_refused(problems: Sequence[str]) -> str:
    """Return why roots cannot be deployed; ``problems`` are sentences. Nothing was done."""
    return f"**Nothing was done.**\n\n{_list(prose(problem) for problem in problems)}"


def not_found(problem: str) -> str:
    """Return that the forge does not have what the comment is about."""
    return f"**Nothing was done.** {prose(problem)}"


def invalid_configuration(error: InvalidConfiguration) -> str:
    """Return everywhere that the configuration is wrong, as far as anybody reads on. Nothing was done."""
    if not error.others:
        return (
            f"**Nothing was done**, because {code(error.file)} cannot be used (line {error.line}): "
            f"{escaped(error.problem, _MISTAKE)}. {escaped(error.allowed, _MISTAKE)}."
        )
    mistakes = (error, *error.others)
    lines = [
        f"Line {each.line}: {escaped(each.problem, _MISTAKE)}. {escaped(each.allowed, _MISTAKE)}." for each in mistakes
    ]
    if len(lines) > _MISTAKES:
        lines[_MISTAKES:] = [f"… and {len(lines) - _MISTAKES} more: `tidegate validate` tells them all"]
    return (
        f"**Nothing was done**, because {code(error.file)} cannot be used. It has {len(mistakes)} mistakes:\n\n"
        f"{_list(lines)}"
    )


def app_lacks(permissions: Sequence[str]) -> str:
    """Return which permissions the App was not given. Nothing was done."""
    return (
        f"**Nothing was done**: Tidegate's App lacks {_names(permissions)} here. Who owns the App adds it in its "
        "settings (*Permissions & events*), and who owns the organization accepts it. Comment again after that."
    )


def base_does_not_count(pull_request: PullRequest, main: str) -> str:
    """Return that nothing is done for a pull request that goes where changes do not count."""
    return (
        f"**Nothing was done**: pull requests from {code(pull_request.head_branch)} to "
        f"{code(pull_request.base_branch)} are neither deployed nor unlock queues, as anybody who "
        "may push can make such a branch, and no rule that asks for the branch of a change would hold. "
        f"Open it against {code(main)}, or add the branch to "
        "`destination_branches` in the default branch's `tidegate.yaml`."
    )


def may_not_unlock(by: str, verb: str = "unlock") -> str:
    """Return that somebody may not unlock, or lock."""
    return f"**Nothing was {verb}ed.** {code(by)} may not write to this repository. Ask somebody who may to comment."


def in_line_already(wanted: Deployment, earlier: Deployment, where: str) -> str:
    """Return that another deployment is what is asked for. ``where`` is the address of its check run."""
    return f"{repeats.in_line_already(wanted, earlier, code)}. Go on with [its check run]({where})."


def locks_changed(told: Sequence[tuple[str, Decision]], sign: str) -> str:
    """Return what became of each queue: pairs of root and decision; ``sign`` marks what was done."""
    lines = [f"{code(name)}: {f'{sign} ' if decision.done else ''}{prose(decision.reason)}" for name, decision in told]
    return _list(lines[:_LISTED])


def why_not(error: Exception) -> str:
    """Return why nothing that was asked for is done: one of ``ANSWERED``."""
    if isinstance(error, InvalidConfiguration):
        return invalid_configuration(error)
    if isinstance(error, AppLacksPermission):
        return app_lacks(error.permissions)
    return not_found(str(error))


def _names(names: Sequence[str]) -> str:
    return _joined([code(name) for name in names])


def _joined(names: Sequence[str]) -> str:
    shown = ", ".join(names[:_LISTED])
    return f"{shown} and {len(names) - _LISTED} more" if len(names) > _LISTED else shown


def _list(lines: Iterable[str]) -> str:
    return "\n".join(f"- {line}" for line in lines)
