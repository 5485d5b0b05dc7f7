"""The commits of a repository, fetched with a token for exactly that."""

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

#: Stands for no commit, so that everything in the other one is new.
_NO_COMMIT = "0" * 40


@dataclass(frozen=True, slots=True)
class Granted:
    """What the default branch grants: what its file says, and its roots.

    Called in place of ``configure``, it says what holds for roots of another commit, whose own file grants nothing;
    ``requirements`` then have what deploys of these require. ``propose`` says so of what a merge would have; ``tagged``
    then have the tags of these roots on the default branch. ``branch`` and ``dest_branch`` are as in ``configure``.
    ``main`` is the default branch's name, ``commit`` where it is.
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
        """Tell whether the default branch has a root, by its name and in its place."""
        return any(
            (each.name, each.dir, each.workspace) == (root.name, root.dir, root.workspace) for each in self.roots
        )

    def propose(self, merged: LoadedConfiguration, roots: Iterable[Root]) -> ConfiguredRoots:
        """Return what holds for plans of roots of a merge whose file says ``merged``."""
        branches = {"branch": self.branch, "dest_branch": self.dest_branch}
        found = proposed(self.configuration, self.roots, merged, roots, **branches)
        self.tagged.update(found.tagged)
        return found.configured

    @property
    def is_destination(self) -> bool:
        """Whether pull requests of ``branch`` to ``dest_branch`` count: those to the default branch, if none is named.

        Who may push makes a branch of any name: policies and requirements of ``dest_branch`` would be the author's.
        """
        destinations = self.configuration.destination_branches
        return may_go(destinations, self.branch, self.dest_branch) if destinations else self.dest_branch == self.main


def reading_of(ports: Ports, repository: str, configuring: Configure = configure) -> Reading:
    """Return how the file of a commit is read by what holds around it now. Raise CloudUnavailable."""
    return Reading(repository, ports.organization(), configuring)


def fetch_commit(
    ports: Ports, repository: str, after: str, before: str = _NO_COMMIT
) -> AbstractContextManager[PushedTrees]:
    """Fetch a commit, and what it changed since another. Raise as ``SourceHistory.fetch`` does."""
    url = ports.addresses.clone_url(repository)
    return ports.history.fetch(url, ports.clone_tokens.clone_token(repository), before, after)


def merge_commits(ports: Ports, repository: str, base: str, head: str, common: str) -> AbstractContextManager[Merged]:
    """Fetch what the merge of a head would push to its base. Raise as ``SourceHistory.merge`` does."""
    url = ports.addresses.clone_url(repository)
    return ports.history.merge(url, ports.clone_tokens.clone_token(repository), base, head, common)


def read_granted(ports: Ports, repository: str, branch: str, dest_branch: str) -> Granted:
    """Return what the default branch grants a commit of ``branch`` that goes to ``dest_branch``.

    Raise InvalidConfiguration when the default branch's file cannot be used, and as ``fetch`` does.
    """
    main = ports.commits.default_branch(repository)
    head = ports.commits.branch_head(repository, main)
    with fetch_commit(ports, repository, head) as trees:
        configuration = read_configuration(trees, reading_of(ports, repository))
        roots = find_roots(CommitModules(trees), repository, configuration).roots
    return Granted(configuration, roots, branch, dest_branch, main=main, commit=head)
