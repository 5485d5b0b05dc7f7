"""Patterns of branches, by which they get tags."""

from __future__ import annotations

from pydantic_core import SchemaError, SchemaValidator, core_schema


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
