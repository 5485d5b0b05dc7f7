"""What is wrong with the notifications that a file declares."""

from __future__ import annotations

from collections.abc import Collection, Iterator, Sequence

from tidegate.config.model.notifications import NotificationSection
from tidegate.documents.document import Document
from tidegate.roots.rules.nearest import nearest
from tidegate.rules.errors import InvalidConfiguration, quoted


def refused_destinations(
    document: Document, sections: Sequence[NotificationSection], known: Collection[str] | None
) -> Iterator[InvalidConfiguration]:
    """Yield a refusal for each destination that the installation does not declare. None: that is not known here."""
    if known is None:
        return
    for number, section in enumerate(sections):
        for position, name in enumerate(section.destinations):
            if name not in known:
                near = nearest(name, known)
                meant = f"Did you mean {quoted(near)}? " if near else ""
                allowed = f"{meant}Destinations of this installation: {', '.join(sorted(known)) or 'none'}"
                path = ("notifications", number, "destinations", position)
                yield document.refusal(path, f"unknown destination {quoted(name)}", allowed)
