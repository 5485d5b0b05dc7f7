"""Tag queries about the roots of a repository, by their last deployments."""

from __future__ import annotations

from collections.abc import Iterable

from tidegate.deploys.rules.deployment import Deployment
from tidegate.deploys.rules.query import KINDS, STATES, Vocabulary, deployment_tags, parse_query
from tidegate.deploys.rules.summary import summary_of
from tidegate.roots.rules.root_query import TagQuery
from tidegate.roots.rules.terms import Tagged

_KINDS = ("repository", "root", "name", "dir", "workspace", "stack_name", "state")
#: What queries about roots may ask for.
ROOTS = Vocabulary("root", {name: KINDS[name] for name in _KINDS}, {"state": STATES})


def parse_root_query(text: str) -> TagQuery:
    """Return the query that a text says about roots, as ``parse_query`` does."""
    return parse_query(text, ROOTS)


def root_tags(name: str, repository: str, stacks: Iterable[str], shown: Iterable[Deployment]) -> Tagged:
    """Return a root with its tags: those of what runs there and of what was admitted last, in each of its stacks."""
    found = [deployment_tags(summary_of(each)) for each in shown]
    tags = {tag for each in found for tag in each.tags}
    own = {f"repository:{repository}", f"root:{name}", f"name:{name}", *(f"stack_name:{each}" for each in stacks)}
    return Tagged(found[0].directory if found else "", frozenset(tags | own))
