"""The commits of a repository, fetched with a token limited to it."""

from __future__ import annotations

from collections.abc import Iterable
from contextlib import AbstractContextManager
from dataclasses import dataclass, field

from tidegate.changes.rules.change_set import Key
from tidegate.config.branches import may_go
from tidegate.config.configured import ConfiguredRoots
from tidegate.config.loaded import LoadedConfiguration
from tidegate.config.resolution import configure
from tidegate.config.trust import proposed, trusted
from tidegate.discovery.discover_roots import Reading, read_configuration
from tidegate.discovery.find_roots import CommitModules, find_roots
from tidegate.discovery.root_index import Configure
from tidegate.policies.rules.requirements import Requirements
from tidegate.ports import Merged, Ports, PushedTrees
from tidegate.roots.rules.root import Root
from tidegate.roots.rules.terms import Tagged

#: Stands for no commit: everything in the other one is new.
_NO_COMMIT = "0" * 40


@dataclass(frozen=True, slots=True)
class Granted:
    """What the default branch grants: its configuration, and its roots.

    Called instead of ``configure``, it returns the rules for roots of another commit, whose own configuration grants
    nothing; ``requirements`` then have the requirements of their deploys. ``propose`` does so for a merge; ``tagged``
    then have the tags of these roots on the default branch. ``branch`` and ``dest_branch`` are as in ``configure``.
    ``main`` is the default branch's name, ``commit`` its head.
    """

    configuration: LoadedConfiguration
    roots: tuple[Root, ...]
    branch: str = ""
    dest_branch: str = ""
    requirements: dict[Key, tuple[Requirements, ...] | None] = field(default_factory=dict)
    main: str = ""
    commit: str = ""
    tagged: dict[Key, tuple[Tagged, ...]] = field(default_factory=dict)

    def __call__(self, _own: LoadedConfiguration, roots: Iterable[Root]) -> ConfiguredRoots:
        judged = trusted(self.configuration, self.roots, roots, self.branch, self.dest_branch)
        self.requirements.update(judged.requirements)
        return judged.configured

    def has(self, root: Root) -> bool:
        """Tell whether the default branch has a root with this name and location."""
        return any(
            (each.name, each.dir, each.workspace) == (root.name, root.dir, root.workspace) for each in self.roots
        )

    def propose(self, merged: LoadedConfiguration, roots: Iterable[Root]) -> ConfiguredRoots:
        """Return the rules for plans of a merge with the configuration ``merged``."""
        branches = {"branch": self.branch, "dest_branch": self.dest_branch}
        found = proposed(self.configuration, self.roots, merged, roots, **branches)
        self.tagged.update(found.tagged)
        return found.configured

    @property
    def is_destination(self) -> bool:
        """Whether pull requests of ``branch`` to ``dest_branch`` count: only those to the default branch, if none is
        configured.

        Anybody who may push creates branches: the author would choose policies and requirements by ``dest_branch``.
        """
        destinations = self.configuration.destination_branches
        return may_go(destinations, self.branch, self.dest_branch) if destinations else self.dest_branch == self.main


def reading_of(ports: Ports, repository: str, configuring: Configure = configure) -> Reading:
    """Return how to read a commit's configuration under the current surrounding rules. Raise CloudUnavailable."""
    return Reading(repository, ports.organization(), configuring)


def fetch_commit(
    ports: Ports, repository: str, after: str, before: str = _NO_COMMIT
) -> AbstractContextManager[PushedTrees]:
    """Fetch a commit, and what it changed since another. Raise as ``SourceHistory.fetch`` does."""
    url = ports.addresses.clone_url(repository)
    return ports.history.fetch(url, ports.clone_tokens.clone_token(repository), before, after)


def merge_commits(ports: Ports, repository: str, base: str, head: str, common: str) -> AbstractContextManager[Merged]:
    """Fetch what a merge of a head would push to its base. Raise as ``SourceHistory.merge`` does."""
    url = ports.addresses.clone_url(repository)
    return ports.history.merge(url, ports.clone_tokens.clone_token(repository), base, head, common)


def read_granted(ports: Ports, repository: str, branch: str, dest_branch: str) -> Granted:
    """Return what the default branch grants a commit of ``branch`` that goes to ``dest_branch``.

    Raise InvalidConfiguration if the default branch's configuration is invalid, and as ``fetch`` does.
    """
    main = ports.commits.default_branch(repository)
    head = ports.commits.branch_head(repository, main)
    with fetch_commit(ports, repository, head) as trees:
        configuration = read_configuration(trees, reading_of(ports, repository))
        roots = find_roots(CommitModules(trees), repository, configuration).roots
    return Granted(configuration, roots, branch, dest_branch, main=main, commit=head)
