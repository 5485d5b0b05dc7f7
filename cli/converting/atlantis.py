"""From Atlantis's atlantis.yaml: projects become roots, their workflows and requirements are asked for by tags."""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping
from typing import Any

from cli.converting import shell
from cli.converting.draft import Draft, Path, Whole
from tidegate.config.document import KEY, Document
from tidegate.domain.deploys.workflow_rules import escaped
from tidegate.domain.errors import InvalidConfiguration

_EXACT = re.compile(r"v?([0-9]+\.[0-9]+\.[0-9]+)")
#: Keys of a project that are carried over below.
_CARRIED = frozenset(
    {
        "name",
        "dir",
        "workspace",
        "autoplan",
        "workflow",
        "terraform_version",
        "terraform_distribution",
        "apply_requirements",
        "depends_on",
    }
)
_AT_ONCE = "it is always so: roots that do not wait for each other run at once"
_POLICIES = "plans are held against policy_sets in place of it; docs/policies.md says how"
_DELETED = "set on the forge that head branches are deleted once they are merged"
_WHY = {
    "abort_on_execution_order_fail": "it is always so: what waits for a root that failed is blocked",
    "allowed_regexp_prefixes": "tidegate plan takes a tag query, as dir:dev/**, in place of -p with a pattern",
    "autodiscover": "dirs says which roots there are; a key such as live/* is every root module that fits",
    "automerge": "merge_after_apply takes true, false and ways to merge",
    "branch": "destination_branches names the branches whose pull requests are planned",
    "custom_policy_check": _POLICIES,
    "delete_source_branch_on_merge": _DELETED,
    "execution_order_group": "Tidegate orders roots by depends_on and by gates between stacks",
    "import_requirements": "Tidegate does not import",
    "parallel_apply": _AT_ONCE,
    "parallel_plan": _AT_ONCE,
    "plan_requirements": "every pull request is planned at once",
    "policy_check": _POLICIES,
    "repo_locks": "the queues of roots are locked from tidegate apply until the merge",
    "version": "it is that of Atlantis's format",
}
#: What is said of a requirement that is not carried over.
_WHY_NOT_REQUIRED = {"policies_passed": "it is always required, by each of policy_sets; docs/policies.md says how"}
_NONE_REQUIRED = (
    "no project has any, so what Tidegate requires by itself counts: an approval, no conflict, and the newest commit "
    "of the base branch. Write down what the server's configuration requires."
)
_REQUIREMENTS = frozenset({"approved", "mergeable", "undiverged"})
_STEPS = frozenset({"init", "plan", "apply"})
_PLAINLY = "planned and applied by the engine's plain init, plan and apply"
_FLAGS = ("true", "false")
_TEXTS = ("dir", "name", "workspace", "workflow", "terraform_version", "terraform_distribution")
_LISTS = ("apply_requirements", "depends_on")


def draft_of(document: Document) -> Draft:
    """Return the draft of what a file of Atlantis says. Raise InvalidConfiguration where it is none."""
    _check_shape(document)
    draft = Draft(content={"version": "1", "apply": "in_pull_request"})
    places = {path: place[0] for path, place in document.places.items() if KEY not in path}
    places |= {path[:-1]: place[0] for path, place in document.places.items() if path and path[-1] == KEY}
    content = document.content
    _applying(draft, places, content.get("automerge"))
    for key in content:
        if key not in {"version", "projects", "workflows"} and (key != "automerge" or content[key] not in _FLAGS):
            _unknown(draft, places[key,], key)
    named = content.get("workflows") or {}
    _Projects(draft, places, named).add(content.get("projects"))
    _Workflows(draft, places, content.get("projects") or []).add(named)
    return draft


def _applying(draft: Draft, places: Mapping[Path, int], merges: Any) -> None:
    """Tell that the file applies where Atlantis does: in the pull request."""
    text = "as Atlantis applies before the merge, upon the comment tidegate apply; without this key, a merge applies."
    draft.leave_out(places.get(("projects",), 1), f"apply: in_pull_request is written, {text}")
    if merges == "true":
        draft.content["merge_after_apply"] = "true"
        text = "automerge: it is merge_after_apply: true now, for which the App needs Contents: write."
        draft.leave_out(places["automerge",], text)


