"""The keys of ``tidegate.yaml`` on where changes are applied, and what happens to the pull request after that."""

from __future__ import annotations

from typing import Annotated, Any, Literal

from pydantic import Field, PlainValidator

from tidegate.config.rules.apply_rules import ApplyMode
from tidegate.config.values import refused, shown
from tidegate.vcs.rules.pull_request import MergeMethod

_METHODS = {"false": None, "true": MergeMethod.MERGE, **{method.value: method for method in MergeMethod}}


def _merge_after(text: Any) -> MergeMethod | None:
    if not isinstance(text, str) or text.lower() not in _METHODS:
        raise refused(
            f"{shown(str(text))} is not a merge setting",
            f"Write true, false, or one of {', '.join(MergeMethod)}",
        )
    return _METHODS[text.lower()]


Apply = Annotated[
    ApplyMode,
    Field(
        description="When Tidegate applies changes: `on_merge`, or `in_pull_request`, which means before the merge, "
        "when you comment `tidegate apply`."
    ),
]
MergeAfterApply = Annotated[
    MergeMethod | None,
    PlainValidator(_merge_after, json_schema_input_type=bool | Literal["merge", "squash", "rebase"]),
    Field(
        description="Whether Tidegate merges a pull request once all of it is applied, and how: `true` is by a merge "
        "commit. The App needs *Contents: write*."
    ),
]
