"""Detect a file's tool: by its content, by its name if several match, or by the option."""

from __future__ import annotations

import posixpath
import re
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any

from tidegate.documents.document import Document
from tidegate_cli.converting import atlantis, digger, hcp, spacelift, terrateam
from tidegate_cli.converting.draft import Draft
from tidegate_cli.converting.kind import Kind
from tidegate_cli.problems import Refused


@dataclass(frozen=True, slots=True)
class _Format:
    title: str
    files: re.Pattern[str]
    fits: Callable[[Any], bool]
    draft_of: Callable[..., Draft]
    #: Whether its files may be of several repositories.
    exports: bool = False


def _words(text: str) -> frozenset[str]:
    return frozenset(text.split())


_ATLANTIS = _words(
    """
    version projects workflows policies autodiscover automerge parallel_apply parallel_plan
    delete_source_branch_on_merge emoji_reaction allowed_regexp_prefixes abort_on_execution_order_fail repo_locks
    silence_pr_comments
    """
)
_ATLANTIS_PROJECT = _words(
    """
    name branch dir workspace workflow terraform_distribution terraform_version autoplan plan_requirements
    apply_requirements import_requirements depends_on delete_source_branch_on_merge repo_locking repo_locks
    execution_order_group policy_check custom_policy_check silence_pr_comments
    """
)
_TERRATEAM = _words(
    """
    version enabled stacks dirs when_modified tags workflows engine hooks access_control apply_requirements automerge
    destination_branches drift notifications parallel_runs batch_runs config_builder tree_builder indexer storage
    cost_estimation checkout_strategy create_and_select_workspace default_tf_version integrations definitions
    default_branch_overrides
    """
)
_DIGGER = _words(
    """
    apply_after_merge respect_layers allow_draft_prs dependency_configuration delete_prior_comments
    disable_digger_apply_comment disable_digger_apply_status_check pr_locks projects auto_merge auto_merge_strategy
    comment_render_mode workflows telemetry collect_usage_data generate_projects traverse_to_nested_projects
    mention_drifted_projects_in_pr report_terraform_outputs reporting
    """
)
#: Keys that only projects of Atlantis have: Digger takes any.
_ONLY_ATLANTIS = _words(
    """
    terraform_distribution terraform_version autoplan plan_requirements import_requirements execution_order_group
    delete_source_branch_on_merge repo_locking repo_locks policy_check custom_policy_check silence_pr_comments
    """
)
#: Keys that only Tidegate's own file has.
_TIDEGATE = frozenset(["roots", "plan_review", "policy_sets", "apply", "merge_after_apply", "pull_requests"])


def _is_atlantis(content: Any) -> bool:
    if not isinstance(content, dict) or not content.keys() <= _ATLANTIS:
        return False
    if isinstance(content.get("workflows"), list):
        return False
    return content.get("version") in ("2", "3") or (
        bool(content.keys() - {"version"}) and content.get("version") is None and _has(content, _ATLANTIS_PROJECT)
    )


def _has(content: Mapping[str, Any], known: frozenset[str]) -> bool:
    """Tell whether all projects have keys only that are known."""
    return all(each.keys() <= known for each in _projects(content))


def _projects(content: Mapping[str, Any]) -> list[dict[str, Any]]:
    projects = content.get("projects")
    return [each for each in projects if isinstance(each, dict)] if isinstance(projects, list) else []


def _is_terrateam(content: Any) -> bool:
    return (
        isinstance(content, dict)
        and bool(content)
        and content.keys() <= _TERRATEAM
        and content.get("version") in (None, "1")
        and not isinstance(content.get("workflows"), dict)
        and not (content.keys() <= {"version", "stacks"} and not _has_names(content.get("stacks")))
    )


def _has_names(stacks: Any) -> bool:
    return isinstance(stacks, dict) and "names" in stacks


def _is_digger(content: Any) -> bool:
    return (
        isinstance(content, dict)
        and bool(content)
        and content.keys() <= _DIGGER
        and not isinstance(content.get("workflows"), list)
        and not any(each.keys() & _ONLY_ATLANTIS for each in _projects(content))
    )


