"""From Terrateam's .terrateam/config.yml: most keys mean the same. Where defaults differ, they are written out."""

from __future__ import annotations

from typing import Any

from cli.converting.draft import Draft, Path
from tidegate.config.document import KEY, Document

_HERE, _DIR = "${DIR}/", "**/"
_ALL_AT_ONCE = "roots that do not wait for each other run at once"
_RIGHTS = "runners have the engine's role; let the provider assume another one, or set what it reads by a step env"
_AS_A_PROGRAM = "run the program by a step run"
#: What there is in place of keys and kinds of steps that only Terrateam has.
_INSTEAD = {
    "apply_force": "--force needs the right apply, and is audited",
    "autoapply": "a merge deploys, and plan_review: never, or auto_apply of a stack, lets it do so unasked",
    "automerge": "people merge, and that deploys; with apply: in_pull_request, merge_after_apply merges",
    "autoplan_draft_pr": "pull_requests: {drafts: false} leaves drafts alone",
    "batch_runs": _ALL_AT_ONCE,
    "checkout_strategy": "pull_requests: {checkout: …} says what is planned",
    "checkov": _AS_A_PROGRAM,
    "config_builder": "write the file out",
    "conftest": "policies, or a step run, judge plans",
    "cost_estimation": _AS_A_PROGRAM,
    "create_and_select_workspace": "the root's workspace is always selected, and its first deploy makes it",
    "indexer": "modules that a root uses are found without it",
    "integrations": "deployments are told on the event bus",
    "lock_branch_target": "a root has one lock, whatever the branch",
    "lock_policy": "deploys by hand lock the root until it is unlocked",
    "notifications": "deployments are told on the event bus",
    "oidc": _RIGHTS,
    "opa": "policies, or a step run, judge plans",
    "parallel_runs": _ALL_AT_ONCE,
    "retry": "an apply is never tried again by itself",
    "runs_on": "each job has a Fargate task of its own",
    "slack": "deployments are told on the event bus",
    "storage": "plans are kept in Tidegate's bucket",
    "tree_builder": "write the directories out",
}


def draft_of(document: Document) -> Draft:
    """Return the draft of what a file of Terrateam says."""
    draft = Draft(content={"version": "1", **document.content}, instead=_INSTEAD)
    draft.lines = {path: place[0] for path, place in document.places.items() if not path or path[-1] != KEY}
    draft.lines |= {path[:-1]: place[0] for path, place in document.places.items() if path and path[-1] == KEY}
    content = draft.content
    content["version"] = "1"
    if content.pop("enabled", "true") == "false":
        draft.leave_out(draft.line_of(("enabled",)), "enabled: false: Tidegate is turned off by uninstalling its App.")
    _default_version(draft)
    _drift(draft)
    _patterns(draft, content.get("when_modified"), ("when_modified",), None)
    if isinstance(content.get("dirs"), dict):
        _directories(draft, content["dirs"])
    _requirements(draft)
    return draft


def _default_version(draft: Draft) -> None:
    """Let the engine have the version, unless the file says otherwise of the engine."""
    version = draft.content.pop("default_tf_version", None)
    if version is None:
        return
    line = draft.line_of(("default_tf_version",))
    engine = draft.content.setdefault("engine", {})
    is_free = isinstance(engine, dict) and not engine.keys() & {"version", "tf_version"}
    if not is_free or engine.get("name", "terraform") != "terraform":
        draft.leave_out(line, "default_tf_version: what engine says counts in its place.")
        return
    engine["version"] = version
    draft.lines["engine", "version"] = line


def _drift(draft: Draft) -> None:
    """Turn the one schedule without a name into one with a name. Terrateam looks only where drift is enabled."""
    drift = draft.content.get("drift")
    if not isinstance(drift, dict):
        return
    drift.setdefault("enabled", "false")
    single = [key for key in ("tag_query", "schedule", "reconcile", "window") if key in drift]
    if "schedule" not in single or "schedules" in drift:
        return
    schedule = {"tag_query": "", **{key: drift.pop(key) for key in single}}
    drift["schedules"] = {"default": schedule}
    draft.lines["drift", "schedules"] = draft.line_of(("drift", "schedule"))
    draft.lines |= {("drift", "schedules", "default", key): draft.line_of(("drift", key)) for key in single}


