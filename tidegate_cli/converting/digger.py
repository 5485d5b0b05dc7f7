"""From Digger's digger.yml: projects become roots, their workflows and requirements are asked for by tags."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from tidegate.documents.document import Document, Path
from tidegate_cli.converting import shell
from tidegate_cli.converting.draft import Draft
from tidegate_cli.converting.ledger import Ledger
from tidegate_cli.converting.patterns import alternatives, from_root, from_top, leads_out
from tidegate_cli.converting.projects import (
    MERGEABLE,
    Project,
    Requirements,
    add_projects,
    clean_directory,
    required,
    usable_name,
)
from tidegate_cli.converting.reading import Section
from tidegate_cli.converting.steps import Step, Steps, with_files_of_the_plan
from tidegate_cli.converting.workflows import Jobs, add_workflows, tag_of

_COMMENTS = "Tidegate updates one comment"
_CHECKS = "Tidegate always sets checks for plans and applies"
_ON_ACTIONS = "nothing runs on GitHub Actions"
_DRIFT = "the schedules under drift detect it"
_RIGHTS = "runners have the engine's role: let the provider assume another one, or set its variables in an env step"
_HARMLESS = {
    "collect_usage_data": "Tidegate collects no telemetry",
    "comment_render_mode": _COMMENTS,
    "delete_prior_comments": _COMMENTS,
    "dependency_configuration": "Tidegate also plans roots that depend on changed ones",
    "disable_digger_apply_comment": _COMMENTS,
    "disable_digger_apply_status_check": _CHECKS,
    "mention_drifted_projects_in_pr": _DRIFT,
    "pr_locks": "Tidegate locks the queues of roots from tidegate apply until the merge",
    "report_terraform_outputs": _COMMENTS,
    "reporting": _COMMENTS,
    "telemetry": "Tidegate collects no telemetry",
    "traverse_to_nested_projects": "nested directories may both be roots",
}
_HARMLESS_OF_PROJECTS = {
    "alias": "roots have no second name",
    "block_name": "roots have no second name",
    "drift_detection": _DRIFT,
    "generated": _ON_ACTIONS,
    "workflow_file": _ON_ACTIONS,
}
_INSTEAD = {"aws_cognito_oidc": _RIGHTS, "aws_role_to_assume": _RIGHTS, "filter_regex": "mask values in an env step"}
_LONGEST_NUMBER = 6
#: Stands for directories that patterns mean: nothing is said to lead out of the repository from there.
_ANYWHERE = "a/b/c/d/e/f/g/h"
_OTHER_ENGINES = ("terragrunt", "pulumi")
_COMMANDS = ("digger plan", "digger unlock", "digger lock")


def draft_of(document: Document) -> Draft:
    """Return the draft of what a file of Digger says. Raise InvalidConfiguration where it is none."""
    draft = Draft(Ledger(document), content={"version": "1"})
    top = Section(draft.ledger, (), document.content, "Digger")
    workflows = top.named("workflows")
    _applying(draft, top, workflows)
    if top.flag("allow_draft_prs") is not True:
        draft.content["pull_requests"] = {"drafts": "false"}
    is_layered = top.flag("respect_layers") is True
    projects = _Projects(draft, workflows, is_layered=is_layered)
    made = projects.made(top.sections("projects"))
    add_projects(draft, made)
    _generated(draft, top, projects)
    projects.add_requirements()
    add_workflows(draft, workflows, made, lambda name, workflow: _jobs(draft, name, workflow))
    top.without(_HARMLESS)
    top.rest()
    return draft


def _applying(draft: Draft, top: Section, workflows: Mapping[str, Section]) -> None:
    """Say whether changes are applied in pull requests, or by the merge."""
    reactions = [each.section("workflow_configuration") for each in workflows.values()]
    by_merge = [_on_merge(draft, each) for each in reactions]
    is_default = "default" in workflows or (
        bool(top.content.get("projects"))
        and all(
            isinstance(each, dict) and each.get("workflow") in workflows for each in top.content.get("projects") or ()
        )
    )
    if top.flag("apply_after_merge") or (by_merge and all(by_merge) and is_default):
        draft.content |= {"apply": "on_merge", "plan_review": "manual"}
        text = "apply: on_merge is written; with plan_review: manual, plans of merges do not wait for a review."
        draft.ledger.changed((), text)
        return
    for each in (reaction for reaction, is_merge in zip(reactions, by_merge, strict=True) if is_merge):
        text = "on_commit_to_default: merges apply all roots or none, as the key apply says."
        draft.ledger.lost(each.at("on_commit_to_default"), text)
    draft.content["apply"] = "in_pull_request"
    text = "apply: in_pull_request is written, because Digger applies before the merge: comment tidegate apply."
    draft.ledger.changed((), text)
    strategy = top.text("auto_merge_strategy", "squash")
    if top.flag("auto_merge"):
        draft.content["merge_after_apply"] = strategy
        text = f"auto_merge: it is now merge_after_apply: {strategy}. The App needs Contents: write."
        draft.ledger.changed(top.at("auto_merge"), text)


def _on_merge(draft: Draft, reaction: Section) -> bool:
    """Tell whether a workflow applies what is merged."""
    found = reaction.texts("on_commit_to_default") or []
    for key in ("on_pull_request_pushed", "on_pull_request_closed", "on_pull_request_to_draft"):
        for number, command in enumerate(reaction.texts(key) or []):
            if command not in _COMMANDS:
                text = f"{key}: {command}: Tidegate plans each push to a pull request, and applies on a comment."
                draft.ledger.lost((*reaction.at(key), number), text)
    reaction.without({"skip_merge_check": "apply_requirements instead"})
    reaction.rest()
    return "digger apply" in found


class _Projects:
    """Makes a root of each project."""

    def __init__(self, draft: Draft, workflows: Mapping[str, Section], *, is_layered: bool) -> None:
        self._draft, self._workflows, self._is_layered = draft, workflows, is_layered
        self._requirements = Requirements()
        self._names: dict[str, str] = {}

    def made(self, sections: Sequence[Section]) -> list[Project]:
        """Return the projects that have a directory."""
        found = [made for each in sections if (made := self._project(each)) is not None]
        for one in found:
            one.depends_on = [self._names.get(name, name) for name in one.depends_on]
        self._branches(sections)
        return found

    def add_requirements(self) -> None:
        """Add what projects require; where nobody says it, that is ``mergeable``."""
        rest = required(["mergeable"])
        if self._requirements.found:
            self._requirements.add_to(self._draft, rest)
        else:
            self._draft.content["apply_requirements"] = rest
        text = "apply_requirements: projects without it require mergeable. "
        self._draft.ledger.changed((), text + MERGEABLE)

    def workflow(self, section: Section, one: Project) -> list[str]:
        """Return the tags by the workflow that a project, or a block of projects, names."""
        name = section.text("workflow", "default")
        known = name == "default" and "default" not in self._workflows
        return [] if known else tag_of(self._draft, section.at("workflow"), one, name, self._workflows)

    def _project(self, section: Section) -> Project | None:
        written, name = section.text("dir"), section.text("name")
        if not written:
            self._draft.ledger.lost(section.path, f"{name or 'it'} has no directory.", f"projects.{name or 'unnamed'}")
            return None
        place = clean_directory(self._draft, section.at("dir"), written)
        one = Project(section.path, usable_name(self._draft, section.at("name"), name), place or ".")
        self._names[name] = one.name
        one.workspace = section.text("workspace", "default")
        one.tags = [*self.workflow(section, one), *self._requires(section)]
        one.when = {"file_patterns": self.patterns(section, one.dir)}
        one.engine = engine(self._draft, section)
        one.depends_on, one.depends_on_path = section.texts("depends_on") or (), section.at("depends_on")
        self._layer(section, one)
        section.text("branch")
        section.without(_HARMLESS_OF_PROJECTS)
        section.rest(_INSTEAD)
        return one if place is not None else None

    def _layer(self, section: Section, one: Project) -> None:
        layer = section.text("layer", "0")
        if not (layer.isascii() and layer.isdigit() and len(layer) <= _LONGEST_NUMBER):
            raise section.misshapen("layer", "a number")
        if self._is_layered:
            one.order = int(layer)
        elif "layer" in section:
            self._draft.ledger.dropped(section.at("layer"), "layer: it has no effect without respect_layers.")

    def _requires(self, section: Section) -> list[str]:
        wanted = section.texts("apply_requirements")
        if wanted is None:
            return []
        for number, name in enumerate(wanted):
            path = (*section.at("apply_requirements"), number)
            if name not in {"approved", "mergeable", "undiverged"}:
                self._draft.ledger.lost(
                    path, f"{name}: Tidegate does not have it.", f"projects.apply_requirements.{name}"
                )
            elif name == "mergeable":
                self._draft.ledger.changed(path, MERGEABLE)
        return [self._requirements.tag(wanted, required(wanted))]

    def patterns(self, section: Section, place: str) -> list[str]:
        """Return the patterns of files that change a project: all in its directory, and what it names."""
        found = ["**", *(each for _, each in self._pattern(section, "include_patterns", place))]
        narrow: list[str] = []
        wide: list[str] = []
        for written, each in self._pattern(section, "exclude_patterns", place):
            last = written.rpartition("/")[2]
            if last == "**" or "." in last:
                wide.append(f"!{each}")
            else:  # Such a pattern means no files in directories of this name.
                narrow += [f"!{each}", f"{each}/**"]
        return [*found, *narrow, *wide]

    def _pattern(self, section: Section, key: str, place: str) -> list[tuple[str, str]]:
        found = []
        for number, written in enumerate(section.texts(key) or ()):
            path = (*section.at(key), number)
            several = alternatives(written)
            if several is None:
                self._draft.ledger.lost(path, f"{written[:100]}: it expands to too many patterns.")
            several = [each for each in several or () if not (each.startswith(".") and leads_out(place, each))]
            made = [(each, from_root(each) if each.startswith(".") else from_top(each)) for each in several]
            if [each for _, each in made] != [written]:
                self._draft.ledger.changed(
                    path, f"{written[:100]} is {', '.join(each for _, each in made) or 'left out'}."
                )
            found += made
        return found

    def _branches(self, sections: Sequence[Section]) -> None:
        named = {each.text("branch") for each in sections}
        if len(named) == 1 and (name := named.pop()):
            self._draft.content["destination_branches"] = [name]
        for each in sections:
            if "branch" in each and "destination_branches" not in self._draft.content:
                text = "branch: destination_branches applies to all roots, but the projects name different branches."
                self._draft.ledger.lost(each.at("branch"), text)
            elif "branch" in each:
                self._draft.ledger.changed(each.at("branch"), "branch: it is now under destination_branches.")


def engine(draft: Draft, section: Section) -> dict[str, str]:
    """Return the engine of a project, or of a block of projects."""
    for name in _OTHER_ENGINES:
        if section.flag(name):
            draft.ledger.lost(section.at(name), f"{name}: the engines are terraform and tofu.")
    section.flag("terraform")
    return {"name": "tofu"} if section.flag("opentofu") else {}


def _generated(draft: Draft, top: Section, projects: _Projects) -> None:
    """Add patterns of directories in place of projects that are made for directories."""
    section = top.section("generate_projects")
    if not section.content:
        return
    blocks = section.sections("blocks")
    for each in (section, *blocks):
        _block(draft, each, projects)
    section.rest(_INSTEAD)
    text = "generate_projects: they are patterns under dirs. Roots have the names of their directories."
    draft.ledger.changed(section.path, text)


def _block(draft: Draft, section: Section, projects: _Projects) -> None:
    """Add the directories of a block, and those among them that are none of its projects."""
    dirs = draft.content.setdefault("dirs", {})
    made = _made_by_block(draft, section, projects)
    included = _directories(draft, section, "include")
    for place in included:
        if place in dirs:
            draft.ledger.lost(section.at("include"), f"{place}: it already has a section.")
        dirs.setdefault(place, made)
        draft.origins.setdefault(("dirs", place), section.path)
    for place in _directories(draft, section, "exclude"):
        if ".terraform" in place.split("/"):
            continue
        if any("*" in each and len(each) >= len(place) for each in included):
            draft.ledger.lost(section.at("exclude"), f"{place}: of several matching patterns, the longest applies.")
        dirs.setdefault(place, {"when_modified": {"file_patterns": [], "autoplan": "false"}})
    section.without({key: why for key, why in _HARMLESS_OF_PROJECTS.items() if key in section})
    if section.path[-1] != "generate_projects":
        section.rest({**_INSTEAD, "root_dir": "the engines are terraform and tofu"})


def _made_by_block(draft: Draft, section: Section, projects: _Projects) -> dict[str, Any]:
    """Return what a block says of each of its projects."""
    one = Project(section.path, "", "generated", section.text("workspace", "default"))
    tags, found = projects.workflow(section, one), engine(draft, section)
    made: dict[str, Any] = {"when_modified": {"file_patterns": projects.patterns(section, _ANYWHERE)}}
    made |= ({"tags": tags} if tags else {}) | ({"engine": found} if found else {})
    return made if one.workspace == "default" else {"workspaces": {one.workspace: made}}


def _directories(draft: Draft, section: Section, key: str) -> list[str]:
    written = section.text(key)
    several = alternatives(written) if written else []
    if several is None:
        draft.ledger.lost(section.at(key), f"{written[:100]}: it expands to too many patterns.")
    places = (clean_directory(draft, section.at(key), f"/{_without_above(each)}") for each in several or ())
    return [each for each in places if each is not None]


def _without_above(pattern: str) -> str:
    """Return a pattern from the repository's top: Digger takes what would lead out of it as that."""
    while pattern.startswith(("../", "./", "/")):
        pattern = pattern.partition("/")[2]
    return pattern


