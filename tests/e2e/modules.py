"""Root modules for real engines: they need no provider, and keep their state in the local cloud's bucket."""

from __future__ import annotations

from pathlib import Path

_BACKEND = """
terraform {
  backend "s3" {
    bucket         = "%s"
    key            = "%s"
    region         = "us-east-1"
    use_lockfile   = true
    use_path_style = true
  }
}
"""
#: A resource that cannot be made, after ``thing``.
FAILS_TO_APPLY = """
resource "terraform_data" "fails" {
  depends_on = [terraform_data.thing]
  provisioner "local-exec" {
    command = "echo a word before the end; exit 3"
  }
}
"""


def backend(bucket: str, key: str) -> str:
    """Return the block that keeps a root's state in ``bucket`` under ``key``."""
    return _BACKEND % (bucket, key)


def thing(value: str = "one") -> str:
    """Return one resource that is there or not, and whose ``value`` can be changed in place."""
    return f'resource "terraform_data" "thing" {{\n  input = "{value}"\n}}\n'


def _until(gate: Path) -> str:
    """Wait for the gate, or for the end of the test's directory: else the shell would outlive all tests."""
    return f"while [ -d '{gate.parent}' ] && [ ! -e '{gate}' ]; do sleep 0.05; done"


def gated(gate: Path, value: str = "one") -> str:
    """Return a resource whose creation says that it waits, and does so until ``gate`` exists; then it says so, too."""
    return f"""
resource "terraform_data" "gated" {{
  input            = "{value}"
  triggers_replace = "{value}"
  provisioner "local-exec" {{
    command = "echo waiting at the gate; {_until(gate)}; echo the gate is open"
  }}
}}
"""
