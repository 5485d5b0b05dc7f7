"""Replies under pull requests, in Markdown."""

from __future__ import annotations

from collections.abc import Iterable, Sequence

from tidegate.deploys.rules import repeats
from tidegate.deploys.rules.deployment import Deployment
from tidegate.policies.rules.apply_requirements import Missing
from tidegate.rules.decision import Decision
from tidegate.rules.errors import AppLacksPermission, CyclicChange, InvalidConfiguration, NotFound
from tidegate.texts.lists import bullets, code_names
from tidegate.texts.markdown import code, escaped, prose
from tidegate.vcs.rules.pull_request import PullRequest

#: Roots in a reply at most.
_LISTED = 50
#: What else a manual deployment does.
_LOCKS = "It locks the queues of these roots: merges wait until somebody unlocks them."
#: Characters of a quoted comment: a line.
_QUOTED = 100
#: Errors that are answered with their reason: not found, invalid, or not permitted for our App.
ANSWERED = (NotFound, InvalidConfiguration, CyclicChange, AppLacksPermission)
#: Mistakes of a configuration in a reply, and characters of each.
_MISTAKES, _MISTAKE = 20, 500


def answering(comment: str, reply: str) -> str:
    """Return a reply with a quote of its comment, because several are answered in any order."""
    return f"> {code(comment, _QUOTED)}\n\n{reply}"


def not_confirmed(doubt: str) -> str:
    """Return why an unverified comment is not carried out. ``doubt`` is a sentence."""
    return (
        f"**Nothing was done**: this comment differs from the webhook that Tidegate received. {doubt} Write a "
        "new comment."
    )


def not_planned(problems: Iterable[str]) -> str:
    """Return why nothing is planned again; ``problems`` are sentences in Markdown."""
    return f"**No plan was started:**\n\n{bullets(problems)}"


def requirements_missing(pull_request: PullRequest, missing: Missing, prefix: str) -> str:
    """Return the reply that names everything that a manual deploy lacks."""
    head = code(pull_request.head_sha[:7])
    lines = bullets((*missing.always, *missing.configured))
    after = "Comment again after that."
    if missing.configured and not missing.always:
        after += (
            f" In an emergency, {code(f'{prefix} deploy --force')} bypasses these requirements. That is recorded "
            "in the audit log, and the plan still needs its review."
        )
    return f"**{head} is not deployed**, because these requirements are not met:\n\n{lines}\n\n{after}"


def head_moved(bound: str, pull_request: PullRequest) -> str:
    """Return that a comment is about an earlier head, ``bound``, and has no effect on the current one."""
    then, now = code(bound[:7]), code(pull_request.head_sha[:7])
    return (
        f"**{now} is not deployed**: the head was {then} when Tidegate received this comment. Deployments of "
        f"{then} that are already queued stay queued. Comment again to deploy {now}."
    )


def merged_already(repository: str, pull_request: PullRequest) -> str:
    """Return that the merge deploys a pull request, and how to deploy one of its roots again."""
    command = code(f"tidegate deploy {repository} ROOT")
    return (
        f"**Nothing of {code(pull_request.head_sha[:7])} is deployed**: it is merged already, and the merge deploys "
        "its changes. To retry what failed, use *Re-run* on its check on the merge commit, if it has this button. To "
        f"deploy a root at the head of the default branch, ask an operator to run {command}."
    )


def destroying(deployments: Sequence[Deployment]) -> str:
    """Return where the plans of destructions are reviewed."""
    lines = [f"{code(each.root.name)}, as of {code(each.revision.short)}" for each in deployments]
    return (
        f"A destroy plan is being made for\n\n{bullets(lines)}\n\nEach plan waits for a review on the check "
        "`tidegate/deploy: ROOT` of that commit (the last deployed one), and on the queue's page."
    )


def not_merged(prefix: str) -> str:
    """Return that nothing can be destroyed before the pull request is merged."""
    return (
        "**Nothing is destroyed**: this is not merged, so what it deletes still exists. Merge it first. "
        f"Then comment {code(f'{prefix} destroy -p ROOT')}."
    )


