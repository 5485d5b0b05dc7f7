"""From Atlantis's atlantis.yaml: projects become roots, their workflows and requirements are asked for by tags."""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from typing import Any

from tidegate.documents.document import Document, Path
from tidegate_cli.converting import shell
from tidegate_cli.converting.draft import Draft
from tidegate_cli.converting.ledger import Ledger
from tidegate_cli.converting.patterns import excludes_more, from_root, leads_out
from tidegate_cli.converting.projects import (
    MERGEABLE,
    STRICT,
    Project,
    Requirements,
    add_projects,
    clean_directory,
    engine_version,
    required,
    usable_name,
)
from tidegate_cli.converting.reading import Section
from tidegate_cli.converting.steps import Step, Steps, with_files_of_the_plan
from tidegate_cli.converting.workflows import Jobs, add_workflows, tag_of

#: What changes a project of Atlantis that does not say it.
_WHEN_MODIFIED = ("**/*.tf*", "**/*.tofu", "**/*.tofu.json", "**/terragrunt.hcl", "**/.terraform.lock.hcl")
_AT_ONCE = "Tidegate always does this: roots that do not wait for each other run concurrently"
_LOCKS = "Tidegate locks the queues of roots from tidegate apply until the merge"
_COMMENTS = "Tidegate updates one comment"
_DELETED = "enable the deletion of merged branches on GitHub"
_POLICIES = "policy_sets evaluate plans instead: docs/policies.md"
_NO_IMPORT = "Tidegate neither imports nor changes states"
#: Keys of the file, and of its projects, that are not needed.
_HARMLESS = {
    "abort_on_execution_order_fail": "Tidegate always does this: a failed root blocks those that wait for it",
    "allowed_regexp_prefixes": "tidegate plan takes a tag query, such as dir:dev/**, instead of -p with a pattern",
    "delete_source_branch_on_merge": _DELETED,
    "emoji_reaction": _COMMENTS,
    "parallel_apply": _AT_ONCE,
    "parallel_plan": _AT_ONCE,
    "repo_locking": _LOCKS,
    "repo_locks": _LOCKS,
    "silence_pr_comments": _COMMENTS,
}
_HARMLESS_OF_PROJECTS = {
    "delete_source_branch_on_merge": _DELETED,
    "import_requirements": _NO_IMPORT,
    "repo_locking": _LOCKS,
    "repo_locks": _LOCKS,
    "silence_pr_comments": _COMMENTS,
}
_INSTEAD = {"policies": _POLICIES}
_MERGES = {"true": "true", "merge": "merge", "squash": "squash", "rebase": "rebase"}
_NOBODY_SAYS = (
    "no project sets requirements, so Tidegate's defaults apply: an approval, no conflict, and the "
    "newest commit of the base branch. Set what the server's configuration requires."
)
_REST_IS_STRICT = (
    "projects that set no requirements now need an approval, no conflict and the newest commit of the base branch, "
    "because the server's configuration is not known."
)
_REQUIREMENTS = frozenset({"approved", "mergeable", "undiverged"})
#: A branch by a regular expression that says no more than names.
_BRANCHES = re.compile(r"/(?P<start>\^?)\(?(?P<names>[\w./|-]+)\)?(?P<end>\$?)/")


def draft_of(document: Document) -> Draft:
    """Return the draft of what a file of Atlantis says. Raise InvalidConfiguration where it is none."""
    draft = Draft(Ledger(document), content={"version": "1", "apply": "in_pull_request"})
    top = Section(draft.ledger, (), document.content, "Atlantis")
    _version(draft, top)
    _automerge(draft, top)
    workflows = top.named("workflows")
    projects = top.sections("projects")
    made = _Projects(draft, workflows).made(projects)
    add_projects(draft, made)
    if any("file_patterns" not in each.when for each in made) or not made:
        draft.content["when_modified"] = list(_WHEN_MODIFIED)
    _autodiscover(draft, top, bool(projects))
    add_workflows(draft, workflows, made, lambda name, workflow: _jobs(draft, name, workflow))
    top.without(_HARMLESS)
    top.rest(_INSTEAD)
    return draft


def _version(draft: Draft, top: Section) -> None:
    if top.text("version", "3") not in {"2", "3"}:
        raise top.misshapen("version", "2 or 3")
    text = "because Atlantis applies before the merge: comment tidegate apply. Without this key, the merge applies."
    draft.ledger.changed(top.at("projects"), f"apply: in_pull_request is written, {text}")
    text = "pull requests to the default branch are planned; name other branches under destination_branches."
    draft.ledger.changed(top.at("version"), text)


def _automerge(draft: Draft, top: Section) -> None:
    merges = top.text("automerge", "false").lower()
    if merges in _MERGES:
        draft.content["merge_after_apply"] = _MERGES[merges]
        text = f"automerge: it is now merge_after_apply: {merges}. The App needs Contents: write."
        draft.ledger.changed(top.at("automerge"), text)
    elif merges != "false":
        draft.ledger.lost(top.at("automerge"), "automerge: merge_after_apply takes true, false or a merge method.")