def _jobs(draft: Draft, name: str, workflow: Section) -> Jobs:
    variables = workflow.section("env_vars")
    of = {kind: _variables(draft, variables, kind) for kind in ("state", "commands")}
    steps = Steps(draft, name, shell.DIGGER, {*of["state"], *of["commands"]})
    variables.rest()
    plan, apply = (_stage(draft, steps, workflow, job) for job in ("plan", "apply"))
    apply = with_files_of_the_plan(plan or (), apply)
    if any(of.values()):
        plan = plan or [Step({"type": "init"}, workflow.path), Step({"type": "plan"}, workflow.path)]
        apply = apply or [Step({"type": "init"}, workflow.path), Step({"type": "apply"}, workflow.path)]
    for each in (*(plan or ()), *(apply or ())):
        if values := of["state" if each.kind == "init" else "commands"]:
            each.made["env"] = values
    workflow.rest()
    return plan, apply


def _variables(draft: Draft, section: Section, kind: str) -> dict[str, str]:
    found: dict[str, str] = {}
    for each in section.sections(kind):
        name = each.text("name")
        if "value" in each:
            found[name] = each.text("value").replace("$", "$$")
        else:
            each.text("value_from")
            text = f"{name}: runners do not have the variables and secrets of your CI: set it in an env step."
            draft.ledger.lost(each.path, text, "workflows.env_vars")
        each.without({"value_from": "value counts"} if "value" in each else {})
        each.rest()
    return found


