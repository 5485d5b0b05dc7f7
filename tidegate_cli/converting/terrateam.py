"""From Terrateam's .terrateam/config.yml: most keys mean the same. Where defaults differ, they are written out."""

from __future__ import annotations

import copy
import re
from collections.abc import Iterator
from typing import Any

from tidegate.documents.document import Document, Path
from tidegate_cli.converting import lua, shell
from tidegate_cli.converting.draft import Draft
from tidegate_cli.converting.ledger import Ledger
from tidegate_cli.converting.terrateam_keys import HARMLESS, INSTEAD, NOTHING_SAID

_HERE = "${DIR}/"
_MERGES = {"auto": "true", "merge": "merge", "rebase": "rebase", "squash": "squash"}


def draft_of(document: Document) -> Draft:
    """Return the draft of what a file of Terrateam says."""
    content = {"version": "1", **copy.deepcopy(document.content)}
    draft = Draft(Ledger(document), content=content, origins={(): ()}, harmless=HARMLESS, instead=INSTEAD)
    draft.ledger.kept(())
    content["version"] = "1"
    if content.pop("enabled", "true") != "true":
        draft.ledger.lost(("enabled",), "enabled: uninstall the App to turn Tidegate off.")
    _without_what_says_nothing(draft, content, ())
    _default_version(draft)
    _drift(draft)
    _when(draft)
    _patterns(draft, content.get("when_modified"), ("when_modified",), None)
    if isinstance(content.get("dirs"), dict):
        _directories(draft, content["dirs"])
    _checkout(draft)
    _access(draft)
    _apply(draft)
    _branch_tags(draft)
    _programs(draft)
    return draft


def _without_what_says_nothing(draft: Draft, value: Any, path: Path) -> None:
    for key, item in list(value.items() if isinstance(value, dict) else enumerate(value)):
        if isinstance(value, dict) and item in NOTHING_SAID.get(key, ()):
            draft.ledger.dropped((*path, key), f"{key}: this is the default.")
            del value[key]
        elif isinstance(item, dict | list) and not (path and path[-1] == "env"):
            _without_what_says_nothing(draft, item, (*path, key))


def _default_version(draft: Draft) -> None:
    """Let the engine have the version, unless the file says otherwise of the engine."""
    version = draft.content.pop("default_tf_version", None)
    if version is None:
        return
    engine = draft.content.setdefault("engine", {})
    is_free = isinstance(engine, dict) and not engine.keys() & {"version", "tf_version"}
    if not is_free or engine.get("name", "terraform") != "terraform":
        draft.ledger.dropped(("default_tf_version",), "default_tf_version: engine overrides it.")
        return
    engine["version"] = version
    draft.origins["engine", "version"] = ("default_tf_version",)
    draft.ledger.changed(("default_tf_version",), "default_tf_version: it is now engine.version.")


def _drift(draft: Draft) -> None:
    """Turn the one schedule without a name into one with a name. Terrateam looks only where drift is enabled."""
    drift = draft.content.get("drift")
    if not isinstance(drift, dict):
        return
    drift.setdefault("enabled", "false")
    single = [key for key in ("tag_query", "schedule", "reconcile", "window") if key in drift]
    if "schedule" not in single or "schedules" in drift:
        return
    drift["schedules"] = {"default": {"tag_query": "", **{key: drift.pop(key) for key in single}}}
    draft.origins |= {("drift", "schedules", "default", key): ("drift", key) for key in single}
    draft.ledger.changed(("drift", "schedule"), "drift.schedule: it is now drift.schedules.default.")


def _when(draft: Draft) -> None:
    """Take out of the file's ``when_modified`` what is a key of its own here."""
    when = draft.content.get("when_modified")
    if not isinstance(when, dict):
        return
    if when.pop("autoplan_draft_pr", "true") == "false":
        _under(draft, "pull_requests", "drafts", "false")
        draft.ledger.changed(("when_modified", "autoplan_draft_pr"), "autoplan_draft_pr: pull_requests.drafts: false.")


def _under(draft: Draft, section: str, key: str, value: Any) -> None:
    found = draft.content.setdefault(section, {})
    if isinstance(found, dict):
        found[key] = value


