"""From Spacelift: stacks as blueprints and templates write them, or the runtime configuration of a repository."""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

from tidegate.documents.document import Document, Path
from tidegate_cli.converting import shell
from tidegate_cli.converting.draft import Draft
from tidegate_cli.converting.exported import add_workflow, one_repository, reviewed, states_stay, with_variables
from tidegate_cli.converting.ledger import Ledger
from tidegate_cli.converting.patterns import from_top
from tidegate_cli.converting.projects import Project, add_projects, clean_directory, engine_version, usable_name
from tidegate_cli.converting.reading import Section
from tidegate_cli.converting.steps import Step, Steps, with_files_of_the_plan

_NOUN = "stacks"
_TOLD = "it describes the stack"
_NO_TASKS = "Tidegate runs plans and applies only"
_HARMLESS = {
    "administrative": "Tidegate gives roots no access to itself",
    "allow_promotion": "merges deploy",
    "auto_retry": "Tidegate never retries an apply",
    "description": _TOLD,
    "labels": _TOLD,
    "local_preview_enabled": "the comment tidegate plan starts plans",
    "options": _TOLD,
    "protect_from_deletion": "configuration never deletes a root",
    "secret_masking_enabled": "Tidegate always masks what the plan marks sensitive",
    "worker_pool": "each job runs in its own Fargate task",
}
_INSTEAD = {
    "attachments": "the file lacks contexts, policies and roles: add variables, policy_sets and access_control",
    "mounted_files": "commit them, or write them in a run step",
    "runner_image": "the installation's image runs all jobs: build one with the programs that you need",
    "space": "set access_control: without it, everybody with write access may do everything",
    "stack_dependency_references": "read outputs in a data source or an env step",
    "tasks": _NO_TASKS,
}
_OTHERS = ("ansible", "cloudformation", "kubernetes", "pulumi", "terragrunt")
_TOOLS = {"OPEN_TOFU": "tofu", "TERRAFORM_FOSS": "terraform", "": "terraform"}
#: Where commands stand in a job, by the hook and its side.
_NONE: Mapping[str, str] = {}
_PHASES = ("init", "plan", "apply")
_TEMPLATE = re.compile(r"\$\{\{")
#: Commands that change the shell for those after them.
_EXPORTS = re.compile(r"(?:^|[;&|\n])[ \t]*(?:export|source|\.|cd|eval|unset)[ \t]")
_CRON_PARTS = 5


@dataclass(slots=True)
class _Stack:
    """What is known of a stack: its root, and the commands, by ``before_init`` and so on, and variables of its jobs."""

    project: Project
    hooks: dict[str, list[tuple[str, Path]]] = field(default_factory=dict)
    variables: dict[str, str] = field(default_factory=dict)


def draft_of(document: Document, repository: str | None = None) -> Draft:
    """Return the draft of what a file says of one repository. Raise InvalidConfiguration, Refused."""
    draft = Draft(Ledger(document), content={"version": "1", "apply": "on_merge"})
    top = Section(draft.ledger, (), document.content if isinstance(document.content, dict) else {}, "Spacelift")
    _templates(draft, document.content, ())
    listed = isinstance(top.content.get("stacks"), list) or "stack" in top
    stacks = _of_blueprint(draft, top, repository) if listed else _of_repository(draft, top)
    add_projects(draft, [each.project for each in stacks], _NOUN)
    for each in stacks:
        _workflow(draft, each)
    top.without({"version": _TOLD, "options": _TOLD, "maps": _TOLD})
    top.rest()
    return draft


def _templates(draft: Draft, value: Any, path: Path) -> None:
    """Tell of what is filled in only when a stack is made."""
    if isinstance(value, str) and _TEMPLATE.search(value):
        draft.ledger.lost(path, f"{value[:100]}: write the value that is inserted here.", "templates")
    for key, item in value.items() if isinstance(value, dict) else enumerate(value) if isinstance(value, list) else ():
        _templates(draft, item, (*path, key))


def _of_blueprint(draft: Draft, top: Section, repository: str | None) -> list[_Stack]:
    top.without({"inputs": "Tidegate does not ask when a root is created"})
    sections = [top.section("stack")] if "stack" in top else top.sections("stacks")
    for each in sections:
        each.noun = _NOUN
    wanted = one_repository([_repository(each) for each in sections], repository, draft.ledger.document.file)
    stacks: list[_Stack] = []
    names: dict[Any, str] = {}
    for each in sections:
        found = _repository(each)
        if found == wanted:
            stacks.append(_stack(draft, each))
            names[each.content.get("key")] = stacks[-1].project.name
        elif found:
            draft.ledger.dropped(each.path, f"it belongs to the repository {found}.")
        else:
            text = f"{each.content.get('name')}: it belongs to no repository. Deploy it from one, or not at all."
            draft.ledger.lost(each.path, text, f"{_NOUN}.without-repository")
    for stack in stacks:
        stack.project.depends_on = [names.get(key, key) for key in stack.project.depends_on]
    return stacks


