"""An engine for Rego, by the conventions of conftest."""
