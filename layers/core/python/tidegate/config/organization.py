"""The organization-wide file: what holds for all repositories, around and over what their own files say.

::

    defaults keys of tidegate.yaml, used where a repository's file does not have them forced keys of tidegate.yaml that
    replace the repository's limits engines that may run, and the least of all plan reviews overridable the keys that
    repositories may have; without it, all

A key is one of the file's top level, and whatever says the same of single roots, stacks or workflows further down.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field, replace
from hashlib import sha256
from typing import Annotated, Any, Self

from pydantic import BeforeValidator, Field, ValidationError, model_validator

from tidegate.config.limits import Limits
from tidegate.config.model.file import Configuration
from tidegate.config.model.roots import ReviewChoice, ReviewSection
from tidegate.config.refusals import refusal_of
from tidegate.config.section import Section, sections_of
from tidegate.config.values import FormatVersion, Name, as_list, empty_if_absent, refused
from tidegate.deploys.rules.review_rule import PlanReview, ReviewRule
from tidegate.documents.document import KEY, Document, Path, Place, read_document
from tidegate.notifications.rules.destination import DeclaredDestinations
from tidegate.roots.rules.root import EngineName
from tidegate.rules.errors import InvalidConfiguration, quoted

#: The file's key in the artifact bucket, by which messages name it.
ORGANIZATION = "configuration/organization.yaml"
#: Keys that are specific to one repository: its roots, their directories and its image sets.
_OF_REPOSITORIES = ("roots", "dirs", "config_updates")
_KEYS = tuple(key for key in Configuration.model_fields if key not in {"version", *_OF_REPOSITORIES})
#: How stacks say a key in other words.
_SYNONYMS = {"plan_review": ("plan_review", "auto_apply")}

_Empty = BeforeValidator(empty_if_absent)
_Keys = Annotated[
    dict[str, Any], _Empty, Field(description="Keys of `tidegate.yaml`, except roots, dirs and config_updates.")
]


class LimitsSection(Section):
    """What the organization allows, whatever repositories set."""

    engines: Annotated[
        dict[EngineName, Annotated[tuple[Name, ...], BeforeValidator(as_list)]] | None,
        Field(description="The engines that may run, each with its versions; `*` matches any text, as in `1.11.*`."),
    ] = None
    plan_review: Annotated[ReviewChoice, Field(description="The minimum for plan reviews.")] = ReviewSection()


class OrganizationSection(Section):
    """The whole file."""

    version: Annotated[FormatVersion, Field(description="The version of the file format.")] = 1
    defaults: _Keys = Field(default_factory=dict)
    forced: _Keys = Field(default_factory=dict)
    limits: Annotated[LimitsSection, _Empty, Field(description="What the organization allows.")] = LimitsSection()
    overridable: Annotated[
        tuple[Name, ...] | None,
        BeforeValidator(as_list),
        Field(
            description="The keys that repositories may set, including roots, dirs and config_updates. By default, all."
        ),
    ] = None

    @model_validator(mode="after")
    def _known(self) -> Self:
        known = (*_KEYS, *_OF_REPOSITORIES)
        unknown = next((key for key in self.overridable or () if key not in known), None)
        if unknown is not None:
            raise refused(
                f"'overridable' contains the unknown key {quoted(unknown)}", f"Allowed keys: {', '.join(known)}"
            )
        return self


@dataclass(slots=True)
class Layered(Document):
    """A repository's file merged with the organization's: refusals name the file that contains the mistake.

    ``around`` are the organization's top-level keys, each with the document and its path there.
    """

    around: Mapping[str, tuple[Document, Path]] = field(default_factory=dict)

    def place(self, path: Path) -> Place:
        """Return where a path stands in its own file."""
        outer = self.around.get(str(path[0])) if path else None
        # Not super(): a class with slots is created again, so that super() would not find it.
        return outer[0].place((*outer[1], *path)) if outer else Document.place(self, path)

    def refusal(self, path: Path, problem: str, allowed: str) -> InvalidConfiguration:
        """Return the refusal of what stands at a path, in its own file."""
        outer = self.around.get(str(path[0])) if path else None
        if outer:
            return outer[0].refusal((*outer[1], *path), problem, allowed)
        return Document.refusal(self, path, problem, allowed)


@dataclass(frozen=True, slots=True)
class Organization:
    """The organization's configuration. ``review`` is the review rule if neither file has one.

    ``digest`` identifies the file. ``destinations`` are those of the installation, None if they are not known.
    ``problem`` is why the organization's file is invalid: then no repository's is valid
    either.
    """

    review: PlanReview = PlanReview.ALWAYS
    document: Document | None = None
    section: OrganizationSection = field(default_factory=OrganizationSection)
    limits: Limits = field(default_factory=Limits)
    problem: InvalidConfiguration | None = None
    digest: str = ""
    destinations: DeclaredDestinations | None = None

    @property
    def says_nothing(self) -> bool:
        return self.document is None and self.problem is None

    def layered(self, document: Document) -> Document:
        """Return a repository's document merged with the organization's. Raise InvalidConfiguration.

        Raise a group of all keys that the organization does not allow.
        """
        if self.problem is not None:
            raise self.problem
        if self.document is None or not isinstance(document.content, dict):
            return document
        self._check(document)
        own = {key: value for key, value in document.content.items() if key not in self.section.forced}
        for key in self.section.forced:
            own = _without(own, key)
        content = {**self.section.defaults, **own, **self.section.forced}
        around: dict[str, tuple[Document, Path]] = {}
        for part, keys in (("defaults", self.section.defaults), ("forced", self.section.forced)):
            around |= {key: (self.document, (part,)) for key in keys if part == "forced" or key not in own}
        return Layered(document.file, content, document.places, around)

    def _check(self, document: Document) -> None:
        """Refuse keys that repositories may not have. Forced keys are replaced, not refused."""
        if self.section.overridable is None:
            return
        kept = {*self.section.overridable, *self.section.forced, "version"}
        places = [
            (key, path)
            for key in (*_KEYS, *_OF_REPOSITORIES)
            if key not in kept
            for path in _places(document.content, key)
        ]
        if places:
            raise ExceptionGroup("mistakes", [self._not_overridable(document, key, path) for key, path in places])

    def _not_overridable(self, document: Document, key: str, path: Path) -> InvalidConfiguration:
        line = self.document.place(("overridable",))[0] if self.document else 0
        problem = f"the organization's file decides the key {str(path[-1])!r} ({ORGANIZATION}:{line})"
        allowed = ", ".join(self.section.overridable or ())
        said = f" (it sets {key!r})" if path[-1] != key else ""
        return document.refusal((*path, KEY), problem + said, f"Repositories may set: {allowed or 'none'}")


def read_organization(raw: bytes | None, review: PlanReview = PlanReview.ALWAYS) -> Organization:
    """Return the organization's configuration; without a file, an empty one. It never raises: see ``problem``."""
    if raw is None:
        return Organization(review)
    found, digest = examine_organization(raw, review), sha256(raw).hexdigest()
    if isinstance(found, Organization):
        return replace(found, digest=digest)
    return Organization(review, problem=found[0], digest=digest)


