"""The JSON Schema of ``tidegate.yaml``, which editors read."""

from __future__ import annotations

from typing import Any

from tidegate.config.model.file import FILE, Configuration


def json_schema() -> dict[str, Any]:
    """Return the schema, made from the models that read the file."""
    return {
        "$schema": "https://json-schema.org/draft/2020-12/schema",
        **Configuration.model_json_schema(),
        "title": FILE,
    }