def name_what_to_destroy(prefix: str) -> str:
    """Return that roots have to be named."""
    return f"**Nothing is destroyed**: name each root, for example {code(f'{prefix} destroy -p ROOT')}."


def not_destroyed(reasons: Iterable[str]) -> str:
    """Return why nothing is destroyed, in Markdown."""
    return f"**Nothing is destroyed.**\n\n{bullets(reasons)}"


def forced(by: str, pull_request: PullRequest, roots: Sequence[str], missing: Missing) -> str:
    """Return the warning that requirements were overridden, and which."""
    what = f"{code(pull_request.head_sha[:7])} to {code_names(roots)}"
    if not missing.configured:
        return (
            f"**Forced** by {code(by)}: {what}. All requirements were met, so `--force` bypassed nothing. It is "
            f"recorded in the audit log. {_LOCKS}"
        )
    return (
        f"⚠️ **Forced** by {code(by)}: {what} is deployed although these requirements are not met:\n\n"
        f"{bullets(missing.configured)}\n\nThis is recorded in the audit log. The plan still needs its review. {_LOCKS}"
    )


def not_found(problem: str) -> str:
    """Return that the comment's subject does not exist at the VCS provider."""
    return f"**Nothing was done.** {prose(problem)}"


def invalid_configuration(error: InvalidConfiguration) -> str:
    """Return all mistakes in the configuration, up to the limit. Nothing was done."""
    if not error.others:
        return (
            f"**Nothing was done**, because {code(error.file)} is invalid (line {error.line}): "
            f"{escaped(error.problem, _MISTAKE)}. {escaped(error.allowed, _MISTAKE)}."
        )
    mistakes = (error, *error.others)
    lines = [
        f"Line {each.line}: {escaped(each.problem, _MISTAKE)}. {escaped(each.allowed, _MISTAKE)}." for each in mistakes
    ]
    if len(lines) > _MISTAKES:
        lines[_MISTAKES:] = [f"… and {len(lines) - _MISTAKES} more: `tidegate validate` shows them all"]
    return (
        f"**Nothing was done**, because {code(error.file)} is invalid. It has {len(mistakes)} errors:\n\n"
        f"{bullets(lines)}"
    )


def app_lacks(permissions: Sequence[str]) -> str:
    """Return which permissions the App lacks. Nothing was done."""
    return (
        f"**Nothing was done**: Tidegate's GitHub App lacks the permission {code_names(permissions)}. The owner of "
        "the App must add it in the App's settings (*Permissions & events*), and an owner of the organization "
        "must accept it. Comment again after that."
    )


def base_does_not_count(pull_request: PullRequest, main: str) -> str:
    """Return that nothing is done for a pull request whose base branch is not configured."""
    return (
        f"**Nothing was done**: changes from {code(pull_request.head_branch)} to {code(pull_request.base_branch)} "
        "cannot deploy or unlock queues: anybody who can push could create such a branch and bypass all rules about "
        f"branches. Change the base branch to {code(main)}, or add the branch to "
        "`destination_branches` in the default branch's `tidegate.yaml`."
    )


def may_not_unlock(by: str, verb: str = "unlock") -> str:
    """Return that a person may not unlock, or lock."""
    return (
        f"**Nothing was {verb}ed.** {code(by)} does not have write access to this repository. Ask somebody who "
        "has it to comment."
    )


def already_queued(wanted: Deployment, earlier: Deployment, where: str) -> str:
    """Return that another deployment does the same. ``where`` is the URL of its check run."""
    return f"{repeats.already_queued(wanted, earlier, code)}. See [its check]({where})."


def locks_changed(told: Sequence[tuple[str, Decision]], sign: str) -> str:
    """Return the result for each queue: pairs of root and decision; ``sign`` marks successes."""
    lines = [f"{code(name)}: {f'{sign} ' if decision.done else ''}{prose(decision.reason)}" for name, decision in told]
    return bullets(lines[:_LISTED])


def why_not(error: Exception) -> str:
    """Return why nothing of a request is done: one of ``ANSWERED``."""
    if isinstance(error, InvalidConfiguration):
        return invalid_configuration(error)
    if isinstance(error, AppLacksPermission):
        return app_lacks(error.permissions)
    return not_found(str(error))
