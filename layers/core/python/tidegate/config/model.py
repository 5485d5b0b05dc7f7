"""The keys of ``tidegate.yaml``."""

from __future__ import annotations

import re
from collections.abc import Callable, Sequence
from functools import lru_cache
from typing import Annotated, Any

from pydantic import AfterValidator, BaseModel, BeforeValidator, ConfigDict, Field
from pydantic_core import PydanticCustomError

from tidegate.config.patterns import root_patterns
from tidegate.domain.errors import InvalidName, quoted
from tidegate.domain.requirements import Requirements
from tidegate.domain.review_rule import PlanReview, ReviewRule
from tidegate.domain.root import Engine, EngineName, directory, root_name, workspace_name

FILE = "tidegate.yaml"

#: What changes a root when nothing else is said: files of its directory and below.
WHEN_MODIFIED = ("**/*.tf*", "**/*.tofu*", ".terraform.lock.hcl")

_VERSION = re.compile(r"\d{1,4}\.\d{1,4}\.\d{1,4}(-[0-9A-Za-z.]{1,30})?")


def refused(problem: str, allowed: str) -> PydanticCustomError:
    """Return a refusal that says what is wrong and what is allowed instead."""
    return PydanticCustomError("refused", "{problem}", {"problem": problem, "allowed": allowed})


def _named(check: Callable[[str], str]) -> AfterValidator:
    """Return the validator that makes of a refused name a refusal of the file."""

    def validate(text: str) -> str:
        try:
            return check(text)
        except InvalidName as error:
            allowed = error.advice[:1].upper() + error.advice[1:]
            raise refused(f"{_shown(text)} is not usable as {error.kind}", allowed) from error

    return AfterValidator(validate)


def _shown(text: str) -> str:
    return quoted(text)


def _directory_as_written(text: str) -> str:
    """Refuse what is no directory, and keep the key as it stands: so two spellings of one are seen."""
    directory(text)
    return text


def _exact_version(text: str) -> str:
    if not _VERSION.fullmatch(text):
        raise refused(f"{_shown(text)} is not an exact version", "Write a version such as 1.11.4, without operators")
    return text


def _usable_patterns(patterns: tuple[str, ...]) -> tuple[str, ...]:
    for pattern in patterns:
        if not _is_pattern(pattern):
            raise refused(
                f"{_shown(pattern)} is not a pattern",
                "Write paths relative to the root's directory, with *, ** and a leading ! for exceptions",
            )
    return patterns


@lru_cache(maxsize=1024)
def _is_pattern(pattern: str) -> bool:
    """Tell whether a pattern means something. Many directories have the same ones."""
    try:
        root_patterns(".", (pattern.replace("../", ""),))
    except ValueError:
        return False
    return True


def _patterns_alone(value: Any) -> Any:
    """Take ``{file_patterns: […]}``, the long form, as the list alone."""
    if isinstance(value, dict):
        for key in value:
            if key != "file_patterns":
                raise refused(f"unknown key {_shown(key)}", "Allowed here: file_patterns")
        return value.get("file_patterns")
    return value


def _engine_alone(value: Any) -> Any:
    """Take ``engine: tofu``, the short form, as a name without a version."""
    return {"name": value} if isinstance(value, str) else value


def _review_alone(value: Any) -> Any:
    """Take ``plan_review: manual``, the short form, as its first key alone."""
    return {"when": value} if isinstance(value, str) else value


def _flag(text: Any) -> Any:
    """Take the words for yes and no of YAML 1.2 only."""
    words = {"true": True, "false": False}
    if not isinstance(text, str) or text.lower() not in words:
        raise refused(f"{_shown(str(text))} is neither yes nor no", "Write true or false")
    return words[text.lower()]


def _known_version(text: Any) -> Any:
    """Refuse every version but 1, in words that help."""
    if str(text) != "1":
        raise refused(f"the version {_shown(str(text))} is not known", "Write version: 1")
    return 1


def _empty_if_absent(value: Any) -> Any:
    """Take a key without a value as an empty section."""
    return {} if value is None else value


Patterns = Annotated[
    tuple[Annotated[str, Field(min_length=1, max_length=1024)], ...],
    Field(max_length=1000),
    AfterValidator(_usable_patterns),
    BeforeValidator(_patterns_alone),
]


class Section(BaseModel):
    """A mapping of the file: other keys than its fields are refused."""

    model_config = ConfigDict(extra="forbid", frozen=True)


class EngineSection(Section):
    """Which program, and exactly which version of it."""

    name: EngineName = EngineName.TERRAFORM
    version: Annotated[str, AfterValidator(_exact_version)] | None = None

    @property
    def engine(self) -> Engine:
        return Engine(self.name, self.version)


EngineChoice = Annotated[EngineSection, BeforeValidator(_engine_alone)]
Flag = Annotated[bool, BeforeValidator(_flag)]
#: People that one plan can wait for: more than any team has at one time.
Count = Annotated[int, Field(ge=1, le=20)]