def _check_shape(document: Document) -> None:
    """Raise InvalidConfiguration for what stands where Atlantis has something else: it would mean nothing here."""
    projects, workflows = document.content.get("projects"), document.content.get("workflows")
    if not isinstance(projects, list | None):
        raise _misshapen(document, ("projects",), "a list of projects")
    if not isinstance(workflows, dict | None):
        raise _misshapen(document, ("workflows",), "workflows by their names")
    for number, project in enumerate(projects or ()):
        given = project if isinstance(project, dict) else {}
        for key in _TEXTS:
            if not isinstance(given.get(key), str | None):
                raise _misshapen(document, ("projects", number, key), "a text")
        for key in _LISTS:
            items = given.get(key)
            if not isinstance(items, list | None) or any(not isinstance(each, str) for each in items or ()):
                raise _misshapen(document, ("projects", number, key), "a list of names")


def _misshapen(document: Document, path: Path, wanted: str) -> InvalidConfiguration:
    line, column = document.places.get(path) or (1, 1)
    where = ".".join(map(str, path))
    return InvalidConfiguration(document.file, line, f"{where} cannot be read", f"Atlantis has {wanted} here", column)


def _unknown(draft: Draft, line: int, key: str, where: str = "") -> None:
    draft.leave_out(line, f"{where}{key}: {_WHY.get(key, 'Tidegate has nothing like it')}.")


