"""Store the default branch's policy sets for roots of a pull request.

Idempotent.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from hashlib import sha256

from tidegate.changes.rules.change_set import Key
from tidegate.discovery.repository_source import Granted, fetch_commit
from tidegate.discovery.root_index import Deployable
from tidegate.policies.rules.files import MAXIMUM_FILE, ORGANIZATION, is_below, is_policy_file, packed, problem_with
from tidegate.policies.rules.policy import PolicySetStatus
from tidegate.policies.rules.policy_set import PolicySet, PolicySource, sets_for
from tidegate.ports import Ports, PushedTrees
from tidegate.roots.rules.root import Root
from tidegate.roots.rules.terms import Tagged
from tidegate.vcs.rules.pull_request import PullRequestSpec


def save_policies_of_pull_request(
    ports: Ports, spec: PullRequestSpec, granted: Granted, members: Sequence[Deployable]
) -> Mapping[Key, tuple[PolicySetStatus, ...]]:
    """Return the policy sets of each member of a pull request, as ``save_policies``."""
    return save_policies(ports, spec.repository, granted, members)


def save_policies(
    ports: Ports, repository: str, granted: Granted, members: Sequence[Deployable]
) -> Mapping[Key, tuple[PolicySetStatus, ...]]:
    """Return the policy sets of each member, by root and stack. Raise as ``fetch_commit`` does.

    A root that the default branch does not have, by name and location, may be any of its roots, renamed: every set
    applies to it, so that a pull request cannot bypass any. A root with other tags after the merge has the sets of
    both.
    """
    sets = {each.name: each for each in granted.configuration.policy_sets}
    known = {_identity(root) for root in granted.roots}
    names = {
        each.member.key: _sets_for(sets, (each.configured.tagged, *granted.tagged.get(each.member.key, ())))
        if _identity(each.member.root) in known
        else tuple(sets)
        for each in members
    }
    wanted = [sets[name] for name in dict.fromkeys(name for held in names.values() for name in held)]
    stored = _stored(ports, repository, granted, wanted) if wanted else {}
    return {key: tuple(stored[name] for name in held) for key, held in names.items()}


def _stored(
    ports: Ports, repository: str, granted: Granted, wanted: Sequence[PolicySet]
) -> Mapping[str, PolicySetStatus]:
    if all(each.source is PolicySource.ORGANIZATION for each in wanted):
        return store_policies(ports, None, wanted)
    with fetch_commit(ports, repository, granted.commit) as trees:
        return store_policies(ports, trees, wanted)


def store_policies(ports: Ports, trees: PushedTrees | None, sets: Iterable[PolicySet]) -> Mapping[str, PolicySetStatus]:
    """Store the sets' files from the default branch's ``trees``; return the sets by name.

    A set without files, or that is too large, has a problem, and fails for every plan.
    """
    sets = tuple(sets)
    own = [each for each in sets if each.source is PolicySource.REPOSITORY]
    found = _files(trees, own) if trees else {}
    found |= {each.name: _of_organization(ports, each) for each in sets if each not in own}
    return {each.name: _held(ports, each, found.get(each.name, {})) for each in sets}


def _of_organization(ports: Ports, policy_set: PolicySet) -> dict[str, bytes | None]:
    place = f"{ORGANIZATION}{policy_set.name}/"
    files = ports.organization_policies.read(policy_set.name)
    return {place + path: content for path, content in files.items() if is_policy_file(path)}


def _held(ports: Ports, policy_set: PolicySet, files: Mapping[str, bytes | None]) -> PolicySetStatus:
    key, digest = "", ""
    problem = _problem(policy_set, files)
    if not problem:
        key, content = packed({path: content for path, content in files.items() if content is not None})
        digest = sha256(content).hexdigest()
        ports.artifacts.put(key, content)
    return PolicySetStatus(
        policy_set.name, key, digest, policy_set.owners, policy_set.approvals, policy_set.namespaces, problem
    )


def _sets_for(sets: Mapping[str, PolicySet], tagged: Iterable[Tagged]) -> tuple[str, ...]:
    """Return the sets for a root with any of its tags, in the order of the file."""
    holding = {name for tags in tagged for name in sets_for(sets.values(), tags)}
    return tuple(name for name in sets if name in holding)


def _problem(policy_set: PolicySet, files: Mapping[str, bytes | None]) -> str:
    whole = {path: content for path, content in files.items() if content is not None}
    cut = next((path for path, content in files.items() if content is None), "")
    if cut:
        return f"{cut} is larger than {MAXIMUM_FILE >> 20} MiB."
    problem = problem_with(whole)
    if not problem:
        return ""
    if policy_set.paths:
        return (
            f"{problem} Tidegate reads its files from {', '.join(policy_set.paths)} on the default branch. Correct "
            "`paths` in tidegate.yaml there, or add the files."
        )
    return f"{problem} Operators store its files under {ORGANIZATION}{policy_set.name}/ in the artifact bucket."


def _files(trees: PushedTrees, sets: Iterable[PolicySet]) -> dict[str, dict[str, bytes | None]]:
    """Return the files of each set, read in one request. A file that is too large has no content."""
    chosen = {
        each.name: {
            path: content
            for path, content in trees.files.items()
            if is_policy_file(path) and path.isprintable() and any(is_below(path, above) for above in each.paths)
        }
        for each in sets
    }
    contents = trees.read({content for files in chosen.values() for content in files.values()})
    return {
        name: {path: contents[content] or _empty(content) for path, content in files.items()}
        for name, files in chosen.items()
    }


def _empty(content: str) -> bytes | None:
    """Tell what empty content stands for: an empty file, or one that was too large to read."""
    return b"" if content in _EMPTY_FILES else None


#: The ids that git gives a file without a byte.
_EMPTY_FILES = frozenset(
    {
        "e69de29bb2d1d6434b8b29ae775ad8c2e48c5391",
        "473a0f4c3be8a93681a267e3b1e9a7dcda1185436fe141f7749120a303721813",
    }
)


def _identity(root: Root) -> tuple[str, str, str]:
    return root.name, root.dir, root.workspace