def _autodiscover(draft: Draft, top: Section, has_projects: bool) -> None:
    """Say which roots there are besides the projects."""
    section = top.section("autodiscover")
    mode = section.text("mode", "auto")
    ignored = section.texts("ignore_paths") or []
    section.rest()
    if mode not in {"auto", "enabled", "disabled"}:
        raise section.misshapen("mode", "auto, enabled or disabled")
    dirs = draft.content.setdefault("dirs", {}) if has_projects or mode == "disabled" or ignored else None
    if dirs is not None and (mode == "enabled" or (mode == "auto" and not has_projects)):
        dirs.setdefault("**", {"root": "true"})
        for number, written in enumerate(ignored):
            place = clean_directory(draft, (*section.at("ignore_paths"), number), written)
            if place is not None and place not in dirs:
                dirs[place] = {"when_modified": {"file_patterns": [], "autoplan": "false"}}
                draft.ledger.changed((*section.at("ignore_paths"), number), f"dirs.{place}: it is never planned.")


class _Projects:
    """Makes a root of each project."""

    def __init__(self, draft: Draft, workflows: Mapping[str, Section]) -> None:
        self._draft, self._workflows = draft, workflows
        self._requirements = Requirements()
        self._names: dict[str, str] = {}

    def made(self, sections: Sequence[Section]) -> list[Project]:
        """Return the projects that have a directory, and what they require."""
        found = [made for section in sections if (made := self._project(section)) is not None]
        for each in found:
            each.depends_on = [self._names.get(name, name) for name in each.depends_on]
        self._branches(sections)
        self._requirements.add_to(self._draft, STRICT)
        if not self._requirements.found:
            self._draft.ledger.changed(("projects",), f"apply_requirements: {_NOBODY_SAYS}")
        elif any("apply_requirements" not in each for each in sections):
            self._draft.ledger.changed(("projects",), f"apply_requirements: {_REST_IS_STRICT}")
        return found

    def _project(self, section: Section) -> Project | None:
        ledger = self._draft.ledger
        written, name = section.text("dir"), section.text("name")
        if not written:
            ledger.lost(section.path, f"{name or 'it'} has no directory.", f"projects.{name or section.path[-1]}")
            return None
        place = clean_directory(self._draft, section.at("dir"), written)
        one = Project(section.path, usable_name(self._draft, section.at("name"), name), place or ".")
        self._names[name] = one.name
        one.workspace = section.text("workspace", "default")
        one.tags = [
            *tag_of(self._draft, section.at("workflow"), one, section.text("workflow"), self._workflows),
            *self._requires(section),
        ]
        one.when = self._when(section, one.dir)
        one.engine = _engine(self._draft, section)
        self._order(section, one)
        for key, why in (("policy_check", _POLICIES), ("custom_policy_check", _POLICIES)):
            if section.flag(key):
                ledger.lost(section.at(key), f"{key}: {why}.")
        if section.texts("plan_requirements"):
            ledger.lost(section.at("plan_requirements"), "plan_requirements: every pull request is planned at once.")
        section.text("branch")
        section.without(_HARMLESS_OF_PROJECTS)
        section.rest()
        return one if place is not None else None

    def _requires(self, section: Section) -> list[str]:
        wanted = section.texts("apply_requirements")
        if wanted is None:
            return []
        known = []
        for number, name in enumerate(wanted):
            path = (*section.at("apply_requirements"), number)
            if name in _REQUIREMENTS:
                known.append(name)
            elif name == "policies_passed":
                self._draft.ledger.dropped(path, "policies_passed: it is always required, by each of policy_sets.")
            else:
                self._draft.ledger.lost(
                    path, f"{name}: Tidegate does not have it.", f"projects.apply_requirements.{name}"
                )
            if name == "mergeable":
                self._draft.ledger.changed(path, MERGEABLE)
        return [self._requirements.tag(known, required(known))]

    def _when(self, section: Section, place: str) -> dict[str, Any]:
        plan = section.section("autoplan")
        when: dict[str, Any] = {}
        patterns = plan.texts("when_modified")
        if patterns is not None:
            when["file_patterns"] = [from_root(each) for each in patterns if not leads_out(place, each)]
            for number, each in enumerate(patterns):
                self._pattern(each, place, (*plan.at("when_modified"), number))
        if plan.flag("enabled") is False:
            when["autoplan"] = "false"
        plan.rest()
        return when

    def _pattern(self, written: str, place: str, path: Path) -> None:
        """Tell what became of a pattern."""
        if leads_out(place, written):
            self._draft.ledger.dropped(path, f"{written}: it points outside of the repository.")
        elif excludes_more(written):
            self._draft.ledger.lost(path, f"{written}: ** matches whole directory names here.")
        elif from_root(written) != written:
            self._draft.ledger.changed(path, f"{written} becomes {from_root(written)}.")

    def _order(self, section: Section, one: Project) -> None:
        one.depends_on, one.depends_on_path = section.texts("depends_on") or (), section.at("depends_on")
        order = section.text("execution_order_group", "0")
        if not re.fullmatch(r"-?[0-9]{1,6}", order):
            raise section.misshapen("execution_order_group", "a number")
        one.order = int(order)
        if "execution_order_group" in section:
            text = f"it is in the stack order_{order}, which Tidegate applies after the stacks with smaller numbers."
            self._draft.ledger.changed(section.at("execution_order_group"), text)

    def _branches(self, sections: Sequence[Section]) -> None:
        """Let pull requests to the branches be planned that all projects name."""
        named = [each.text("branch") for each in sections]
        if not any(named):
            return
        branch = named[0] if len(set(named)) == 1 else ""
        match = _BRANCHES.fullmatch(branch)
        if match is None:
            why = "destination_branches applies to all roots, and takes names with *"
            for each in sections:
                if "branch" in each:
                    self._draft.ledger.lost(each.at("branch"), f"branch: {why}.")
            return
        before, after = "" if match["start"] else "*", "" if match["end"] else "*"
        names = [f"{before}{name}{after}" for name in match["names"].split("|") if name]
        self._draft.content["destination_branches"] = names
        for each in sections:
            self._draft.ledger.changed(each.at("branch"), f"branch: now destination_branches: {', '.join(names)}.")


