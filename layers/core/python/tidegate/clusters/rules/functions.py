"""Functions that hooks may call: those that the installation lists, and no others."""

from __future__ import annotations

from collections.abc import Sequence

from tidegate.clusters.rules.execution_refusals import FunctionNotListed

#: Colons of a function's ARN without a version: ``arn:aws:lambda:REGION:ACCOUNT:function:NAME``.
_COLONS = 6


def function_arn(listed: Sequence[str], function: str) -> str:
    """Return the listed ARN of the function with this name or ARN. Raise FunctionNotListed."""
    for arn in listed:
        if function in {arn, arn.split(":")[_COLONS]}:
            return arn
    raise FunctionNotListed(function)
