"""Patterns of branches, by which they get tags."""

from __future__ import annotations

from collections.abc import Collection
from fnmatch import fnmatchcase

from pydantic_core import SchemaError, SchemaValidator, core_schema

from tidegate.config.declarations import DestinationBranch


class BranchPattern:
    """A regular expression that is searched for in a branch's name, in time that grows with the name only."""

    def __init__(self, text: str) -> None:
        """Take an expression of Rust's regex crate. Raise ValueError for what is none."""
        self.text = text
        schema = core_schema.str_schema(pattern=text, regex_engine="rust-regex")
        try:
            self._validator = SchemaValidator(schema)
        except SchemaError as error:
            raise ValueError(str(error)) from None

    def search(self, branch: str) -> bool:
        """Tell whether the expression occurs in a branch's name."""
        return bool(self._validator.isinstance_python(branch))

    def __eq__(self, other: object) -> bool:
        return isinstance(other, BranchPattern) and other.text == self.text

    def __hash__(self) -> int:
        return hash(self.text)

    def __repr__(self) -> str:
        return f"BranchPattern({self.text!r})"


def may_go(destinations: Collection[DestinationBranch], source: str, destination: str) -> bool:
    """Tell whether changes of ``source`` may go to ``destination`` by one of these; case does not matter."""
    fitting = (each for each in destinations if _fits(each.branch, destination))
    return any(_comes_from(each.sources, source) for each in fitting)


def _comes_from(sources: Collection[str], source: str) -> bool:
    excluded = any(_fits(each[1:], source) for each in sources if each.startswith("!"))
    return not excluded and any(_fits(each, source) for each in sources if not each.startswith("!"))


def _fits(pattern: str, branch: str) -> bool:
    return fnmatchcase(branch.lower(), pattern.lower())
