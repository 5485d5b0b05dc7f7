"""Projects and groups of a local GitLab, where their git repositories lie, and whom their webhooks tell."""

from __future__ import annotations

import re
from dataclasses import replace
from pathlib import Path

from tidegate_local.forge.git import BareRepository
from tidegate_local.forge.hooks import Webhooks
from tidegate_local.forge.repositories import Repositories
from tidegate_local.forge.store import Store
from tidegate_local.gitlab import clock, hook_headers, protection
from tidegate_local.gitlab.identity import Identities
from tidegate_local.gitlab.records import Group, Project, User
from tidegate_local.gitlab.refusals import Refusal, invalid
from tidegate_local.gitlab.settings import DEVELOPER, Settings
from tidegate_local.gitlab.urls import Urls

_PART = re.compile(r"[A-Za-z0-9_][A-Za-z0-9_.-]{0,254}")
_ENDINGS = (".git", ".atom", ".", "-", "_")
#: First parts of addresses that are no groups.
RESERVED = frozenset({"api", "oauth", "-", "_local", "users", "groups", "projects", "admin", "explore", "help"})
#: The domain of the addresses that people of this GitLab commit with.
NO_REPLY = "users.noreply.forge.invalid"

#: More than any access level.
NOBODY = 100


class Hosting(Repositories):
    """Everything behind a local GitLab's API."""

    def __init__(self, settings: Settings, store: Store, identities: Identities, urls: Urls, directory: Path) -> None:
        super().__init__(store, directory)
        self.settings, self.identities, self.urls = settings, identities, urls
        target = (settings.webhook_url, settings.webhook_secret)
        self.webhooks = Webhooks(store, hook_headers.of_instance(urls.home), settings.webhook_timeout, target)

    def project(self, which: str) -> Project | None:
        """Return a project by its number or its full path, whatever the case."""
        if which.isdecimal():
            return self.store.first(Project, id=int(which))
        return next((one for one in self.projects() if one.repository.lower() == which.lower()), None)

    def projects(self) -> list[Project]:
        """Return all projects, by number."""
        return self.store.find(Project)

    def group(self, which: str) -> Group | None:
        """Return a group by its number or its full path, whatever the case; no person's own namespace."""
        groups = [one for one in self.store.find(Group) if one.user is None]
        if which.isdecimal():
            return next((one for one in groups if one.id == int(which)), None)
        return next((one for one in groups if one.path.lower() == which.lower()), None)

    def namespace(self, path: str) -> Group:
        """Return the group, or a person's own namespace, with this path; the first mention makes it, and those above.

        Raise Refusal (400) for paths that GitLab would not take.
        """
        with self._lock:
            found = self.store.first(Group, path=path)
            if found is not None:
                return found
            above, _, last = path.rpartition("/")
            _check_part(last)
            if above:
                self.namespace(above)
            owner = None if above else self.identities.user(path)
            made = self.store.add(lambda fresh: Group(fresh, path, clock.now(), owner.username if owner else None))
            if not above and owner is None:
                self._make_teams(path)
            return made

    def _make_teams(self, top: str) -> None:
        self.identities.joins(top)
        for team in self.settings.teams:
            self.namespace(f"{top}/{team.path}")

    def create_project(self, path: str, default_branch: str = "main", visibility: str = "private") -> Project:
        """Make an empty project and the groups above it. Raise Refusal (400) for paths that are taken or cannot be."""
        namespace, _, name = path.rpartition("/")
        if not namespace:
            raise invalid("namespace", "can't be blank")
        if namespace.partition("/")[0] in RESERVED:
            raise invalid("namespace", "is not valid")
        _check_part(name)
        with self._lock:
            if self.project(path) or self.group(path):
                raise invalid("path", "has already been taken")
            self.namespace(namespace)
            BareRepository.create(self._path(path), default_branch, "refs/merge-requests")
            protection.install(self._path(path))
            time = clock.now()
            return self.store.add(lambda fresh: Project(fresh, path, default_branch, time, time, visibility))

    def fork(self, project: Project, user: User) -> Project:
        """Make somebody's fork of a project, with all its branches and tags. Raise Refusal (409) when they have one."""
        path = f"{user.username}/{project.name}"
        if self.project(path):
            raise Refusal(409, {"message": {"name": ["has already been taken"], "path": ["has already been taken"]}})
        made = self.create_project(path, project.default_branch, project.visibility)
        self.copy(project, made)
        return self.store.change(Project, made.id, lambda old: replace(old, forked_from=project.repository))

    def sees(self, user: User | None, project: Project) -> bool:
        """Tell whether somebody may know that a project is there."""
        if project.visibility == "public":
            return True
        if user is None:
            return False
        return project.visibility == "internal" or self.identities.level(user.username, project.repository) > 0

    def may_push(self, user: User, project: Project, ref: str) -> bool:
        """Tell whether somebody may move a ref: developers all but the protected default branch."""
        level = self.identities.level(user.username, project.repository)
        needed = (project.push_level or NOBODY) if ref == self.protected_ref(project) else DEVELOPER
        return level >= needed

    def protected_ref(self, project: Project) -> str | None:
        """Return the ref that is protected: the default branch, once it is there."""
        there = project.default_branch in self.git(project).branches()
        return f"refs/heads/{project.default_branch}" if there else None


def _check_part(part: str) -> None:
    if not _PART.fullmatch(part) or part.endswith(_ENDINGS):
        why = (
            "can only include non-accented letters, digits, '_', '-' and '.'. "
            "It must not start with '-', '_', or '.', nor end with '-', '_', '.', '.git', or '.atom'."
        )
        raise invalid("path", why)
