"""The check run ``tidegate/config``: problems of a commit's configuration, or that it is valid."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

from tidegate.rules.errors import InvalidConfiguration
from tidegate.texts.markdown import code, prose
from tidegate.vcs.rules.check_run import Annotation, CheckRun, Conclusion, Level

NAME = "tidegate/config"
#: Refused names that are listed; the VCS provider limits the text.
_LISTED = 50
_OWN = "tidegate.yaml"
_AFTER = "Correct the file and merge the correction. Tidegate then plans every root, so no change is missed."
_PROPOSED = "Nothing is planned, and a merge would deploy nothing. Correct the file and push."
_OF_ORGANIZATION = (
    "This file is not in this repository: an operator must correct it with `tidegate organization set FILE`. After "
    "that, merge another change, or deploy manually."
)
#: Mistakes that are listed: each also as an annotation, of which a check run takes 50.
_MISTAKES = 30
#: The title of an annotation, and characters of its text.
_NOTE = "Invalid configuration"
_MESSAGE = 2000


def external_id(sha: str) -> str:
    """Return the external id of the check run on ``sha``: it belongs to the commit, not to a deployment."""
    return f"config-{sha}"


def render_invalid(sha: str, error: InvalidConfiguration, *, proposed: bool = False) -> CheckRun:
    """Show that the configuration is invalid: each mistake, where it is and what is allowed.

    ``proposed`` tells that the commit is a pull request's head.
    """
    mistakes = (error, *error.others)
    lines = [f"- {_place(each)}: {prose(each.problem)}. {prose(each.allowed)}." for each in mistakes[:_MISTAKES]]
    if len(mistakes) > _MISTAKES:
        lines.append(f"- … and {len(mistakes) - _MISTAKES} more: run `tidegate validate` to see all")
    after = _AFTER if error.file == _OWN else _OF_ORGANIZATION
    then = _PROPOSED if proposed else f"Tidegate does not deploy this commit. {after}"
    summary = "\n".join([*lines, "", then])
    where = f"line {error.line}" if len(mistakes) == 1 else f"{len(mistakes)} mistakes, the first on line {error.line}"
    notes = tuple(_note(each) for each in mistakes[:_MISTAKES] if each.file == _OWN)
    return replace(_failed(sha, f"{error.file} is invalid ({where})", summary), annotations=notes)


def _place(error: InvalidConfiguration) -> str:
    column = "" if error.column is None else f", column {error.column}"
    return f"{code(error.file)}, line {error.line}{column}"


def _note(error: InvalidConfiguration) -> Annotation:
    return Annotation(error.file, error.line, Level.FAILURE, _NOTE, f"{error.problem}. {error.allowed}."[:_MESSAGE])


def render_corrected(sha: str) -> CheckRun:
    """Show that the configuration of a pull request's head is valid by now."""
    return _completed(sha, "Valid", "`tidegate.yaml` is valid.", Conclusion.SUCCESS)


def render_misleading(sha: str, warnings: Sequence[str]) -> CheckRun:
    """Show valid but misleading parts of the configuration of a pull request's head."""
    lines = [f"- {prose(warning)}" for warning in warnings[:_LISTED]]
    count = "1 warning" if len(warnings) == 1 else f"{len(warnings)} warnings"
    summary = "\n".join(["`tidegate.yaml` is valid. Check this before you merge it:", "", *lines])
    return _completed(sha, f"Valid, with {count}", summary, Conclusion.NEUTRAL)


def render_refused(sha: str, refused: Sequence[str]) -> CheckRun:
    """Show which roots are not deployed, such as for their names; ``refused`` has a sentence for each."""
    lines = [f"- {prose(sentence)}" for sentence in refused[:_LISTED]]
    if len(refused) > _LISTED:
        lines.append(f"- … and {len(refused) - _LISTED} more")
    summary = "\n".join(
        [
            (
                "Tidegate does not deploy these roots until you correct this, in the root or in `tidegate.yaml`. It "
                "deploys the others."
            ),
            "The commit with the correction deploys them.",
            "",
            *lines,
        ]
    )
    return _failed(sha, f"Not deployed: {len(refused)}", summary)


def render_valid(sha: str, deployed: Sequence[str], stacks: int, notes: Sequence[str] = ()) -> CheckRun:
    """Show that the configuration is valid.

    ``deployed`` are the roots that this commit deploys, with their stacks if they have several; they are in ``stacks``
    stacks. ``notes`` are sentences on named roots that it does not deploy.
    """
    lines = [f"- {code(name)}" for name in deployed[:_LISTED]]
    if len(deployed) > _LISTED:
        lines.append(f"- … and {len(deployed) - _LISTED} more")
    what = "This commit deploys:" if deployed else "This commit changes no root, so there is nothing to deploy."
    told = [f"- {prose(note)}" for note in notes[:_LISTED]]
    besides = ["", "Besides:", "", *told] if told else []
    summary = "\n".join([f"`tidegate.yaml` is valid. {what}", "", *lines, *besides]).rstrip()
    return _completed(
        sha, _counted(len(deployed), stacks), summary, Conclusion.NEUTRAL if notes else Conclusion.SUCCESS
    )


def render_left_behind(sha: str, left: Sequence[str]) -> CheckRun:
    """Show which removed roots still have resources; ``left`` has a sentence for each."""
    lines = [f"- {prose(sentence)}" for sentence in left[:_LISTED]]
    if len(left) > _LISTED:
        lines.append(f"- … and {len(left) - _LISTED} more")
    title = f"{len(left)} {'root is' if len(left) == 1 else 'roots are'} gone; the deployed resources stay"
    return _completed(sha, title, "\n".join(lines), Conclusion.NEUTRAL)


def _counted(deployments: int, stacks: int) -> str:
    """Return how many deployments there are, and in how many stacks."""
    if not deployments:
        return "Valid; nothing to deploy"
    inside = f" in {stacks} stacks" if stacks > 1 else ""
    return f"Valid: {deployments} deployment{'' if deployments == 1 else 's'}{inside}"


def _failed(sha: str, title: str, summary: str) -> CheckRun:
    return _completed(sha, title, summary, Conclusion.FAILURE)


def _completed(sha: str, title: str, summary: str, conclusion: Conclusion) -> CheckRun:
    return CheckRun(
        name=NAME,
        sha=sha,
        external_id=external_id(sha),
        status="completed",
        title=title,
        summary=summary,
        conclusion=conclusion,
    )