class ReviewSection(Section):
    """Which plans wait for people, for how many, and whether the change's authors count.

    What is left open is as it is around the section.
    """

    when: PlanReview | None = None
    approvals: Count | None = None
    exclude_authors: Flag | None = None

    def rule(self, around: ReviewRule) -> ReviewRule:
        """Return the rule, where ``around`` says what this section leaves open."""
        return ReviewRule(
            self.when or around.when,
            self.approvals or around.approvals,
            around.exclude_authors if self.exclude_authors is None else self.exclude_authors,
        )


ReviewChoice = Annotated[ReviewSection, BeforeValidator(_review_alone)]


class ApprovedSection(Section):
    """How many people must have approved a pull request before it is deployed by hand."""

    enabled: Flag = True
    any_of_count: Count = 1


class RequirementSection(Section):
    """A requirement that has nothing to set."""

    enabled: Flag = True


class RequirementsSection(Section):
    """What a pull request must fulfil before it is deployed by hand; what is not named is not required."""

    approved: Annotated[ApprovedSection | None, BeforeValidator(_empty_if_absent)] = None
    merge_conflicts: Annotated[RequirementSection | None, BeforeValidator(_empty_if_absent)] = None
    status_checks: Annotated[RequirementSection | None, BeforeValidator(_empty_if_absent)] = None

    @property
    def requirements(self) -> Requirements:
        return Requirements(
            approvals=self.approved.any_of_count if self.approved and self.approved.enabled else 0,
            mergeable=self.merge_conflicts is not None and self.merge_conflicts.enabled,
            checks=self.status_checks is not None and self.status_checks.enabled,
        )


class RootSection(Section):
    """One root of the list ``roots``. Its name is its directory when none is given."""

    name: Annotated[str, _named(root_name)] | None = None
    dir: Annotated[str, _named(directory)]
    workspace: Annotated[str, _named(workspace_name)] = "default"
    when_modified: Patterns | None = None
    engine: EngineChoice | None = None
    plan_review: ReviewChoice | None = None


class WorkspaceSection(Section):
    """One workspace of a directory."""

    name: Annotated[str, _named(root_name)] | None = None
    when_modified: Patterns | None = None
    engine: EngineChoice | None = None
    plan_review: ReviewChoice | None = None


class DirectorySection(Section):
    """One directory of the mapping ``dirs``; without ``workspaces`` it has the one named ``default``."""

    name: Annotated[str, _named(root_name)] | None = None
    workspaces: dict[
        Annotated[str, _named(workspace_name)], Annotated[WorkspaceSection, BeforeValidator(_empty_if_absent)]
    ] = {}
    when_modified: Patterns | None = None
    engine: EngineChoice | None = None
    plan_review: ReviewChoice | None = None


class Configuration(Section):
    """The whole file. Without ``roots`` and ``dirs``, roots are discovered as if there were no file."""

    version: Annotated[int, BeforeValidator(_known_version)]
    engine: EngineChoice = EngineSection()
    when_modified: Patterns = WHEN_MODIFIED
    plan_review: ReviewChoice = ReviewSection()
    apply_requirements: Annotated[RequirementsSection, BeforeValidator(_empty_if_absent)] = RequirementsSection()
    roots: tuple[RootSection, ...] | None = None
    dirs: (
        dict[
            Annotated[str, _named(_directory_as_written)],
            Annotated[DirectorySection, BeforeValidator(_empty_if_absent)],
        ]
        | None
    ) = None

    @property
    def declares_roots(self) -> bool:
        return self.roots is not None or self.dirs is not None


_SECTIONS: dict[tuple[str, ...], type[Section]] = {
    (): Configuration,
    ("engine",): EngineSection,
    ("plan_review",): ReviewSection,
    ("apply_requirements",): RequirementsSection,
    ("apply_requirements", "approved"): ApprovedSection,
    ("apply_requirements", "merge_conflicts"): RequirementSection,
    ("apply_requirements", "status_checks"): RequirementSection,
    ("roots", "*"): RootSection,
    ("roots", "*", "engine"): EngineSection,
    ("roots", "*", "plan_review"): ReviewSection,
    ("dirs", "*"): DirectorySection,
    ("dirs", "*", "engine"): EngineSection,
    ("dirs", "*", "plan_review"): ReviewSection,
    ("dirs", "*", "workspaces", "*"): WorkspaceSection,
    ("dirs", "*", "workspaces", "*", "engine"): EngineSection,
    ("dirs", "*", "workspaces", "*", "plan_review"): ReviewSection,
}


def keys_at(path: Sequence[str | int]) -> list[str]:
    """Return the keys that are allowed in the section at a path of the file."""
    for pattern, section in _SECTIONS.items():
        if len(pattern) == len(path) and all(want in {"*", have} for want, have in zip(pattern, path, strict=True)):
            return list(section.model_fields)
    return []
