"""Texts name requests and checks by the terms of the VCS provider: none is written in one provider's words."""

from __future__ import annotations

import ast
import re
from collections.abc import Iterator
from pathlib import Path

TOP = Path(__file__).parents[2]
PACKAGE = TOP / "layers/core/python/tidegate"
WORDS = re.compile(r"pull[ -]request|merge[ -]request|check[ -]run|commit status", re.IGNORECASE)
#: Where such words may stand, and why.
ALLOWED = {
    "vcs/rules/forge_terms.py": "These are the terms.",
    "setup/rules/app_needs.py": "It is about an App of GitHub.",
    "vcs/github/": "It is about GitHub.",
    "vcs/gitlab/": "It is about GitLab.",
    "vcs/rules/events.py": "It reads GitHub's webhooks; logs say what it ignores.",
    "vcs/rules/pull_requests.py": "It reads GitHub's webhooks; logs say what it ignores.",
    "vcs/rules/gitlab.py": "It reads GitLab's webhooks; logs say what it ignores.",
    "config/model/": "It describes keys of tidegate.yaml, which are the same for all providers.",
    "web/models.py": "It describes fields of the API, which are the same for all providers.",
    "web/pull_request_models.py": "It describes fields of the API, which are the same for all providers.",
    "web/pull_request_pages.py": "It describes the API, which is the same for all providers.",
}


def test_no_text_names_requests_or_checks_in_one_providers_words():
    told = []
    for file in sorted([*PACKAGE.rglob("*.py"), *(TOP / "runner").rglob("*.py")]):
        name = file.relative_to(PACKAGE if file.is_relative_to(PACKAGE) else TOP).as_posix()
        # What adapters name are keys and records, for logs.
        if not name.startswith(tuple(ALLOWED)) and "/adapters/" not in name:
            told += [f"{name}:{line}: {text}" for line, text in _texts(ast.parse(file.read_text())) if _is_told(text)]
    assert told == [], "\n".join(["Say it without the word, or take it from ForgeTerms:", *told])


def test_no_page_names_requests_or_checks_in_one_providers_words():
    for file in sorted((PACKAGE / "web").rglob("*.html")):
        assert not WORDS.search(file.read_text()), file.name


def test_every_exception_is_needed():
    for name in ALLOWED:
        files = [PACKAGE / name] if name.endswith(".py") else (PACKAGE / name).rglob("*.py")
        assert any(_is_told(text) for file in files for _, text in _texts(ast.parse(file.read_text()))), name


def _is_told(text: str) -> bool:
    """Tell whether a text has such a word, or GitHub's sign before a number. Keys of records have it within a word."""
    return bool(WORDS.search(text) or re.search(r"(?:^|[\s(])#\{", text))


def _texts(tree: ast.Module) -> Iterator[tuple[int, str]]:
    """Yield texts that are no docstrings, with their lines; what is filled in is ``{}``."""
    docstrings = {id(node.value) for node in ast.walk(tree) if isinstance(node, ast.Expr)}
    for node in ast.walk(tree):
        if isinstance(node, ast.Constant) and isinstance(node.value, str) and id(node) not in docstrings:
            yield node.lineno, node.value
        elif isinstance(node, ast.JoinedStr):
            yield node.lineno, "".join(p.value if isinstance(p, ast.Constant) else "{}" for p in node.values)