class _Projects:
    """Adds a root for each project."""

    def __init__(self, draft: Draft, places: Mapping[Path, int], workflows: Mapping[str, Any]) -> None:
        self._draft, self._places, self._workflows = draft, places, workflows
        self._requirements: dict[str, tuple[str, ...]] = {}

    def add(self, projects: Any) -> None:
        roots: list[dict[str, Any]] = []
        for number, project in enumerate(projects if isinstance(projects, list) else ()):
            if isinstance(project, dict) and project.get("dir"):
                self._draft.lines["roots", len(roots)] = self._places["projects", number]
                roots.append(self._root(project, ("projects", number)))
            else:
                self._draft.leave_out(self._places["projects", number], f"projects.{number}: it has no directory.")
        if roots:
            self._draft.content["dirs"] = self._directories(roots)
        if self._requirements:
            checks = [{"tag_query": tag, **_required(wanted)} for tag, wanted in self._requirements.items()]
            rest = {"tag_query": "", **_required(())}
            self._draft.content["apply_requirements"] = {"checks": [*checks, rest]}
        else:
            self._draft.leave_out(self._places.get(("projects",), 1), f"apply_requirements: {_NONE_REQUIRED}")

    def _root(self, project: Mapping[str, Any], path: Path) -> dict[str, Any]:
        for key in project:
            if key not in _CARRIED:
                _unknown(self._draft, self._places[*path, key], key, f"project {_name(project)}: ")
        root: dict[str, Any] = {"dir": project["dir"], "workspace": project.get("workspace") or "default"}
        root["line"] = self._places[path]
        if project.get("name"):
            root["name"] = project["name"]
        tags = self._workflow(project, path)
        tags += self._requires(project.get("apply_requirements"), path)
        when = self._when(project, path)
        engine = self._engine(project, path)
        return root | ({"tags": tags} if tags else {}) | ({"when_modified": when} if when else {}) | engine

    def _workflow(self, project: Mapping[str, Any], path: Path) -> list[str]:
        name = project.get("workflow")
        if not name:
            return []
        if name not in self._workflows and name != "default":
            text = f"project {_name(project)}: workflow {name} is not in this file. "
            text += _until(name, self._workflows, "its root is")
            self._draft.leave_out(self._places[*path, "workflow"], text)
        return [f"workflow_{name}"]

    def _requires(self, wanted: Any, path: Path) -> list[str]:
        known = []
        for number, name in enumerate(wanted if isinstance(wanted, list) else ()):
            if name in _REQUIREMENTS:
                known.append(name)
            else:
                line = self._places[*path, "apply_requirements", number]
                why = _WHY_NOT_REQUIRED.get(name, "it is not known")
                self._draft.leave_out(line, f"apply_requirements: {name}: {why}.")
        if not known:
            return []
        tag = f"requires_{'_'.join(sorted(known))}"
        self._requirements[tag] = tuple(known)
        return [tag]

    def _when(self, project: Mapping[str, Any], path: Path) -> dict[str, Any]:
        plan = project.get("autoplan")
        plan = plan if isinstance(plan, dict) else {}
        when: dict[str, Any] = {}
        if plan.get("when_modified"):
            when["file_patterns"] = plan["when_modified"]
        if plan.get("enabled") == "false":
            when["autoplan"] = "false"
        if isinstance(project.get("depends_on"), list) and project["depends_on"]:
            when["depends_on"] = " or ".join(f"name:{name}" for name in project["depends_on"])
            text = "depends_on: it orders as before, and a change of what a root depends on runs the root, too."
            self._draft.leave_out(self._places[*path, "depends_on"], text)
        return when

    def _engine(self, project: Mapping[str, Any], path: Path) -> dict[str, Any]:
        name = {"opentofu": "tofu"}.get(str(project.get("terraform_distribution")), "terraform")
        engine = {"name": name} if project.get("terraform_distribution") else {}
        version = project.get("terraform_version")
        exact = _EXACT.fullmatch(str(version)) if version else None
        if exact:
            engine["version"] = exact[1]
        elif version:
            line = self._places[*path, "terraform_version"]
            self._draft.leave_out(line, f"terraform_version: {version}: Tidegate takes exact versions.")
        return {"engine": {"name": name, **engine}} if engine else {}

    def _directories(self, roots: list[dict[str, Any]]) -> dict[str, Any]:
        """Return the roots by directory and workspace; the second one at the same place is left out."""
        dirs: dict[str, Any] = {}
        taken: set[tuple[str, str]] = set()
        several = {root["dir"] for root in roots if root["workspace"] != "default"}
        for root in roots:
            place, space, line = root.pop("dir"), root.pop("workspace"), root.pop("line")
            if (place, space) in taken:
                text = f"project {root.get('name', place)}: {place} has a root in the workspace {space} already."
                self._draft.leave_out(line, text)
                continue
            taken.add((place, space))
            self._draft.lines["dirs", place] = self._draft.lines.get(("dirs", place), line)
            if place in several:
                dirs.setdefault(place, {"workspaces": {}})["workspaces"][space] = root
                self._draft.lines["dirs", place, "workspaces", space] = line
            else:
                dirs[place] = root
        return dirs


def _name(project: Mapping[str, Any]) -> str:
    return str(project.get("name") or project["dir"])


def _until(name: str, workflows: Mapping[str, Any], roots: str) -> str:
    """Return what happens to the roots of a workflow that is not carried over, as a sentence."""
    how = "planned and applied by the workflow default" if "default" in workflows else _PLAINLY
    return f"Until you write one with tag_query: workflow_{name}, {roots} {how}."


def _required(wanted: tuple[str, ...]) -> dict[str, Any]:
    """Return a check. What a pull request lacks of its base branch counts with Tidegate unless it says otherwise."""
    found: dict[str, Any] = {}
    if "approved" in wanted:
        found["approved"] = {"any_of_count": "1"}
    if "mergeable" in wanted:
        found |= {"merge_conflicts": {"enabled": "true"}, "status_checks": {"enabled": "true"}}
    return found | {"undiverged": {"enabled": "true" if "undiverged" in wanted else "false"}}


