"""The features of the package and what each uses, read from its imports: `make docs` draws them in architecture.md."""

from __future__ import annotations

import ast
from collections.abc import Iterator, Mapping
from pathlib import Path

TOP = Path(__file__).parents[1]
SOURCES = TOP / "layers/core/python"
PAGE = TOP / "docs/architecture.md"
#: What is no feature: the wiring, and what lies between it and the features.
WIRING = frozenset({"bootstrap", "messages", "ports", "settings", "telemetry"})
#: Packages that are in use everywhere: their arrows would only fill the picture.
COMMON = frozenset({"aws", "config", "documents", "rules", "texts", "roots", "web"})
_BEGIN, _END = "<!-- features: begin -->", "<!-- features: end -->"


def features() -> Mapping[str, frozenset[str]]:
    """Return the features of each feature that its modules import."""
    package = SOURCES / "tidegate"
    found = {path.parent.name for path in package.glob("*/__init__.py")} - WIRING
    return {feature: frozenset(_used(package / feature) & found - {feature}) for feature in sorted(found)}


def _used(directory: Path) -> set[str]:
    return {feature for path in directory.rglob("*.py") for feature in _imported(path)}


def _imported(path: Path) -> Iterator[str]:
    for node in ast.walk(ast.parse(path.read_text(encoding="utf-8"))):
        if isinstance(node, ast.ImportFrom) and (node.module or "").startswith("tidegate"):
            names = (f"{node.module}.{alias.name}" for alias in node.names)
            yield from (name.split(".")[1] for name in names)


def nearest(graph: Mapping[str, frozenset[str]]) -> Iterator[tuple[str, str]]:
    """Yield the arrows that follow from no others: of what a feature uses, what nothing else that it uses reaches."""
    for feature, used in graph.items():
        for other in sorted(used):
            if not any(other in _reached(graph, between) for between in used - {other}):
                yield feature, other


def _reached(graph: Mapping[str, frozenset[str]], feature: str) -> frozenset[str]:
    return graph[feature].union(*(_reached(graph, used) for used in graph[feature]))


def drawn(graph: Mapping[str, frozenset[str]]) -> str:
    """Return the graph as a Mermaid picture, without what is in use everywhere."""
    shown = {feature: used - COMMON for feature, used in graph.items() if feature not in COMMON}
    arrows = "\n".join(f"    {feature} --> {used}" for feature, used in nearest(shown))
    return f"```mermaid\nflowchart TD\n{arrows}\n```"


def page(text: str) -> str:
    """Return the page with the picture as it is now."""
    before, _, rest = text.partition(_BEGIN)
    _, _, after = rest.partition(_END)
    return f"{before}{_BEGIN}\n{drawn(features())}\n{_END}{after}"


if __name__ == "__main__":
    PAGE.write_text(page(PAGE.read_text(encoding="utf-8")), encoding="utf-8")
