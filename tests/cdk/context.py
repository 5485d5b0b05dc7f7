"""Context keys as an app gives them, and an image of an installation's own."""

from __future__ import annotations

IMAGE = f"123456789012.dkr.ecr.eu-west-1.amazonaws.com/tools/runner@sha256:{'0a' * 32}"


class Given(dict):
    def try_get_context(self, key):
        return self.get(key)