def _engine(draft: Draft, section: Section) -> dict[str, str]:
    distribution, version = section.text("terraform_distribution"), section.text("terraform_version")
    name = {"opentofu": "tofu", "terraform": "terraform", "": "terraform"}.get(distribution)
    if name is None:
        draft.ledger.lost(section.at("terraform_distribution"), f"{distribution}: the engines are terraform and tofu.")
    exact = engine_version(draft, section.at("terraform_version"), version) if version else None
    engine = {"name": name or "terraform"} if distribution or exact else {}
    return engine | ({"version": exact} if exact else {})


def _jobs(draft: Draft, name: str, workflow: Section) -> Jobs:
    steps = Steps(draft, name, shell.ATLANTIS)
    plan = _stage(draft, steps, workflow, "plan")
    apply = with_files_of_the_plan(plan or (), _stage(draft, steps, workflow, "apply"))
    workflow.without({"import": _NO_IMPORT, "state_rm": _NO_IMPORT})
    workflow.rest({"policy_check": _POLICIES})
    return plan, apply


def _stage(draft: Draft, steps: Steps, workflow: Section, job: str) -> list[Step] | None:
    """Return the steps of a stage; None where those count that every workflow has."""
    section = workflow.section(job)
    found = section.raw("steps")
    if not isinstance(found, list | None):
        raise section.misshapen("steps", "a list")
    section.rest()
    made = [_step(draft, steps, each, (*section.at("steps"), number)) for number, each in enumerate(found or ())]
    return [each for each in made if each is not None] if found else None


def _step(draft: Draft, steps: Steps, written: Any, path: Path) -> Step | None:
    kind, value = (written, None) if isinstance(written, str) else _pair(written)
    at = (*path, kind) if isinstance(written, dict) and kind else path
    if not isinstance(value, dict):
        draft.ledger.kept(at)
    section = Section(draft.ledger, at, value if isinstance(value, dict) else {}, "Atlantis")
    made: Step | None = None
    if kind in {"init", "plan", "apply"}:
        made = steps.engine(kind, section.texts("extra_args"), section.at("extra_args"))
    elif kind == "run" and isinstance(text := section.text("command") or value, str):
        made = steps.run(text, at, _shell(section))
    elif kind == "env" and (name := section.text("name")):
        command, text = section.text("command"), section.text("value")
        words = _shell(section)
        made = steps.variable_of(name, command, at, words) if command else steps.variable(name, text, at)
    elif kind == "multienv" and isinstance(text := section.text("command") or value, str):
        made = steps.variable_of("", f"({text}) | tr ',' '\\n'", at, _shell(section))
        draft.ledger.changed(
            at, "multienv: commas separate the variables as before. Values cannot contain commas or quotes."
        )
    if made is None and kind == "show":
        draft.ledger.dropped(at, "show: Tidegate shows every plan.")
    elif made is None:
        draft.ledger.lost(at, f"step {kind}: Tidegate has no such step.", f"workflows.steps.{kind}")
    _output(draft, section)
    section.rest()
    return made


def _pair(written: Any) -> tuple[str, Any]:
    pairs = list(written.items()) if isinstance(written, dict) else []
    return pairs[0] if len(pairs) == 1 else ("", None)


def _shell(section: Section) -> list[str]:
    words = section.texts("shellArgs")
    return [section.text("shell", "sh"), *(words if words is not None else ["-c"])]


def _output(draft: Draft, section: Section) -> None:
    """Tell of output that Atlantis hides."""
    output = section.value("output")
    if output in (None, "show", "strip_refreshing", ["strip_refreshing"], ["show"]):
        return
    text = "output: the log has the output of programs. Set sensitive: true on an env step to mask its value."
    draft.ledger.lost(section.at("output"), text, "workflows.steps.output")
