"""Tag queries about pull requests: any of its roots may match."""

from __future__ import annotations

from collections.abc import Iterable

from tidegate.deploys.rules.query import KINDS, Vocabulary, parse_query
from tidegate.deploys.rules.speculative_plan import SpeculativePlan
from tidegate.pull_requests.rules.record import PullRequestRecord
from tidegate.roots.rules.root_query import TagQuery
from tidegate.roots.rules.terms import Tagged, tagged
from tidegate.vcs.rules.forge_terms import ForgeTerms

_KINDS = ("repository", "root", "name", "dir", "workspace", "stack_name", "by", "revision")


def pull_request_vocabulary(terms: ForgeTerms) -> Vocabulary:
    """Return what queries about pull requests may ask for."""
    return Vocabulary(terms.pull_request, {name: KINDS[name] for name in _KINDS})


def parse_pull_request_query(text: str, terms: ForgeTerms) -> TagQuery:
    """Return the query that a text says about pull requests, as ``parse_query`` does."""
    return parse_query(text, pull_request_vocabulary(terms))


def is_found(record: PullRequestRecord, layers: Iterable[SpeculativePlan], query: TagQuery) -> bool:
    """Tell whether a pull request matches: by one of its roots, or by itself if it has none."""
    spec = record.spec
    revisions = [f"revision:{spec.head_sha[:length]}" for length in range(7, len(spec.head_sha) + 1)]
    own = (f"repository:{spec.repository}", f"by:{spec.author}", *revisions)
    found = [_tagged(layer, own) for layer in layers] or [Tagged("", frozenset(own))]
    return any(map(query.matches, found))


def _tagged(layer: SpeculativePlan, own: Iterable[str]) -> Tagged:
    stacks = (f"stack_name:{name}" for name in (layer.stack, *layer.within))
    return tagged(layer.root, (*layer.tags, *own, f"root:{layer.root.name}", *stacks))
