"""The published versions of the functions: each deploy that changes a function publishes its next one."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any


class Versions:
    """What was published since the first deploy. A version's logical id is another one when its function changed."""

    def __init__(self) -> None:
        self._of_functions: dict[str, list[str]] = {}

    def publish(self, resources: Mapping[str, Mapping[str, Any]]) -> None:
        """Publish what a template asks for."""
        for logical, resource in resources.items():
            if resource["Type"] == "AWS::Lambda::Version":
                known = self._of_functions.setdefault(str(resource["Properties"]["FunctionName"]["Ref"]), [])
                if logical not in known:
                    known.append(logical)

    @property
    def numbers(self) -> dict[str, str]:
        """The number of each version by its logical id."""
        every = self._of_functions.values()
        return {logical: str(number) for known in every for number, logical in enumerate(known, 1)}

    @property
    def newest(self) -> dict[str, str]:
        """The number of each function's newest version by the function's logical id."""
        return {function: str(len(known)) for function, known in self._of_functions.items()}