def _directories(draft: Draft, dirs: dict[str, Any]) -> None:
    """Take globs of files as globs of their directories, and patterns relative to each directory."""
    for written, section in list(dirs.items()):
        place = _directory(written)
        if place != written:
            _rename(draft, dirs, written, place)
        if not isinstance(section, dict):
            continue
        _patterns(draft, section.get("when_modified"), ("dirs", place, "when_modified"), place)
        spaces = section.get("workspaces")
        for name, inner in spaces.items() if isinstance(spaces, dict) else ():
            if isinstance(inner, dict):
                path = ("dirs", place, "workspaces", name, "when_modified")
                _patterns(draft, inner.get("when_modified"), path, place)


def _directory(written: str) -> str:
    """Return the directories of the files that a glob means: Tidegate's globs mean directories."""
    if "*" not in written:
        return written.rstrip("/") or "."
    above, _, last = written.rpartition("/")
    return written if last == "**" else above or "."


def _rename(draft: Draft, dirs: dict[str, Any], old: str, new: str) -> None:
    line = draft.line_of(("dirs", old))
    if new in dirs:
        draft.leave_out(line, f"dirs.{old}: Tidegate's globs mean directories, and {new} has a section already.")
        del dirs[old]
        return
    items = [(new if name == old else name, section) for name, section in dirs.items()]
    dirs.clear()
    dirs.update(items)
    moved = {("dirs", new, *path[2:]): at for path, at in draft.lines.items() if path[:2] == ("dirs", old)}
    draft.lines.update(moved)


def _patterns(draft: Draft, when: Any, path: Path, place: str | None) -> None:
    """Turn patterns from the repository's top, or from ``${DIR}``, into those from the root's directory.

    ``place`` is None for those of the whole file, whose beginning ``**/`` or ``*`` Terrateam takes as ``${DIR}/``.
    """
    if not isinstance(when, dict) or not isinstance(when.get("file_patterns"), list):
        return
    kept: list[str] = []
    for number, pattern in enumerate(when["file_patterns"]):
        if not isinstance(pattern, str) or "${WORKSPACE}" in pattern:
            text = f"{'.'.join(map(str, path))}: the pattern {pattern!r} has a meaning that Tidegate's have not."
            draft.leave_out(draft.line_of((*path, "file_patterns", number)), text)
        else:
            kept.append(_pattern(pattern, place))
    if kept or not when["file_patterns"]:  # None at all: what is there is never planned by itself.
        when["file_patterns"] = kept
    else:
        del when["file_patterns"]


def _pattern(pattern: str, place: str | None) -> str:
    sign, rest = ("!", pattern[1:]) if pattern.startswith("!") else ("", pattern)
    if place is None and not rest.startswith("${DIR}") and rest.startswith("*"):
        rest = f"{_HERE}{rest}"
    if not rest.startswith(_HERE):
        return f"{sign}/{rest}"
    inside = rest.removeprefix(_HERE)
    if inside.startswith(("../", _DIR)):
        return f"{sign}{inside}"
    return f"{sign}./{inside}"


def _requirements(draft: Draft) -> None:
    """Write out what Terrateam requires without being told: no conflicts, all checks; and no approval."""
    wanted = draft.content.get("apply_requirements")
    if not isinstance(wanted, dict):
        return
    checks = wanted.get("checks")
    if isinstance(checks, dict):
        checks = wanted["checks"] = [{"tag_query": "", **checks}]
    for check in checks if isinstance(checks, list) else ():
        if isinstance(check, dict):
            _check(check)


def _check(check: dict[str, Any]) -> None:
    for name in ("merge_conflicts", "status_checks"):
        check.setdefault(name, {"enabled": "true"})
    approved = check.get("approved")
    if isinstance(approved, dict):
        approved.setdefault("enabled", "false")
        if "count" in approved:
            approved.setdefault("any_of_count", approved.pop("count"))
