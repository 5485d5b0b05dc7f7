"""A forge on this machine that behaves like GitHub where Tidegate looks: git, REST, webhooks, pages.

What it answers is checked against GitHub's OpenAPI description and webhook examples (tests/forge).
"""
