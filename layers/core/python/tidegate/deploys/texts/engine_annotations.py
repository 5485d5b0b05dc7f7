"""Errors of the engine as annotations of a check run."""

from __future__ import annotations

from tidegate.plans.rules.engine_errors import engine_errors
from tidegate.roots.rules.root import Root
from tidegate.texts.markdown import one_line, plain
from tidegate.vcs.rules.check_run import MAXIMUM_TITLE, Annotation, Level


def engine_annotations(root: Root, last_lines: str) -> tuple[Annotation, ...]:
    """Return the errors in the engine's last lines at their files and lines of the commit."""
    return tuple(
        Annotation(
            each.path,
            each.line,
            Level.FAILURE,
            one_line(f"{root.name}: {each.title}", MAXIMUM_TITLE),
            plain(each.message),
        )
        for each in engine_errors(last_lines, root.dir)
    )
