"""Which parts of a configuration run programs or grant something, and whether two versions differ there.

Everything counts except what only determines which roots exist, where they are, and their values.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Collection, Iterable, Iterator, Mapping
from dataclasses import fields, is_dataclass, replace

from tidegate.changes.rules.stack import Stack
from tidegate.config.configured import ConfiguredRoot, ConfiguredRoots
from tidegate.config.loaded import LoadedConfiguration
from tidegate.deploys.rules.workflow import WorkflowStep
from tidegate.policies.rules.files import is_below
from tidegate.policies.rules.policy_set import PolicySet, PolicySource, sets_for
from tidegate.texts.sentences import listed

#: Keys for roots, stacks, values, engines and runners.
_SHAPE = frozenset(
    {
        "aws",
        "azure",
        "declarations",
        "defaults",
        "engine",
        "engine_text",
        "globs",
        "google",
        "roots",
        "runner",
        "several",
        "stacks",
        "when_modified",
    }
)
#: The organization's keys are the same for both files; warnings decide nothing, and notifications grant nothing.
_IGNORED = frozenset({"limits", "warnings", "notifications", "undelivered"})
#: The keys of fields that are called otherwise.
_KEYS = {
    "policies": "access_control",
    "checks": "apply_requirements",
    "requirements": "apply_requirements",
    "review_rule": "plan_review",
    "branch_tags": "tags",
    "dest_branch_tags": "tags",
    "applying": "apply",
    "freezes": "freeze",
}
#: Locations in a file decide nothing.
_PLACES = frozenset({"line", "lines", "key_lines"})
#: The change if the earlier configuration is unknown.
UNKNOWN_BEFORE = ("tidegate.yaml",)
#: Roots that are named for one key, and files.
_NAMED, _FILES = 5, 10
#: Characters of a path.
_SHOWN = 200


def with_shape_of(granting: LoadedConfiguration, shaping: LoadedConfiguration) -> LoadedConfiguration:
    """Return one file's roots, stacks, variables and engines under all else that another says."""
    return replace(granting, **{name: getattr(shaping, name) for name in _SHAPE})


def rule_changes(
    before: tuple[LoadedConfiguration, ConfiguredRoots] | None,
    after: tuple[LoadedConfiguration, ConfiguredRoots],
    paths: Iterable[str],
) -> tuple[str, ...]:
    """Return the keys, keys of some roots, and files that run programs or grant something, and that changed.

    ``before`` and ``after`` are files with their roots, None for one that could not be used; ``paths`` are those of
    changed files.
    """
    if before is None:
        return UNKNOWN_BEFORE
    keys = [*dict.fromkeys((*_keys(before[0], after[0]), *_of_stacks(before[1].stacks, after[1].stacks)))]
    return (*keys, *_of_roots(before, after, keys), *changed_files(before[0], paths))


def _keys(before: LoadedConfiguration, after: LoadedConfiguration) -> Iterator[str]:
    for each in fields(LoadedConfiguration):
        name = each.name
        if name not in _SHAPE | _IGNORED and _plain(getattr(before, name)) != _plain(getattr(after, name)):
            yield _KEYS.get(name, name)


def _plain(value: object) -> object:
    """Return what a part of a file says, wherever it stands there."""
    if is_dataclass(value):
        shown = [each.name for each in fields(value) if each.compare and each.name not in _PLACES]
        return type(value), tuple(_plain(getattr(value, name)) for name in shown)
    return tuple(map(_plain, value)) if isinstance(value, tuple) else value


def _of_stacks(before: Mapping[str, Stack], after: Mapping[str, Stack]) -> Iterator[str]:
    """Yield the key of stacks if the rules of one that was there are other ones, or it is gone with its rules."""
    if any(_rules(stack) != _rules(after.get(name, Stack(name))) for name, stack in before.items()):
        yield "stacks"


def _rules(stack: Stack) -> object:
    between = stack.apply_after, stack.plan_after, stack.modified_by, stack.environments
    return between, stack.auto_apply, stack.wave, stack.soak, stack.protected


def _of_roots(
    before: tuple[LoadedConfiguration, ConfiguredRoots],
    after: tuple[LoadedConfiguration, ConfiguredRoots],
    known: Collection[str],
) -> Iterator[str]:
    """Yield keys that say something else of roots than before, although they are the same, with these roots."""
    found: dict[str, list[str]] = defaultdict(list)
    earlier = _Earlier(*before)
    for name, each in sorted(_by_identity(after[1].roots).items()):
        now = [_said(after[0], one) for one in each]
        for key in earlier.differing(each[0], now):
            if key not in known:
                found[key].append(name[0])
    for key, names in found.items():
        yield f"{key} of {listed([*dict.fromkeys(names)], _NAMED)}"