def _directories(draft: Draft, dirs: dict[str, Any]) -> None:
    """Take globs of files as globs of their directories, and patterns relative to each directory."""
    for written, section in list(dirs.items()):
        place = _directory(written)
        if place != written and not _renamed(draft, dirs, written, place):
            continue
        if not isinstance(section, dict):
            continue
        _patterns(draft, section.get("when_modified"), ("dirs", written, "when_modified"), place)
        spaces = section.get("workspaces")
        for name, inner in spaces.items() if isinstance(spaces, dict) else ():
            if isinstance(inner, dict):
                path = ("dirs", written, "workspaces", name, "when_modified")
                _patterns(draft, inner.get("when_modified"), path, place, name)
    if "**" not in dirs:
        dirs["**"] = {"root": "true"}
        text = "dirs: added '**', because directories that dirs does not name are roots, too."
        draft.ledger.changed(("dirs",), text)


def _directory(written: str) -> str:
    """Return the directories of the files that a glob means: Tidegate's globs mean directories."""
    written = written.lstrip("/")
    if "*" not in written:
        return written.rstrip("/") or "."
    above, _, last = written.rpartition("/")
    return written if last == "**" else above or "."


def _renamed(draft: Draft, dirs: dict[str, Any], old: str, new: str) -> bool:
    path = ("dirs", old)
    if new in dirs:
        text = f"{old}: Tidegate's patterns match directories, and {new} already has a section."
        draft.ledger.lost(path, text, "dirs")
        del dirs[old]
        return False
    items = [(new if name == old else name, section) for name, section in dirs.items()]
    dirs.clear()
    dirs.update(items)
    draft.origins["dirs", new] = path
    draft.ledger.changed(path, f"{old}: it is now the directory {new}.")
    return True


def _patterns(draft: Draft, when: Any, path: Path, place: str | None, workspace: str | None = None) -> None:
    """Turn patterns from the repository's top, or from ``${DIR}``, into those from the root's directory.

    ``place`` is None for those of the whole file, whose beginning ``**/`` or ``*`` Terrateam takes as ``${DIR}/``.
    """
    if not isinstance(when, dict) or not isinstance(when.get("file_patterns"), list):
        return
    made: list[Any] = []
    for number, pattern in enumerate(when["file_patterns"]):
        at = (*path, "file_patterns", number)
        if not isinstance(pattern, str):
            made.append(pattern)
            continue
        in_space = pattern.replace("${WORKSPACE}", "*" if workspace is None else workspace)
        if in_space != pattern and workspace is None and pattern.startswith("!"):
            draft.ledger.lost(
                at, f"{pattern}: patterns do not match workspaces, and an exception for all workspaces is too broad."
            )
        made.append(_pattern(in_space, place))
        if made[-1] != pattern:
            draft.ledger.changed(at, f"{pattern} is {made[-1]}.")
    when["file_patterns"] = made


def _pattern(pattern: str, place: str | None) -> str:
    sign, rest = ("!", pattern[1:]) if pattern.startswith("!") else ("", pattern)
    if place is None and not rest.startswith("${DIR}") and rest.startswith("*"):
        rest = f"{_HERE}{rest}"
    if not rest.startswith(_HERE):
        return f"{sign}/{rest.lstrip('/')}"
    return f"{sign}{rest.removeprefix(_HERE)}"


def _checkout(draft: Draft) -> None:
    checkout = draft.content.pop("checkout_strategy", None)
    if isinstance(checkout, dict):
        checkout = checkout.get("method")
    if checkout in ("merge", "branch"):
        _under(draft, "pull_requests", "checkout", checkout)
        draft.ledger.changed(("checkout_strategy",), f"checkout_strategy: now pull_requests.checkout: {checkout}.")
    elif checkout is not None:
        draft.ledger.lost(("checkout_strategy",), "checkout_strategy: pull_requests.checkout is merge or branch.")


