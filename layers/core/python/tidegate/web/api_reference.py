"""The OpenAPI description of the API, arranged for people to read."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from typing import Any

_REFERENCE = "#/components/schemas/"


@dataclass(frozen=True, slots=True)
class Field:
    """A parameter or a field of a body or a response: ``type`` is in words, ``where`` says where it is given.

    ``models`` are the models that ``type`` names.
    """

    name: str
    type: str
    description: str = ""
    required: bool = False
    where: str = ""
    models: frozenset[str] = frozenset()


@dataclass(frozen=True, slots=True)
class Model:
    """What fields have that are no plain values: fields of its own, or one of some ``values``."""

    name: str
    description: str
    fields: tuple[Field, ...]
    values: tuple[str, ...]


@dataclass(frozen=True, slots=True)
class Operation:
    """A route: what may be given to it, and the fields of its answer."""

    method: str
    path: str
    summary: str
    description: str
    given: tuple[Field, ...]
    answer: tuple[Field, ...]

    @property
    def anchor(self) -> str:
        """Its address within the page."""
        return f"{self.method}{self.path}".replace("/", "-").replace("{", "").replace("}", "").lower()


def operations(document: Mapping[str, Any]) -> tuple[Operation, ...]:
    """Return the operations of an OpenAPI document, by path."""
    schemas = document.get("components", {}).get("schemas", {})
    return tuple(
        _operation(method, path, each, schemas)
        for path, methods in sorted(document["paths"].items())
        for method, each in methods.items()
    )


def named_models(document: Mapping[str, Any]) -> tuple[Model, ...]:
    """Return the models that fields of an OpenAPI document's operations name, and those that these name, by name."""
    schemas = document.get("components", {}).get("schemas", {})
    found: dict[str, Model] = {}
    left = {name for each in operations(document) for field in (*each.given, *each.answer) for name in field.models}
    while left:
        name = left.pop()
        found[name] = _model(name, schemas)
        left |= {other for field in found[name].fields for other in field.models} - found.keys()
    return tuple(found[name] for name in sorted(found))


def _model(name: str, schemas: Mapping[str, Any]) -> Model:
    schema = schemas.get(name, {})
    values = tuple(map(str, schema.get("enum", ())))
    return Model(name, schema.get("description", ""), tuple(_fields(schema, schemas, "")), values)


def _operation(method: str, path: str, each: Mapping[str, Any], schemas: Mapping[str, Any]) -> Operation:
    answer: Mapping[str, Any] = next(
        (found for code, found in each["responses"].items() if str(code).startswith("2")), {}
    )
    given = (*_parameters(each.get("parameters", ())), *_fields(_content(each.get("requestBody", {})), schemas, "body"))
    fields = tuple(_fields(_content(answer), schemas, ""))
    return Operation(method.upper(), path, each.get("summary", ""), each.get("description", ""), given, fields)


def _parameters(parameters: Any) -> Iterator[Field]:
    for each in parameters:
        kind = _type(each.get("schema", {}))
        named = frozenset(_references(each.get("schema", {})))
        yield Field(each["name"], kind, each.get("description", ""), each.get("required", False), each["in"], named)


def _content(part: Mapping[str, Any]) -> Mapping[str, Any]:
    schema: Mapping[str, Any] = part.get("content", {}).get("application/json", {}).get("schema", {})
    return schema


def _fields(schema: Mapping[str, Any], schemas: Mapping[str, Any], where: str) -> Iterator[Field]:
    found = schemas.get(schema.get("$ref", "").removeprefix(_REFERENCE), schema)
    required = found.get("required", ())
    for name, each in found.get("properties", {}).items():
        named = frozenset(_references(each))
        yield Field(name, _type(each), each.get("description", ""), name in required, where, named)


def _references(schema: Mapping[str, Any]) -> Iterator[str]:
    """Yield the models that ``_type`` names."""
    if "$ref" in schema:
        yield str(schema["$ref"]).removeprefix(_REFERENCE)
    for each in (*schema.get("anyOf", ()), schema.get("items", {})):
        if each:
            yield from _references(each)


def _type(schema: Mapping[str, Any]) -> str:
    """Return a type in words, such as ``list of DeploymentBrief`` or ``string or null``."""
    if "$ref" in schema:
        return str(schema["$ref"]).removeprefix(_REFERENCE)
    if "anyOf" in schema:
        return " or ".join(map(_type, schema["anyOf"]))
    if schema.get("type") == "array":
        return f"list of {_type(schema.get('items', {}))}"
    if "enum" in schema:
        return ", ".join(map(str, schema["enum"]))
    return str(schema.get("const", schema.get("format", schema.get("type", "any"))))