def _repository(section: Section) -> str:
    vcs = section.content.get("vcs")
    if not isinstance(vcs, dict):
        return ""
    parts = (vcs.get("namespace"), vcs.get("repository") or vcs.get("repository_url"))
    return "/".join(str(part) for part in parts if part)


def _stack(draft: Draft, section: Section) -> _Stack:
    vcs = section.section("vcs")
    written = section.text("name") or section.text("key") or f"stack-{section.path[-1]}"
    name = usable_name(draft, section.at("name"), written)
    place = clean_directory(draft, vcs.at("project_root"), vcs.text("project_root") or ".")
    one = Project(section.path, name, place or ".")
    one.when = {"file_patterns": ["**", *(from_top(each) for each in vcs.texts("project_globs") or ())]}
    _branch(vcs)
    section.text("key")
    one.depends_on, one.depends_on_path = section.texts("depends_on") or (), section.at("depends_on")
    reviewed(section, "auto_deploy", one)
    if section.flag("is_disabled"):
        section.lost("is_disabled", f"{name}: nobody runs it now, but Tidegate would deploy it.")
    _vendor(draft, section.section("vendor"), one)
    _schedules(draft, section.section("schedules"), one)
    stack = _Stack(one, _hooks(section.section("hooks")), _variables(section.section("environment")))
    section.without(_HARMLESS)
    section.rest(_INSTEAD)
    return stack


def _branch(vcs: Section) -> None:
    reference = vcs.section("reference")
    branch = vcs.text("branch") or reference.text("value")
    if branch:
        holder, key = (vcs, "branch") if "branch" in vcs else (reference, "value")
        holder.lost(key, f"{branch}: merges to the default branch deploy. Accept this if it is the default branch.")
    if reference.text("type", "branch") != "branch":
        reference.lost("type", "merges deploy; tags and commits do not.")
    reference.rest()
    for key in ("namespace", "repository", "repository_url", "provider", "id"):
        vcs.text(key)
    vcs.rest()


def _vendor(draft: Draft, vendor: Section, one: Project) -> None:
    for name in _OTHERS:
        if name in vendor:
            vendor.raw(name)
            vendor.lost(name, f"{one.label}: the engines are terraform and tofu.")
    engine = vendor.section("terraform")
    tool = engine.text("workflow_tool")
    if tool not in _TOOLS:
        engine.lost("workflow_tool", f"{tool}: the engines are terraform and tofu.")
    version = engine.text("version")
    exact = engine_version(draft, engine.at("version"), version) if version else None
    one.engine = {"name": _TOOLS.get(tool, "terraform"), **({"version": exact} if exact else {})}
    one.workspace = engine.text("workspace", "default")
    if engine.flag("manage_state"):
        states_stay(draft, "Spacelift", at=engine.at("manage_state"))
    engine.without({"use_smart_sanitization": "Tidegate always masks what the plan marks sensitive"})
    engine.rest()
    vendor.rest()


def _schedules(draft: Draft, schedules: Section, one: Project) -> None:
    drift = schedules.section("drift")
    crons = drift.texts("cron") or []
    if crons:
        often = min((_often(each) for each in crons), key=["hourly", "daily", "weekly", "monthly"].index)
        schedule = {"tag_query": f"name:{one.name}", "schedule": often}
        reconciles = {"reconcile": "true"} if drift.flag("reconcile") else {}
        found = draft.content.setdefault("drift", {"schedules": {}})["schedules"]
        found[one.name.replace("/", "-")] = {**schedule, **reconciles}
        draft.ledger.changed(drift.at("cron"), f"drift detection runs {often}.")
    drift.without({"timezone": "drift detection runs at any time of the day", "ignore_state": _TOLD})
    drift.flag("reconcile")
    drift.rest()
    schedules.without({"delete": "Tidegate never destroys anything on its own"})
    schedules.rest(_INSTEAD)


def _often(cron: str) -> str:
    parts = cron.split()
    if len(parts) != _CRON_PARTS or not parts[1].isdigit():
        return "hourly"
    if parts[4] != "*":
        return "weekly"
    return "daily" if parts[2] == "*" else "monthly"


def _hooks(hooks: Section) -> dict[str, list[tuple[str, Path]]]:
    found: dict[str, list[tuple[str, Path]]] = {}
    for phase in _PHASES:
        both = hooks.section(phase)
        for side in ("before", "after"):
            commands = both.texts(side) or []
            found[f"{side}_{phase}"] = [(each, (*both.at(side), n)) for n, each in enumerate(commands)]
        both.rest()
    hooks.without({"perform": _NO_TASKS, "destroy": _NO_TASKS})
    run = hooks.section("run")
    if run.value("after"):
        run.lost("after", "add a run step with run_on: always to the plan and the apply.")
    run.rest()
    hooks.rest()
    return found


