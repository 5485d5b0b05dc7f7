"""Regular expressions of Rust's regex crate, which take linear time (docs/decisions/0081)."""

from __future__ import annotations

from pydantic_core import SchemaError, SchemaValidator, core_schema


class Expression:
    """An untrusted regular expression. Two with the same text are equal."""

    __slots__ = ("_validator", "text")

    def __init__(self, text: str) -> None:
        """Compile an expression. Raise ValueError if it is invalid."""
        self.text = text
        try:
            self._validator = SchemaValidator(core_schema.str_schema(pattern=text, regex_engine="rust-regex"))
        except SchemaError as error:
            raise ValueError(str(error)) from None

    def search(self, text: str) -> bool:
        """Tell whether the expression occurs in a text."""
        return bool(self._validator.isinstance_python(text))

    def __eq__(self, other: object) -> bool:
        return isinstance(other, Expression) and other.text == self.text

    def __hash__(self) -> int:
        return hash(self.text)

    def __repr__(self) -> str:
        return f"Expression({self.text!r})"