class _Workflows:
    """Adds the workflows, each for what has its tag; the one named ``default`` for all others."""

    def __init__(self, draft: Draft, places: Mapping[Path, int], projects: list[Any]) -> None:
        self._draft, self._places, self._projects = draft, places, projects

    def add(self, workflows: Mapping[str, Any]) -> None:
        found: list[dict[str, Any]] = []
        for name in sorted(workflows, key=lambda name: name == "default"):
            path: Path = ("workflows", name)
            at: Path = ("workflows", len(found))
            self._draft.lines[at] = self._places[path]
            self._draft.wholes[at] = Whole(f"workflow {name}", self._without(name, workflows))
            steps = self._jobs(workflows[name], path, at)
            found.append({"tag_query": "" if name == "default" else f"workflow_{name}", **steps})
        if found:
            self._draft.content["workflows"] = found

    def _without(self, name: str, workflows: Mapping[str, Any]) -> str:
        """Return what happens if a workflow is not carried over, with the names of its roots."""
        if name == "default":
            return f"Until you write one with tag_query: '', roots without a workflow are {_PLAINLY}."
        known = [each for each in self._projects if isinstance(each, dict) and each.get("dir")]
        roots = ", ".join(_name(each) for each in known if each.get("workflow") == name)
        return _until(name, workflows, f"its roots ({roots}) are" if roots else "its roots are")

    def _jobs(self, workflow: Any, path: Path, at: Path) -> dict[str, Any]:
        found: dict[str, Any] = {}
        for job, section in workflow.items() if isinstance(workflow, dict) else ():
            if job not in {"plan", "apply"} or not isinstance(section, dict):
                _unknown(self._draft, self._places[*path, job], job, f"workflow {path[-1]}: ")
            elif section.get("steps"):
                found[job] = self._steps(section["steps"], (*path, job, "steps"), (*at, job))
        return found

    def _steps(self, steps: Any, path: Path, at: Path) -> list[Any]:
        made: list[Any] = []
        for number, each in enumerate(steps if isinstance(steps, list) else ()):
            if (step := self._step(each, (*path, number))) is not None:
                self._draft.lines[*at, len(made)] = self._places[*path, number]
                made.append(step)
        return made

    def _step(self, step: Any, path: Path) -> Any:
        if isinstance(step, str) and step in _STEPS:
            return {"type": step}
        if isinstance(step, dict) and len(step) == 1:
            [(kind, value)] = step.items()
            if kind in _STEPS:
                arguments = value.get("extra_args") if isinstance(value, dict) else None
                return {"type": kind, **({"extra_args": self._options(arguments, path)} if arguments else {})}
            if kind == "run" and (text := value.get("command") if isinstance(value, dict) else value):
                return {"type": "run", "cmd": self._command(text, path)}
            if kind == "env" and isinstance(value, dict) and value.get("name"):
                return self._env(value, path)
        name = step if isinstance(step, str) else next(iter(step), "") if isinstance(step, dict) else ""
        self._draft.leave_out(self._places[path], f"workflow {path[1]}: step {name}: Tidegate has no such step.")
        return None

    def _env(self, value: Mapping[str, Any], path: Path) -> dict[str, Any]:
        """Return the step that sets a variable: to what a command prints, or to a text."""
        if value.get("command"):
            return {"type": "env", "name": value["name"], "cmd": self._command(value["command"], path)}
        text = value.get("value") or ""
        plain = escaped(text) if isinstance(text, str) else text
        return {"type": "env", "name": value["name"], "cmd": ["printf", "%s", plain]}

    def _command(self, text: Any, path: Path) -> list[Any]:
        if not isinstance(text, str):
            return ["sh", "-c", text]
        self._doubt(shell.doubts(text), path)
        return shell.command(text)

    def _options(self, arguments: Any, path: Path) -> Any:
        words = _single_words(arguments)
        for word in words:
            if isinstance(word, str):
                self._doubt(shell.doubts_of_option(word), path)
        return [shell.option(word) if isinstance(word, str) else word for word in words]

    def _doubt(self, doubts: Iterable[str], path: Path) -> None:
        for each in doubts:
            self._draft.leave_out(self._places[path], f"workflow {path[1]}: {each}")


def _single_words(arguments: Any) -> list[Any]:
    """Return options as one word each: ``-var-file x`` becomes ``-var-file=x``."""
    found: list[str] = []
    for word in arguments if isinstance(arguments, list) else ():
        if found and isinstance(word, str) and not word.startswith("-") and "=" not in str(found[-1]):
            found[-1] = f"{found[-1]}={word}"
        else:
            found.append(word)
    return found
