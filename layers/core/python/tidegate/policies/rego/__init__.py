"""The Rego engine, by conftest's conventions."""