def _access(draft: Draft) -> None:
    """Give each policy what Terrateam says of all: who may unlock. Without policies, there is one for all roots."""
    access = draft.content.get("access_control")
    if not isinstance(access, dict):
        return
    path: Path = ("access_control",)
    unlock = access.pop("unlock", None)
    if access.get("policies") is None and access.get("enabled", "true") == "true":
        access["policies"] = [{"tag_query": ""}]
        draft.origins[*path, "policies"] = path
    policies = access.get("policies")
    if not isinstance(policies, list):
        if unlock is not None:
            draft.ledger.lost((*path, "unlock"), "unlock: it belongs to policies, which are unreadable.")
        return
    for number, policy in enumerate(policies):
        if not isinstance(policy, dict):
            continue
        if unlock is not None:
            policy["unlock"] = copy.deepcopy(unlock)
            draft.origins[*path, "policies", number, "unlock"] = (*path, "unlock")
        _roles(policy)
        _forced(draft, policy, (*path, "policies", number))
    if unlock is not None:
        draft.ledger.changed((*path, "unlock"), "unlock: each policy has its own unlock.")


def _roles(policy: dict[str, Any]) -> None:
    """Write roles as they are written today."""
    for key, people in policy.items():
        if isinstance(people, list):
            policy[key] = [re.sub("^repo:", "role:", each) if isinstance(each, str) else each for each in people]


def _forced(draft: Draft, policy: dict[str, Any], path: Path) -> None:
    """Drop who may force, if those may apply, too, who alone may force here."""
    if "apply_force" in policy and policy["apply_force"] == policy.get("apply", ["*"]):
        del policy["apply_force"]
        draft.ledger.dropped(
            (*path, "apply_force"), "apply_force: everybody who may apply may force. Tidegate audits it."
        )


def _apply(draft: Draft) -> None:
    """Say when changes are applied: in pull requests, unless all of them are once they are merged."""
    content, when = draft.content, draft.content.get("when_modified")
    merges = _merges(draft, content.pop("automerge", None))
    on_merge = isinstance(when, dict) and when.pop("autoapply", None) == "true"
    checks = _requirements(draft)
    after = [each.pop("apply_after_merge", None) for each in checks] if _all_after_merge(checks) else []
    if on_merge:
        content["plan_review"] = content.get("plan_review", "manual")
        text = "autoapply: it is now apply: on_merge with plan_review: manual, so that plans do not wait for a review."
        draft.ledger.changed(("when_modified", "autoapply"), text)
    for number, _ in enumerate(after):
        text = "apply_after_merge: it is now apply: on_merge."
        draft.ledger.changed(("apply_requirements", "checks", number, "apply_after_merge"), text)
    if on_merge or after:
        content["apply"] = "on_merge"
        return
    content["apply"] = "in_pull_request"
    if merges:
        content["merge_after_apply"] = merges
    for each in checks:
        each.setdefault("undiverged", {"enabled": "false"})
    text = "apply: in_pull_request is written, because Terrateam applies before the merge: comment tidegate apply."
    draft.ledger.changed((), text)


def _all_after_merge(checks: list[dict[str, Any]]) -> bool:
    found = [each.get("apply_after_merge") for each in checks]
    return bool(found) and all(each == {"enabled": "true"} for each in found)


def _merges(draft: Draft, automerge: Any) -> str:
    if not isinstance(automerge, dict):
        if automerge is not None:
            draft.ledger.lost(("automerge",), "automerge: its value is invalid.")
        return ""
    if automerge.get("enabled") != "true":
        draft.ledger.dropped(("automerge",), "automerge: it is off, so people merge.")
        return ""
    way = _MERGES.get(str(automerge.get("merge_strategy", "auto")), "true")
    text = f"automerge: it is now merge_after_apply: {way}. The App needs Contents: write."
    draft.ledger.changed(("automerge",), text)
    return way


def _requirements(draft: Draft) -> list[dict[str, Any]]:
    """Write out what Terrateam requires without being told: no conflicts, all checks; and no approval."""
    wanted = draft.content.setdefault("apply_requirements", {})
    if wanted is None:
        wanted = draft.content["apply_requirements"] = {}
    if not isinstance(wanted, dict):
        return []
    checks = wanted.get("checks")
    if isinstance(checks, dict):
        checks = wanted["checks"] = [{"tag_query": "", **checks}]
        draft.origins["apply_requirements", "checks", 0] = ("apply_requirements", "checks")
    if checks is None:
        checks = wanted["checks"] = [{"tag_query": ""}]
        draft.origins["apply_requirements", "checks", 0] = ("apply_requirements",)
    found = [each for each in checks if isinstance(each, dict)] if isinstance(checks, list) else []
    for check in found:
        _check(check)
    for number, check in enumerate(checks if isinstance(checks, list) else ()):
        _ignored_checks(draft, ("apply_requirements", "checks", number, "status_checks", "ignore_matching"), check)
    return found