def _stage(draft: Draft, steps: Steps, workflow: Section, job: str) -> list[Step] | None:
    section = workflow.section(job)
    found = section.raw("steps")
    if not isinstance(found, list | None):
        raise section.misshapen("steps", "a list")
    section.rest(_INSTEAD)
    made = [_step(draft, steps, each, (*section.at("steps"), number)) for number, each in enumerate(found or ())]
    return [each for each in made if each is not None] if found else None


def _step(draft: Draft, steps: Steps, written: Any, path: Path) -> Step | None:
    content = {written: None} if isinstance(written, str) else written if isinstance(written, dict) else {}
    section = Section(draft.ledger, path, content, "Digger")
    if isinstance(written, str):
        draft.ledger.kept(path)
    kind = next((key for key in ("run", "init", "plan", "apply") if key in content), "")
    made: Step | None = None
    if kind == "run":
        made = steps.run(section.text("run"), path, [section.text("shell", "sh"), "-c"])
        if "shell" not in section:
            draft.ledger.changed(section.at("run"), "run: sh runs it, not bash, which the image does not have.")
    elif kind:
        inner = section.raw(kind)
        nested = Section(draft.ledger, section.at(kind), inner if isinstance(inner, dict) else {}, "Digger")
        holder = nested if "extra_args" in nested else section
        made = steps.engine(kind, holder.texts("extra_args"), holder.at("extra_args"))
        nested.rest()
    else:
        name = next(iter(content), "")
        draft.ledger.lost(path, f"step {name}: Tidegate has no such step.", f"workflows.steps.{name}")
        return None
    section.rest()
    return made
