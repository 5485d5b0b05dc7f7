"""From workspaces of HCP Terraform, as its API lists them: each becomes a root, its variables options of plans."""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import Any

from tidegate.documents.document import Document
from tidegate_cli.converting.draft import Draft
from tidegate_cli.converting.exported import add_workflow, one_repository, reviewed, states_stay, with_variables
from tidegate_cli.converting.ledger import Ledger
from tidegate_cli.converting.patterns import from_top
from tidegate_cli.converting.projects import Project, add_projects, clean_directory, engine_version, usable_name
from tidegate_cli.converting.reading import Section
from tidegate_cli.converting.steps import Step

_NOUN = "workspaces"
_TELLS = "it describes the workspace"
_DESTROYS = "Tidegate never destroys anything on its own"


def _words(text: str) -> list[str]:
    return text.split()


_STATES = "the backend decides who reads states"
#: Attributes that only tell something, or that Tidegate does not need.
_HARMLESS = {
    **dict.fromkeys(
        _words(
            """
        actions created-at updated-at latest-change-at permissions description environment resource-count run-failures
        policy-check-failures apply-duration-average plan-duration-average workspace-kpis-runs-count source source-name
        source-url source-module-id setting-overwrites tag-names tags last-assessment-result-at locked-reason
        oauth-client-name vcs-repo-identifier unarchived-workspace-change-requests-count unique-identifier
        structured-run-output-enabled effective-tags data-retention-policy cost-estimation-enabled operations
        inherits-project-auto-destroy hyok-enabled no-code-upgrade-available migration-environment
            """
        ),
        _TELLS,
    ),
    **dict.fromkeys(("allow-destroy-plan", "auto-destroy-at", "auto-destroy-activity-duration"), _DESTROYS),
    **dict.fromkeys(("global-remote-state", "project-remote-state", "remote-state-consumers"), _STATES),
    "auto-apply-run-trigger": "stacks and depends_on set the order",
    "queue-all-runs": "the first merge that changes a root deploys it",
}
_HARMLESS_OF_REPOSITORIES = dict.fromkeys(
    _words(
        """
    display-identifier repository-http-url service-provider oauth-token-id github-app-installation-id webhook-url
    source-directory
        """
    ),
    _TELLS,
)
_INSTEAD = {
    "ingress-submodules": "Tidegate does not fetch submodules here",
    "tags-regex": "merges deploy; tags do not",
}


@dataclass(slots=True)
class _Workspace:
    """A workspace of the export, and its variables."""

    id: str
    section: Section
    variables: list[Section] = field(default_factory=list)

    @property
    def repository(self) -> str:
        found = self.section.content.get("vcs-repo")
        return str(found.get("identifier") or "") if isinstance(found, dict) else ""


def draft_of(document: Document, repository: str | None = None) -> Draft:
    """Return the draft of what an export says of one repository. Raise InvalidConfiguration, Refused."""
    draft = Draft(Ledger(document), content={"version": "1", "apply": "on_merge"})
    found = _Export(draft).read(document.content)
    wanted = one_repository([each.repository for each in found], repository, document.file)
    made: list[tuple[Project, _Workspace]] = []
    for each in found:
        if each.repository == wanted and wanted:
            made.append((_project(draft, each), each))
        elif each.repository:
            draft.ledger.dropped(each.section.path[:-1], f"it belongs to the repository {each.repository}.")
        else:
            text = (
                f"{each.section.content.get('name')}: it belongs to no repository. Deploy it from one, or not at all."
            )
            draft.ledger.lost(each.section.path[:-1], text, f"{_NOUN}.without-repository")
    states_stay(draft, "HCP Terraform")
    several = Counter(one.dir for one, _ in made)
    for one, _ in made:
        if several[one.dir] > 1:
            one.workspace = one.name
    add_projects(draft, [one for one, _ in made], _NOUN)
    for one, each in made:
        _variables(draft, one, each.variables)
    return draft


class _Export:
    """Reads the documents of an export: pages of workspaces, and of variables."""

    def __init__(self, draft: Draft) -> None:
        self._draft = draft
        self._workspaces: dict[str, _Workspace] = {}
        self._variables: list[tuple[Section, str]] = []

    def read(self, content: Any) -> list[_Workspace]:
        """Return the workspaces with their variables."""
        pages = content if isinstance(content, list) else [content]
        for number, page in enumerate(pages):
            path = (number,) if isinstance(content, list) else ()
            self._page(
                Section(self._draft.ledger, path, page if isinstance(page, dict) else {}, "HCP Terraform"), pages
            )
        for section, owner in self._variables:
            if owner in self._workspaces:
                self._workspaces[owner].variables.append(section)
            else:
                self._draft.ledger.lost(section.path, "no workspace in the export has this variable.", "variables")
        if self._workspaces and not self._variables:
            text = "the export has no variables. Add those of each workspace: docs/migration.md."
            self._draft.ledger.lost((), text, "variables")
        return list(self._workspaces.values())

    def _page(self, page: Section, pages: Sequence[Any]) -> None:
        for key in ("data", "included"):
            found = page.raw(key)
            items = found if isinstance(found, list) else [found] if isinstance(found, dict) else []
            for number, item in enumerate(items):
                path = (*page.at(key), number) if isinstance(found, list) else page.at(key)
                self._item(Section(self._draft.ledger, path, item if isinstance(item, dict) else {}, page.tool))
        meta = page.content.get("meta")
        pagination = meta.get("pagination") if isinstance(meta, dict) else None
        total = str(pagination.get("total-pages") or "1") if isinstance(pagination, dict) else "1"
        if total.isascii() and total.isdigit() and int(total[:9]) > len(pages):
            self._draft.ledger.lost(page.at("meta"), f"the export has {len(pages)} of {total[:9]} pages.", "pages")
        page.without({"links": _TELLS, "meta": _TELLS, "jsonapi": _TELLS})
        page.rest()

    def _item(self, item: Section) -> None:
        kind, own = item.text("type"), item.text("id")
        attributes = item.section("attributes")
        attributes.noun = _NOUN
        related = item.value("relationships")
        item.without({"links": _TELLS})
        if kind == "workspaces":
            self._workspaces[own] = _Workspace(own, attributes)
        elif kind == "vars":
            self._variables.append((attributes, _owner(related)))
        else:
            self._draft.ledger.dropped(item.path, f"{kind or 'this'} is neither a workspace nor a variable.")