def _check(check: dict[str, Any]) -> None:
    for name in ("merge_conflicts", "status_checks"):
        check.setdefault(name, {"enabled": "true"})
    approved = check.get("approved")
    if isinstance(approved, dict):
        approved.setdefault("enabled", "false")
        if "count" in approved:
            approved.setdefault("any_of_count", approved.pop("count"))


def _ignored_checks(draft: Draft, path: Path, check: object) -> None:
    """Turn Lua's patterns of checks into globs. One that no glob can say would ignore others: it ignores none."""
    wanted = check.get("status_checks") if isinstance(check, dict) else None
    patterns = wanted.get("ignore_matching") if isinstance(wanted, dict) else None
    if not isinstance(wanted, dict) or not isinstance(patterns, list | str):
        return
    made: list[Any] = []
    origin, is_one = draft.origin(path), isinstance(patterns, str)
    for number, pattern in enumerate([patterns] if is_one else patterns):
        at = origin if is_one else (*origin, number)
        found = lua.glob(pattern) if isinstance(pattern, str) else pattern
        if found is None:
            draft.ledger.lost(at, f"{pattern}: no glob matches this: list the names under ignore_matching.")
            continue
        if found != pattern:
            text = f"ignore_matching: {pattern} becomes {found}: it matches whole names; * is any text, ? a character."
            draft.ledger.changed(at, text)
        draft.origins[*path, len(made)] = at
        made.append(found)
    wanted["ignore_matching"] = made


def _branch_tags(draft: Draft) -> None:
    """Turn Lua's patterns of branches into regular expressions."""
    tags = draft.content.get("tags")
    for key, patterns in tags.items() if isinstance(tags, dict) else ():
        for name, pattern in patterns.items() if isinstance(patterns, dict) else ():
            if not isinstance(pattern, str):
                continue
            found = lua.expression(pattern)
            if found is None:
                why = "its character classes have no direct equivalent: write a regular expression."
                draft.ledger.lost(("tags", key, name), f"{pattern}: {why}")
            elif found != pattern:
                patterns[name] = found
                draft.ledger.changed(("tags", key, name), f"{pattern} is {found}.")


def _programs(draft: Draft) -> None:
    """Call variables in commands and options as Tidegate does, and tell of those that nothing sets."""
    steps = [each for name in ("workflows", "hooks") for each in _steps(draft.content.get(name), (name,))]
    known = {str(step.get("name")) for step, _ in steps if step.get("type") == "env"}
    known |= {"*"} if any(step.get("method") == "source" for step, _ in steps) else set()
    for step, path in steps:
        own = step.get("env")
        for key in ("cmd", "extra_args"):
            _words(draft, step, (*path, key), known | set(own if isinstance(own, dict) else ()))
    if draft.content.get("hooks"):
        draft.ledger.changed(("hooks",), "hooks: they run for each root in its directory, not once for all roots.")


def _steps(value: Any, path: Path) -> Iterator[tuple[dict[str, Any], Path]]:
    if isinstance(value, dict) and "type" in value:
        yield value, path
    for key, item in value.items() if isinstance(value, dict) else enumerate(value) if isinstance(value, list) else ():
        yield from _steps(item, (*path, key))


def _words(draft: Draft, step: dict[str, Any], path: Path, known: set[str]) -> None:
    """Rename variables in words. One that nothing sets fails the step, there and here; but CI may have set it."""
    words = step.get(str(path[-1]))
    if not isinstance(words, list):
        return
    for number, word in enumerate(words):
        if not isinstance(word, str):
            continue
        for name in () if "*" in known else shell.TERRATEAM.lacking_in_option(word, known):
            text = f"${name} has no equivalent, so nothing sets it. docs/workflows.md lists all variables."
            draft.ledger.lost((*path, number), text, f"{path[0]}.{name}")
        words[number] = shell.TERRATEAM.option(word)