def examine_organization(
    raw: bytes, review: PlanReview = PlanReview.ALWAYS, file: str = ORGANIZATION
) -> Organization | list[InvalidConfiguration]:
    """Return the organization's configuration, or all mistakes in its form."""
    try:
        document = read_document(file, raw)
        if not isinstance(document.content, dict):
            keys = ", ".join(OrganizationSection.model_fields)
            raise document.refusal((), "the file must be a mapping", f"Allowed keys: {keys}")
        section = OrganizationSection.model_validate(document.content)
        _check_keys(document, section)
    except InvalidConfiguration as error:
        return [error]
    except ValidationError as error:
        return [refusal_of(document, each, _SECTIONS) for each in error.errors()]
    except ExceptionGroup as group:
        return [each for each in group.exceptions if isinstance(each, InvalidConfiguration)]
    return Organization(review, document, section, _limits(document, section.limits))


_SECTIONS = sections_of(OrganizationSection)


def _check_keys(document: Document, section: OrganizationSection) -> None:
    """Refuse parts that could not stand in a repository's file. Raise a group of all that is wrong."""
    refusals = []
    for part, content in (("defaults", section.defaults), ("forced", section.forced)):
        known = {key: value for key, value in content.items() if key in _KEYS}
        for key in content.keys() - known.keys():
            allowed = f"Allowed keys: {', '.join(_KEYS)}"
            refusals.append(document.refusal((part, key, KEY), f"{quoted(key)} is not allowed here", allowed))
        inner = Layered(document.file, known, {}, dict.fromkeys(known, (document, (part,))))
        try:
            Configuration.model_validate(known)
        except ValidationError as error:
            refusals += [refusal_of(inner, each) for each in error.errors()]
    if refusals:
        raise ExceptionGroup("mistakes", refusals)


def _limits(document: Document, section: LimitsSection) -> Limits:
    line = document.place(("limits", "engines"))[0]
    least = ReviewRule(PlanReview.NEVER)
    rule = section.plan_review.rule(least)
    return Limits(None if rule == least else rule, section.engines, document.file, line)


def _places(content: Any, key: str) -> Iterator[Path]:
    """Yield where a repository's file says a key: at its top, and of single roots, stacks and workflows."""
    words = _SYNONYMS.get(key, (key,))
    if isinstance(content, dict):
        yield from ((word,) for word in words if word in content)
    for path, part in _parts(content):
        yield from ((*path, word) for word in words if word in part)


def _parts(content: Any) -> Iterator[tuple[Path, dict[str, Any]]]:
    """Yield the sections of single roots, stacks and workflows, which may say what the top level says."""
    for top in (("roots",), ("dirs",), ("stacks", "names"), ("workflows",)):
        for path, section in _entries(_at(content, top), top):
            yield path, section
            for inner in (("workspaces",), ("rules",), ("on_change",)):
                part = _at(section, inner)
                if inner == ("workspaces",):
                    yield from _entries(part, (*path, *inner))
                elif isinstance(part, dict):
                    yield (*path, *inner), part


def _entries(content: Any, path: Path) -> Iterator[tuple[Path, dict[str, Any]]]:
    pairs = content.items() if isinstance(content, dict) else enumerate(content) if isinstance(content, list) else ()
    yield from (((*path, name), section) for name, section in pairs if isinstance(section, dict))


def _at(content: Any, path: Path) -> Any:
    for part in path:
        content = content.get(part) if isinstance(content, dict) else None
    return content


def _without(content: dict[str, Any], key: str) -> dict[str, Any]:
    """Return a file's content without what it says of single roots, stacks and workflows about a key."""
    found = set(_places(content, key))
    return {name: _pruned(value, (name,), found) for name, value in content.items() if (name,) not in found}


def _pruned(content: Any, path: Path, found: set[Path]) -> Any:
    if isinstance(content, dict):
        kept = {name: value for name, value in content.items() if (*path, name) not in found}
        return {name: _pruned(value, (*path, name), found) for name, value in kept.items()}
    if isinstance(content, list):
        return [_pruned(value, (*path, number), found) for number, value in enumerate(content)]
    return content
