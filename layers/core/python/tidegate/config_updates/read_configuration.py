"""Read what a config repository's file says of config updates."""

from __future__ import annotations

from contextlib import suppress
from dataclasses import dataclass

from tidegate.config.loaded import LoadedConfiguration
from tidegate.config.loader import load_configuration
from tidegate.config.model.file import FILE
from tidegate.config.rules.config_updates import ConfigUpdates, DeclaredImageSet, Environment
from tidegate.config_updates.environment_rules import EnvironmentRules, rules_of
from tidegate.config_updates.rules.queue import UpdateHead
from tidegate.config_updates.rules.refusals import NoConfigUpdates, UnknownEnvironment, UnknownImageSet
from tidegate.ports import Ports
from tidegate.rules.errors import ForgeRefused, ForgeUnavailable, InvalidConfiguration, NotFound


def load_updates(ports: Ports, repository: str, commit: str) -> ConfigUpdates:
    """Return the config updates that ``tidegate.yaml`` declares at a commit. Raise as ``load_file`` does."""
    return load_file(ports, repository, commit)[1]


def load_file(ports: Ports, repository: str, commit: str) -> tuple[LoadedConfiguration, ConfigUpdates]:
    """Return all that ``tidegate.yaml`` says at a commit, and its config updates; it is read once for each commit.

    Raise NoConfigUpdates if it declares none, and InvalidConfiguration.
    """
    raw = ports.config_updates.configuration(repository, commit)
    if raw is None:
        raw = ports.config_branches.file_content(repository, commit, FILE)
        if raw is None:
            raise NoConfigUpdates(repository)
        ports.config_updates.keep_configuration(repository, commit, raw)
    loaded = load_configuration(raw, repository, ports.organization())
    if loaded.config_updates is None:
        raise NoConfigUpdates(repository)
    return loaded, loaded.config_updates


@dataclass(frozen=True, slots=True)
class CurrentUpdates:
    """What the head of the default branch declares."""

    repository: str
    default_branch: str
    commit: str
    loaded: LoadedConfiguration
    updates: ConfigUpdates

    def rules(self, image_set: str, name: str) -> EnvironmentRules:
        """Return the rules of an environment, also of one that is not declared any more."""
        return rules_of(self.loaded, self.updates, image_set, name)

    def image_set(self, name: str) -> DeclaredImageSet:
        """Return an image set. Raise UnknownImageSet."""
        found = next((each for each in self.updates.sets if each.name == name), None)
        if found is None:
            raise UnknownImageSet(name, [each.name for each in self.updates.sets])
        return found

    def environment(self, image_set: str, name: str) -> Environment:
        """Return an environment. Raise UnknownImageSet, UnknownEnvironment."""
        environments = self.image_set(image_set).environments
        found = next((each for each in environments if each.name == name), None)
        if found is None:
            raise UnknownEnvironment(name, [each.name for each in environments])
        return found


def current_updates(ports: Ports, repository: str) -> CurrentUpdates:
    """Return what a repository's default branch declares now.

    Raise ForgeRefused for a repository that the App cannot read, ForgeUnavailable, and what ``load_updates`` raises.
    """
    branch, heads = default_branch_of(ports, ports.config_updates.head(repository)), ports.config_branches.branch_heads
    commit = heads(repository, [branch]).get(branch) if branch else None
    if commit is None:
        branch = ports.commits.default_branch(repository)
        commit = heads(repository, [branch]).get(branch)
    if commit is None:
        raise ForgeUnavailable(f"{repository} has no branch {branch}")
    return CurrentUpdates(repository, branch, commit, *load_file(ports, repository, commit))


def configuration_problem(ports: Ports, repository: str) -> str:
    """Return what is wrong with the default branch's file, or why it cannot be read; empty if nothing."""
    try:
        current_updates(ports, repository)
    except (ForgeRefused, ForgeUnavailable, InvalidConfiguration, NoConfigUpdates, NotFound) as problem:
        return str(problem)
    return ""


def default_branch_of(ports: Ports, head: UpdateHead) -> str:
    """Return the default branch as of the last push to it, or else as the queue knows it; empty if neither does.

    It costs no call of the VCS provider. Another branch may become the default one while the old one still exists,
    where perhaps everybody may write then: its file must not count any more.
    """
    with suppress(NotFound):
        return ports.repository_index.repository(head.repository).default_branch
    return head.default_branch
