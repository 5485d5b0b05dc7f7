"""From Atlantis's atlantis.yaml: projects become roots, their workflows and requirements are asked for by tags."""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping
from typing import Any

from cli.converting import shell
from cli.converting.draft import Draft, Path
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
_WHY = {
    "execution_order_group": "Tidegate orders roots by depends_on and by gates between stacks",
    "branch": "Tidegate deploys what is merged to the default branch",
    "plan_requirements": "a merge is planned at once",
    "import_requirements": "Tidegate does not import",
    "policy_check": "policies are not checked by steps of workflows",
    "version": "it is that of Atlantis's format",
}
_STEPS = frozenset({"init", "plan", "apply"})
_TEXTS = ("dir", "name", "workspace", "workflow", "terraform_version", "terraform_distribution")
_LISTS = ("apply_requirements", "depends_on")


def draft_of(document: Document) -> Draft:
    """Return the draft of what a file of Atlantis says. Raise InvalidConfiguration where it is none."""
    _check_shape(document)
    draft = Draft(content={"version": "1"})
    places = {path: place[0] for path, place in document.places.items() if KEY not in path}
    places |= {path[:-1]: place[0] for path, place in document.places.items() if path and path[-1] == KEY}
    content = document.content
    for key in content:
        if key not in {"version", "projects", "workflows"}:
            _unknown(draft, places[key,], key)
    _Projects(draft, places).add(content.get("projects"))
    _Workflows(draft, places).add(content.get("workflows"))
    return draft


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

    def __init__(self, draft: Draft, places: Mapping[Path, int]) -> None:
        self._draft, self._places = draft, places
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
            self._draft.content["apply_requirements"] = {"checks": [*checks, {"tag_query": ""}]}

    def _root(self, project: Mapping[str, Any], path: Path) -> dict[str, Any]:
        for key in project:
            if key not in _CARRIED:
                _unknown(self._draft, self._places[*path, key], key, f"project {project.get('name', project['dir'])}: ")
        root: dict[str, Any] = {"dir": project["dir"], "workspace": project.get("workspace") or "default"}
        root["line"] = self._places[path]
        if project.get("name"):
            root["name"] = project["name"]
        tags = [f"workflow_{project['workflow']}"] if project.get("workflow") else []
        tags += self._requires(project.get("apply_requirements"), path)
        when = self._when(project, path)
        engine = self._engine(project, path)
        return root | ({"tags": tags} if tags else {}) | ({"when_modified": when} if when else {}) | engine

    def _requires(self, wanted: Any, path: Path) -> list[str]:
        known = []
        for number, name in enumerate(wanted if isinstance(wanted, list) else ()):
            if name in {"approved", "mergeable"}:
                known.append(name)
            else:
                line = self._places[*path, "apply_requirements", number]
                why = "what has diverged is always confirmed" if name == "undiverged" else "it is not known"
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


def _required(wanted: tuple[str, ...]) -> dict[str, Any]:
    found: dict[str, Any] = {}
    if "approved" in wanted:
        found["approved"] = {"any_of_count": "1"}
    if "mergeable" in wanted:
        found |= {"merge_conflicts": {"enabled": "true"}, "status_checks": {"enabled": "true"}}
    return found


class _Workflows:
    """Adds the workflows, each for what has its tag; the one named ``default`` for all others."""

    def __init__(self, draft: Draft, places: Mapping[Path, int]) -> None:
        self._draft, self._places = draft, places

    def add(self, workflows: Any) -> None:
        found: list[dict[str, Any]] = []
        named = workflows if isinstance(workflows, dict) else {}
        for name in sorted(named, key=lambda name: name == "default"):
            path: Path = ("workflows", name)
            self._draft.lines["workflows", len(found)] = self._places[path]
            steps = self._jobs(named[name], path)
            found.append({"tag_query": "" if name == "default" else f"workflow_{name}", **steps})
        if found:
            self._draft.content["workflows"] = found

    def _jobs(self, workflow: Any, path: Path) -> dict[str, Any]:
        found: dict[str, Any] = {}
        for job, section in workflow.items() if isinstance(workflow, dict) else ():
            if job not in {"plan", "apply"} or not isinstance(section, dict):
                _unknown(self._draft, self._places[*path, job], job, f"workflow {path[-1]}: ")
                continue
            steps = section.get("steps")
            made = [
                step
                for number, each in enumerate(steps if isinstance(steps, list) else ())
                if (step := self._step(each, (*path, job, "steps", number))) is not None
            ]
            if made:
                found[job] = made
        return found

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
        self._draft.leave_out(self._places[path], f"step {name}: Tidegate has no such step.")
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
