"""What a merge finds in the queues of its roots: locks behind which it waits, and deploys that go before it."""

from __future__ import annotations

from collections.abc import Collection, Iterable, Iterator, Mapping
from dataclasses import dataclass, field

from tidegate.domain.deploys.queue import Lock, locked_until
from tidegate.domain.markdown import code, escaped
from tidegate.domain.pull_requests.blocks import link
from tidegate.domain.pull_requests.temporary_layer import TemporaryLayer
from tidegate.domain.sentences import listed

#: Locks that are told one by one, and roots that a sentence names.
_MOST = 10
_NAME = 60
_NOW = "As of this comment"


@dataclass(frozen=True, slots=True)
class Ahead:
    """How queues are when a comment is written, by the names of their roots.

    ``locks`` are those that hold back the pull request, ``busy`` the queues in which something is deployed, or in
    line to be, each with the address of its page, or an empty text.
    """

    locks: Mapping[str, Lock] = field(default_factory=dict)
    busy: Mapping[str, str] = field(default_factory=dict)

    def sentences(self, layers: Collection[TemporaryLayer]) -> Iterator[str]:
        """Yield what of it is about these layers, in Markdown."""
        yield from self._locked([name for name in _roots(layers) if name in self.locks])
        planned = _roots(each for each in layers if each.plan is not None)
        names = [name for name in planned if name in self.busy]
        if names:
            is_one = len(names) == 1
            shown = [link(code(name, _NAME), self.busy[name]) or code(name, _NAME) for name in names]
            what = f"{listed(shown, _MOST)} {'is' if is_one else 'are'} being deployed, or in line to be"
            yield f"{_NOW}, {what}: {'its plan' if is_one else 'their plans'} may be different after that."

    def _locked(self, names: Collection[str]) -> Iterator[str]:
        for name in [*names][:_MOST]:
            told = locked_until(name, self.locks[name], name=code, prose=escaped)
            yield f"{_NOW}: {told} Until then, the merge deploys nothing there."
        if len(names) > _MOST:
            yield f"{_NOW}, {len(names) - _MOST} more queues are locked: the merge waits behind each of these locks."


def _roots(layers: Iterable[TemporaryLayer]) -> list[str]:
    return list(dict.fromkeys(each.root.name for each in layers))
