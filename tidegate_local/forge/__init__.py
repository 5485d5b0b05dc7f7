"""A local stand-in for GitHub, as far as Tidegate uses it: git, REST, webhooks, pages.

Its answers are checked against GitHub's OpenAPI description and webhook examples (tests/forge).
"""