def _variables(environment: Section) -> dict[str, str]:
    found: dict[str, str] = {}
    for each in environment.sections("variables"):
        name, value = each.text("name"), each.text("value")
        if each.flag("secret"):
            text = f"{name}: it is secret: set it in an env step with sensitive: true."
            each.ledger.lost(each.path, text, "stacks.environment.secret")
        else:
            found[name] = value
        each.without({"description": _TOLD})
        each.rest()
    environment.rest(_INSTEAD)
    return found


def _of_repository(draft: Draft, top: Section) -> list[_Stack]:
    """Return the stacks of a runtime configuration, which says of each what differs from its settings elsewhere."""
    top.without(dict.fromkeys(("module_version", "test_defaults", "tests"), "Tidegate publishes no modules"))
    defaults = top.section("stack_defaults")
    defaults.noun = _NOUN
    text = "settings of stacks outside of this file, such as autodeploy, are unknown."
    draft.ledger.changed(top.at("stacks"), text)
    states_stay(draft, "Spacelift, unless a stack sets it")
    found = [_runtime(draft, name, each, defaults) for name, each in _named(top)]
    for key in _RUNTIME:
        defaults.value(key)
    defaults.without({key: _NO_TASKS for key in defaults.content if key.endswith(("_perform", "_destroy"))})
    if "runner_image" not in defaults:
        defaults.value("runner_image")
    defaults.rest(_INSTEAD)
    if not any(found):
        text = "no stack has a directory in this file, so the roots are unknown."
        draft.ledger.lost((), text, "stacks")
    return [each for each in found if each is not None]


def _named(top: Section) -> Iterator[tuple[str, Section]]:
    for name, each in top.named("stacks").items():
        each.noun = _NOUN
        yield name, each


def _runtime(draft: Draft, name: str, section: Section, defaults: Section) -> _Stack | None:
    holders = {key: section if key in section else defaults for key in _RUNTIME}
    root = holders["project_root"].text("project_root")
    if not root:
        text = f"{name}: this file lacks its directory: set project_root."
        draft.ledger.lost(section.path, text, f"{_NOUN}.{name}")
        return None
    place = clean_directory(draft, holders["project_root"].at("project_root"), root)
    one = Project(section.path, usable_name(draft, section.path, name), place or ".")
    one.when = {"file_patterns": ["**"]}
    version = holders["terraform_version"].text("terraform_version")
    path = holders["terraform_version"].at("terraform_version")
    exact = engine_version(draft, path, version) if version else None
    one.engine = {"name": "terraform", "version": exact} if exact else {}
    hooks = {}
    for phase in _PHASES:
        for key in (f"before_{phase}", f"after_{phase}"):
            commands = holders[key].texts(key) or []
            hooks[key] = [(each, (*holders[key].at(key), n)) for n, each in enumerate(commands)]
    if holders["after_run"].value("after_run"):
        holders["after_run"].lost("after_run", "add a run step with run_on: always to the plan and the apply.")
    environment = holders["environment"].section("environment")
    variables = {key: environment.text(key) for key in environment.content}
    section.without({key: _NO_TASKS for key in section.content if key.endswith(("_perform", "_destroy"))})
    section.rest(_INSTEAD)
    return _Stack(one, hooks, variables)


_RUNTIME = (
    *(f"{side}_{phase}" for side in ("before", "after") for phase in _PHASES),
    "after_run",
    "environment",
    "project_root",
    "terraform_version",
)


def _workflow(draft: Draft, stack: _Stack) -> None:
    """Give a root the steps that its hooks make of its jobs, if it has any, or variables."""
    steps = Steps(draft, stack.project.label, shell.Variables(_NONE, frozenset()))
    if not any(stack.hooks.values()) and not stack.variables:
        return

    def around(*phases: str) -> list[Step]:
        found: list[Step] = []
        for phase in phases:
            found += _commands(steps, stack.hooks.get(f"before_{phase}", ()))
            found.append(Step({"type": phase}, stack.project.path))
            found += _commands(steps, stack.hooks.get(f"after_{phase}", ()))
        return found

    plan = around("init", "plan")
    apply = with_files_of_the_plan(plan, around("apply")) or []
    values = stack.variables
    add_workflow(draft, stack.project, with_variables(plan, values), with_variables(apply, values))


def _commands(steps: Steps, commands: Sequence[tuple[str, Path]]) -> list[Step]:
    for text, path in commands:
        if _EXPORTS.search(text):
            why = f"{text[:100]}: exports end with their command: set it in an env step."
            steps.draft.ledger.lost(path, why, "stacks.hooks.exports")
    return [steps.run(text, path) for text, path in commands]
