"""The queues of a pull request's roots: locks that block its merge, and deployments that go first."""

from __future__ import annotations

from collections.abc import Collection, Iterable, Iterator, Mapping
from dataclasses import dataclass, field

from tidegate.deploys.rules.queue import Lock
from tidegate.deploys.rules.speculative_plan import SpeculativePlan
from tidegate.deploys.texts.lock_text import locked_by_itself, locked_until
from tidegate.pull_requests.rules.blocks import link
from tidegate.texts.markdown import code, escaped
from tidegate.texts.sentences import listed

#: Locks that are listed, and roots that a sentence names.
_MOST = 10
_NAME = 60
_NOW = "As of this comment"


@dataclass(frozen=True, slots=True)
class Ahead:
    """How queues are when a comment is written, by the names of their roots.

    ``locks`` are those that hold back the merge of pull request ``number``, its own among them; ``busy`` are the queues
    in which something is deployed, or queued to be, each with the address of its page, or an empty text.
    """

    number: int

    locks: Mapping[str, Lock] = field(default_factory=dict)
    busy: Mapping[str, str] = field(default_factory=dict)

    def is_locked(self, layers: Iterable[SpeculativePlan]) -> bool:
        """Tell whether a lock blocks the merge of one of these layers."""
        return not self.locks.keys().isdisjoint(_roots(layers))

    def sentences(self, layers: Collection[SpeculativePlan]) -> Iterator[str]:
        """Yield what of it is about these layers, in Markdown."""
        yield from self._locked([name for name in _roots(layers) if name in self.locks])
        planned = _roots(each for each in layers if each.plan is not None)
        names = [name for name in planned if name in self.busy]
        if names:
            is_one = len(names) == 1
            shown = [link(code(name, _NAME), self.busy[name]) or code(name, _NAME) for name in names]
            what = f"{listed(shown, _MOST)} {'is' if is_one else 'are'} being deployed or queued"
            yield f"{_NOW}, {what}: {'its plan' if is_one else 'their plans'} may change after that."

    def _locked(self, names: Collection[str]) -> Iterator[str]:
        for name in [*names][:_MOST]:
            lock = self.locks[name]
            tell = locked_by_itself if lock.pull_request == self.number else locked_until
            told = tell(name, lock, name=code, prose=escaped)
            yield f"{_NOW}: {told} Until then, the merge does not deploy it."
        if len(names) > _MOST:
            yield f"{_NOW}, {len(names) - _MOST} more queues are locked: the merge waits until they are unlocked."


def _roots(layers: Iterable[SpeculativePlan]) -> list[str]:
    return list(dict.fromkeys(each.root.name for each in layers))
