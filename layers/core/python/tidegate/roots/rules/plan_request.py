"""What somebody asks to be planned or deployed: all that changed, or some roots, and with which options."""

from __future__ import annotations

from dataclasses import dataclass

from tidegate.roots.rules.root_query import parse_tag_query
from tidegate.roots.rules.terms import Tagged


@dataclass(frozen=True, slots=True)
class PlanRequest:
    """What is to be planned. ``id`` tells it from others, ``by`` asked for it.

    ``roots`` are names, ``directories`` in their normal form, ``query`` is a tag query that can be parsed; nothing of
    these stands for all that the pull request changes. ``options`` are the engine's, and were allowed.
    """

    id: str
    by: str
    roots: tuple[str, ...] = ()
    directories: tuple[str, ...] = ()
    query: str = ""
    options: tuple[str, ...] = ()

    @property
    def is_partial(self) -> bool:
        """Whether some roots are chosen, so that what is known of the others stays."""
        return bool(self.roots or self.directories or self.query)

    @property
    def asks_for_changed(self) -> bool:
        """Whether it is about the roots that the pull request changes, and not only about some by their names."""
        return bool(self.directories or self.query or not self.roots)

    def chooses(self, root: str, tagged: Tagged) -> bool:
        """Tell whether a root, by its name and tags, is to be planned."""
        if not self.is_partial or root in self.roots:
            return True
        if any(_is_in(tagged.directory, directory) for directory in self.directories):
            return True
        return bool(self.query) and parse_tag_query(self.query).matches(tagged)


def _is_in(place: str, directory: str) -> bool:
    return directory == "." or f"{place}/".startswith(f"{directory}/")