class _Earlier:
    """The roots of the earlier file, as those that a later root was."""

    def __init__(self, loaded: LoadedConfiguration, configured: ConfiguredRoots) -> None:
        self._loaded = loaded
        self._same = _by_identity(configured.roots)
        self._accounts: dict[str, set[object]] = defaultdict(set)
        for each in configured.roots:
            for key, who in each.accounts.items():
                self._accounts[key].add(who)
        self._alike: dict[object, list[ConfiguredRoot]] = defaultdict(list)
        for each in configured.roots:
            for alike in (each.root.name, (each.root.dir, each.root.workspace)):
                self._alike[alike].append(each)

    def differing(self, each: ConfiguredRoot, now: Iterable[Mapping[str, object]]) -> Iterator[str]:
        """Yield the keys by which a root has other rules ``now`` in its stacks.

        One with the name or in the place of an earlier one is that, renamed or moved. One that is new may not wait for
        fewer people than the file says in general, nor work with roles that no root had before.
        """
        root, now = each.root, list(now)
        alike = (*self._alike[root.name], *self._alike[root.dir, root.workspace])
        same = self._same.get(_identity(each)) or list(alike)
        if not same:
            general = self._loaded.review_rule
            yield from ["plan_review"] if each.review_rule.and_also(general) != each.review_rule else []
            yield from (key for key, who in each.accounts.items() if who and who not in self._accounts[key])
            return
        then = [_said(self._loaded, one) for one in same]
        for key in then[0]:
            if {one[key] for one in then} != {one[key] for one in now}:
                yield key


def _said(loaded: LoadedConfiguration, each: ConfiguredRoot) -> Mapping[str, object]:
    return {
        "access_control": each.access,
        **each.accounts,
        "plan_review": each.review_rule,
        "apply_requirements": loaded.required_of(each.tagged),
        "policy_sets": sets_for(loaded.policy_sets, each.tagged),
        "workflows": each.workflow,
        "freeze": tuple(window for window in loaded.freezes if window.matches(each.tagged)),
    }


def _by_identity(roots: Iterable[ConfiguredRoot]) -> dict[tuple[str, str, str], list[ConfiguredRoot]]:
    found: dict[tuple[str, str, str], list[ConfiguredRoot]] = {}
    for each in roots:
        found.setdefault(_identity(each), []).append(each)
    return found


def _identity(each: ConfiguredRoot) -> tuple[str, str, str]:
    return each.root.name, each.root.dir, each.root.workspace


def changed_files(loaded: LoadedConfiguration, paths: Iterable[str]) -> tuple[str, ...]:
    """Return which of some changed files policy sets are made of, or programs of steps: the first of them."""
    sets, words = _policy_paths(loaded.policy_sets), {*_words(_steps(loaded))}
    if not (sets or words):
        return ()
    found = [path for path in paths if any(is_below(path, above) for above in sets) or _is_named(path, words)]
    more = len(found) - _FILES
    return (*map(_shown, found[:_FILES]), *([f"{more} more files"] if more > 0 else []))


def _shown(path: str) -> str:
    """Return a path as part of a record: of bytes that are no text, and of very many characters, it shows some."""
    whole = path.encode(errors="replace").decode()
    return whole if len(whole) <= _SHOWN else f"{whole[:_SHOWN]}…"


def _policy_paths(sets: Iterable[PolicySet]) -> list[str]:
    return [path for each in sets if each.source is PolicySource.REPOSITORY for path in each.paths]


def _steps(loaded: LoadedConfiguration) -> Iterator[WorkflowStep]:
    for workflow in loaded.workflows:
        yield from (*(workflow.plan or ()), *(workflow.apply or ()))
    hooks = loaded.hooks
    yield from (*hooks.plan_before, *hooks.plan_after, *hooks.apply_before, *hooks.apply_after)


def _words(steps: Iterable[WorkflowStep]) -> Iterator[str]:
    """Yield the words of programs that can be paths, without where they start."""
    for step in steps:
        for word in step.command:
            parts = [part for part in word.split("/") if part not in {"", ".", ".."}]
            if "/" in word and parts:
                yield "/".join(parts)


def _is_named(path: str, words: Collection[str]) -> bool:
    """Tell whether a path ends with one of the words: steps run in the directories of roots."""
    parts = path.split("/")
    return any("/".join(parts[start:]) in words for start in range(len(parts)))
