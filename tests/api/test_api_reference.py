"""The description of the API as people read it."""

from __future__ import annotations

import re

from tests.api.scenario import Client
from tidegate.web.api_reference import Model, named_models, operations


def test_the_page_has_each_operation_of_the_description_and_is_linked(wires, browser):
    document = Client(wires).get("/api/v1/openapi.json").json
    page = Client(wires).get("/api")
    assert page.status == 200
    for path, methods in document["paths"].items():
        for method in methods:
            assert f"{method.upper()} {path}" in page.text
    assert 'href="/api"' in browser.get("/").body
    assert 'href="#DeploymentBrief"' in page.body
    for linked in re.findall(r'href="#([A-Za-z]+)"', page.body):
        assert page.body.count(f'id="{linked}"') == 1
    assert "The first line of the commit's message" in page.text


def test_an_operation_tells_what_it_takes_and_returns():
    reference = {"$ref": "#/components/schemas/Made"}
    made = {
        "properties": {"id": {"type": "string", "description": "Its id"}, "many": {"type": "array", "items": reference}}
    }
    body = {
        "required": ["kind"],
        "properties": {"kind": {"enum": ["a", "b"]}, "at": {"anyOf": [{"format": "date"}, {"type": "null"}]}},
    }
    (found,) = operations(
        {
            "paths": {
                "/things/{id}": {
                    "post": {
                        "parameters": [{"name": "id", "in": "path", "required": True, "schema": {"const": "x"}}],
                        "requestBody": {"content": {"application/json": {"schema": body}}},
                        "responses": {"200": {"content": {"application/json": {"schema": reference}}}},
                    }
                }
            },
            "components": {"schemas": {"Made": made}},
        }
    )
    assert found.anchor == "post-things-id"
    assert [(each.name, each.type, each.required, each.where) for each in found.given] == [
        ("id", "x", True, "path"),
        ("kind", "a, b", True, "body"),
        ("at", "date or null", False, "body"),
    ]
    assert [(each.name, each.type) for each in found.answer] == [("id", "string"), ("many", "list of Made")]


def test_models_that_fields_name_are_told_with_their_fields_or_values():
    state = {"enum": ["open", "closed"], "description": "How it is."}
    part = {"properties": {"part_of": {"anyOf": [{"$ref": "#/components/schemas/Made"}, {"type": "null"}]}}}
    parts = {"type": "array", "items": {"$ref": "#/components/schemas/Part"}}
    made = {"properties": {"state": {"$ref": "#/components/schemas/State"}, "parts": parts}}
    answer = {"content": {"application/json": {"schema": {"$ref": "#/components/schemas/Made"}}}}
    told = named_models(
        {
            "paths": {"/things": {"get": {"responses": {"200": answer}}}},
            "components": {"schemas": {"Made": made, "Part": part, "State": state, "Other": made}},
        }
    )
    assert [each.name for each in told] == ["Made", "Part", "State"]
    assert told[2] == Model("State", "How it is.", (), ("open", "closed"))
    assert [(each.name, each.type) for each in told[1].fields] == [("part_of", "Made or null")]