def _owner(related: Any) -> str:
    """Return the workspace that a variable is of."""
    for key in ("configurable", "workspace"):
        found = related.get(key) if isinstance(related, dict) else None
        data = found.get("data") if isinstance(found, dict) else None
        if isinstance(data, dict) and isinstance(data.get("id"), str):
            return str(data["id"])
    return ""


def _project(draft: Draft, workspace: _Workspace) -> Project:
    section = workspace.section
    name = usable_name(draft, section.at("name"), section.text("name") or workspace.id or "unnamed")
    place = clean_directory(draft, section.at("working-directory"), section.text("working-directory") or ".")
    one = Project(section.path[:-1], name, place or ".")
    version = section.text("terraform-version")
    exact = engine_version(draft, section.at("terraform-version"), version) if version else None
    one.engine = {"name": "terraform", "version": exact} if exact else {}
    one.when = {"file_patterns": _patterns(section)}
    reviewed(section, "auto-apply", one)
    mode = section.text("execution-mode", "remote")
    if mode == "local":
        section.lost("execution-mode", f"{name}: HCP Terraform only keeps its state, but Tidegate would deploy it.")
    elif mode != "remote":
        draft.ledger.changed(section.at("execution-mode"), f"{mode}: jobs run as tasks in your own network.")
    if section.flag("locked"):
        section.lost("locked", f"{name}: nobody may run it now, but Tidegate would deploy it.")
    if section.flag("speculative-enabled") is False:
        section.lost("speculative-enabled", f"{name}: Tidegate plans pull requests.")
    if section.flag("assessments-enabled"):
        one.tags.append("assessed")
        draft.content["drift"] = {"schedules": {"daily": {"tag_query": "assessed", "schedule": "daily"}}}
        draft.ledger.changed(section.at("assessments-enabled"), "it is a daily schedule under drift.")
    _repository(section)
    section.without(_HARMLESS)
    section.rest()
    return one


def _patterns(section: Section) -> list[str]:
    """Return which files change a workspace."""
    prefixes, patterns = section.texts("trigger-prefixes") or [], section.texts("trigger-patterns") or []
    if section.flag("file-triggers-enabled") is False:
        return ["/**"]
    if patterns:
        return [from_top(each) for each in patterns]
    return ["**", *(f"{from_top(each)}/**" for each in prefixes)]


def _repository(section: Section) -> None:
    found = section.section("vcs-repo")
    found.text("identifier")
    if branch := found.text("branch"):
        found.lost("branch", f"{branch}: merges to the default branch deploy. Accept this if it is the default branch.")
    if found.flag("ingress-submodules") is False:
        found.ledger.dropped(found.at("ingress-submodules"), "Tidegate does not fetch submodules here.")
    if found.value("tags-regex") is None:
        found.ledger.kept(found.at("tags-regex"))
    found.without(_HARMLESS_OF_REPOSITORIES)
    for key in ("ingress-submodules", "tags-regex"):
        if key in found and found.content[key] not in ("false", ""):
            found.lost(key, f"{key}: {_INSTEAD[key]}.")
    found.rest(_INSTEAD)


def _variables(draft: Draft, one: Project, variables: Sequence[Section]) -> None:
    """Give a root its variables: those of Terraform as options of its plans, the others to its steps."""
    options: list[str] = []
    values: dict[str, str] = {}
    for each in variables:
        key, value, kind = each.text("key"), each.text("value"), each.text("category")
        each.without(dict.fromkeys(("description", "created-at", "hcl", "version-id"), _TELLS))
        if each.flag("sensitive"):
            name = f"TF_VAR_{key}" if kind == "terraform" else key
            text = f"{one.label}: {key} is sensitive, so the export lacks its value: set {name} in an env step."
            draft.ledger.lost(each.path[:-1], text, "variables.sensitive")
        elif kind == "terraform":
            options.append(f"-var={key}={value}".replace("$", "$$"))
        else:
            values[key] = value
        each.rest()
    if not options and not values:
        return
    plan = [Step({"type": "init"}, one.path), Step({"type": "plan", "extra_args": options}, one.path)]
    apply = [Step({"type": "init"}, one.path), Step({"type": "apply"}, one.path)]
    add_workflow(draft, one, with_variables(plan, values), with_variables(apply, values) if values else None)
