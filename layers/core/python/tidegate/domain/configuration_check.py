"""The check run ``tidegate/config``: what of a commit's configuration cannot be used, or that it is in order."""

from __future__ import annotations

from collections.abc import Sequence

from tidegate.domain.check_run import CheckRun, Conclusion
from tidegate.domain.errors import InvalidConfiguration
from tidegate.domain.markdown import code, escaped

NAME = "tidegate/config"
#: Refused names that are listed; more would not be read, and the forge limits the text.
_LISTED = 50
_OWN = "tidegate.yaml"
_AFTER = "Correct the file and merge that: every root is then planned, so that nothing is missed."
_OF_ORGANIZATION = (
    "This is not a file of this repository: an operator corrects it with `tidegate organization set FILE`. "
    "After that, merge again what should be deployed, or deploy it by hand."
)
#: Roots that a title names.
_NAMED = 3


def external_id(sha: str) -> str:
    """Return what the check run on ``sha`` is found by: it belongs to the commit, not to a deployment."""
    return f"config-{sha}"


def render_invalid(sha: str, error: InvalidConfiguration) -> CheckRun:
    """Show that the configuration file cannot be used, where it is wrong, and what is allowed."""
    column = "" if error.column is None else f", column {error.column}"
    summary = (
        f"{code(error.file)}, line {error.line}{column}: {escaped(error.problem)}.\n\n"
        f"{escaped(error.allowed)}.\n\n"
        f"Nothing of this commit is deployed. {_AFTER if error.file == _OWN else _OF_ORGANIZATION}"
    )
    return _failed(sha, f"{error.file} cannot be used (line {error.line})", summary)


def render_refused(sha: str, refused: Sequence[str]) -> CheckRun:
    """Show which roots are not deployed, such as for their names; ``refused`` has a sentence for each."""
    lines = [f"- {escaped(sentence)}" for sentence in refused[:_LISTED]]
    if len(refused) > _LISTED:
        lines.append(f"- … and {len(refused) - _LISTED} more")
    summary = "\n".join(
        [
            "These roots are not deployed until that is corrected, here or in `tidegate.yaml`; others are.",
            "The commit that corrects the file deploys them.",
            "",
            *lines,
        ]
    )
    return _failed(sha, f"Not deployed: {len(refused)}", summary)


def render_valid(
    sha: str, configured: Sequence[str] | None, deployed: Sequence[str], notes: Sequence[str] = ()
) -> CheckRun:
    """Show that the configuration file is in order.

    ``configured`` are the roots that it names, None when it leaves them to be found; ``deployed`` are those
    that this commit deploys; ``notes`` are sentences on what it does not deploy although the file names it.
    """
    title = "The roots are found by their modules" if configured is None else _counted(configured)
    lines = [f"- {code(name)}" for name in deployed[:_LISTED]]
    if len(deployed) > _LISTED:
        lines.append(f"- … and {len(deployed) - _LISTED} more")
    what = "This commit deploys:" if deployed else "This commit changes none of the roots, so nothing is deployed."
    told = [f"- {escaped(note)}" for note in notes[:_LISTED]]
    besides = ["", "Besides:", "", *told] if told else []
    summary = "\n".join([f"`tidegate.yaml` is in order. {what}", "", *lines, *besides]).rstrip()
    return _completed(sha, title, summary, Conclusion.NEUTRAL if notes else Conclusion.SUCCESS)


def _counted(roots: Sequence[str]) -> str:
    """Return how many roots there are, and the names of the first."""
    names = ", ".join(roots[:_NAMED]) + (", …" if len(roots) > _NAMED else "")
    return f"{len(roots)} root{'' if len(roots) == 1 else 's'}: {names}" if roots else "No roots"


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
