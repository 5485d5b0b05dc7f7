"""A request for plans or deploys: all that changed, or some roots, and with which options."""

from __future__ import annotations

from dataclasses import dataclass

from tidegate.roots.rules.root_query import parse_tag_query
from tidegate.roots.rules.terms import Tagged


@dataclass(frozen=True, slots=True)
class PlanRequest:
    """What to plan. ``id`` identifies the request, ``by`` made it.

    ``roots`` are names, ``directories`` are normalized, ``query`` is a valid tag query; none of these means all that
    the pull request changes. ``options`` are the engine's, and allowed.
    """

    id: str
    by: str
    roots: tuple[str, ...] = ()
    directories: tuple[str, ...] = ()
    query: str = ""
    options: tuple[str, ...] = ()

    @property
    def is_partial(self) -> bool:
        """Whether some roots are chosen, so that the others' plans stay."""
        return bool(self.roots or self.directories or self.query)

    @property
    def asks_for_changed(self) -> bool:
        """Whether it selects among the changed roots, and not only by name."""
        return bool(self.directories or self.query or not self.roots)

    def chooses(self, root: str, tagged: Tagged) -> bool:
        """Tell whether a root is requested, by its name and tags."""
        if not self.is_partial or root in self.roots:
            return True
        if any(_is_in(tagged.directory, directory) for directory in self.directories):
            return True
        return bool(self.query) and parse_tag_query(self.query).matches(tagged)


def _is_in(place: str, directory: str) -> bool:
    return directory == "." or f"{place}/".startswith(f"{directory}/")