def _is_hcp(content: Any) -> bool:
    pages = content if isinstance(content, list) else [content]
    return any(isinstance(page, dict) and "data" in page for page in pages) and "workspaces" in {
        item.get("type") for page in pages for item in _items(page) if isinstance(item.get("type"), str)
    }


def _items(page: Any) -> list[dict[str, Any]]:
    found = page.get("data") if isinstance(page, dict) else None
    return [each for each in (found if isinstance(found, list) else [found]) if isinstance(each, dict)]


_SPACELIFT = _words("version stack stacks stack_defaults inputs options maps module_version test_defaults tests")


def _is_spacelift(content: Any) -> bool:
    if not isinstance(content, dict) or not content.keys() <= _SPACELIFT:
        return False
    return bool(content.keys() - {"version"}) and not _has_names(content.get("stacks"))


_FORMATS = {
    Kind.ATLANTIS: _Format("Atlantis", re.compile(r"\.?atlantis.*\.ya?ml"), _is_atlantis, atlantis.draft_of),
    Kind.TERRATEAM: _Format(
        "Terrateam", re.compile(r"(\.terrateam/)?config\.ya?ml|.*terrateam.*"), _is_terrateam, terrateam.draft_of
    ),
    Kind.DIGGER: _Format("Digger", re.compile(r"\.?digger.*\.ya?ml"), _is_digger, digger.draft_of),
    Kind.HCP: _Format("HCP Terraform", re.compile(r".*\.json"), _is_hcp, hcp.draft_of, exports=True),
    Kind.SPACELIFT: _Format(
        "Spacelift",
        re.compile(r"(\.spacelift/)?config\.ya?ml|.*(spacelift|blueprint).*"),
        _is_spacelift,
        spacelift.draft_of,
        exports=True,
    ),
}


def draft_of(document: Document, kind: Kind, repository: str | None = None) -> Draft:
    """Return the draft of what a file says, of one repository where it may be of several."""
    found = _FORMATS[kind]
    if repository is not None and not found.exports:
        raise Refused(f"A file of {found.title} configures one repository.", "Omit --repository.")
    return found.draft_of(document, repository) if found.exports else found.draft_of(document)


def title_of(kind: Kind) -> str:
    """Return a tool's name."""
    return _FORMATS[kind].title


def kind_of(document: Document, asked: Kind | None) -> Kind:
    """Return the tool that a document is of. Raise Refused where that is not known."""
    if asked is not None:
        return asked
    content, file = document.content, document.file
    if isinstance(content, dict) and "apiVersion" in content and "kind" in content:
        raise Refused(
            f"{file} is a Kubernetes manifest ({str(content['kind'])[:40]}): tidegate convert does not read it.", _HOW
        )
    if isinstance(content, dict) and content.keys() & _TIDEGATE:
        raise Refused(f"{file} already seems to be a Tidegate file.", f"Check it: tidegate validate {file}")
    fitting = [kind for kind, each in _FORMATS.items() if each.fits(content)]
    if len(fitting) > 1:
        name = posixpath.basename(file)
        fitting = [kind for kind in fitting if _FORMATS[kind].files.fullmatch(name)] or fitting
    if len(fitting) == 1:
        return fitting[0]
    if not fitting:
        raise Refused(f"{file} is not from a tool that tidegate convert knows: {_seen(content)}.", _HOW)
    titles = " or ".join(title_of(kind) for kind in fitting)
    raise Refused(f"{file} may be from {titles}.", "Choose one: " + " or ".join(f"--from {kind}" for kind in fitting))


_HOW = f"If it is from one, name the tool: --from {', '.join(Kind)}."


#: Keys of a file of no known tool that are shown.
_SHOWN = 8


def _seen(content: Any) -> str:
    if isinstance(content, dict) and content:
        keys = list(content)
        return f"its keys are {', '.join(key[:40] for key in keys[:_SHOWN])}{', …' if len(keys) > _SHOWN else ''}"
    return "it is empty" if not content else "it is not a mapping"
