"""Load the file's bytes into declarations, or refusals with location, problem and allowed values."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace
from itertools import islice

from pydantic import ValidationError

from tidegate.config.cluster_sections import refused_clusters
from tidegate.config.declarations import DeclaredStack, DestinationBranch
from tidegate.config.loaded import DeclaredRoot, LoadedConfiguration, Misleading, RequirementCheck, without_file
from tidegate.config.misleading import misleading
from tidegate.config.model.file import FILE, SECTIONS, Configuration
from tidegate.config.model.rights import CheckSection
from tidegate.config.organization import Organization
from tidegate.config.refusals import MOST_LISTED, refusals_of, repeated_names, unknown_stacks
from tidegate.config.root_sections import Around as AroundRoots
from tidegate.config.root_sections import RootSections, root_sections
from tidegate.config.root_sections import around as around_roots
from tidegate.config.rules.apply_rules import ApplyRules
from tidegate.config.rules.config_updates import ConfigUpdates
from tidegate.config.section import keys_at
from tidegate.config.stack_sections import (
    declared_drift,
    declared_hooks,
    declared_policies,
    declared_stacks,
    declared_workflows,
    written,
)
from tidegate.config.update_sections import crossed_waits, declared_updates
from tidegate.deploys.rules.review_rule import PlanReview, ReviewRule
from tidegate.documents.document import KEY, Document, read_document
from tidegate.notifications.rules.destination import DeclaredDestinations
from tidegate.policies.rules.policy_set import PolicySet
from tidegate.rules.errors import InvalidConfiguration

#: The surrounding configuration.
Around = PlanReview | Organization


def always_reviewed() -> Around:
    """Return the default: every plan is reviewed."""
    return PlanReview.ALWAYS


__all__ = [
    "Around",
    "DeclaredRoot",
    "LoadedConfiguration",
    "Misleading",
    "RequirementCheck",
    "always_reviewed",
    "examine_configuration",
    "load_configuration",
    "without_file",
]


def load_configuration(
    raw: bytes | None, repository: str, around: Around = PlanReview.ALWAYS, file: str = FILE
) -> LoadedConfiguration:
    """Return the configuration for ``repository`` (``owner/name``); None is no file. Raise InvalidConfiguration.

    ``around`` is the organization's configuration, or just the default review rule. The first of several mistakes is
    raised, with the others.
    """
    loaded = examine_configuration(raw, repository, around, file)
    if isinstance(loaded, LoadedConfiguration):
        return loaded
    first, *others = loaded
    first.others = tuple(others)
    raise first


def examine_configuration(
    raw: bytes | None, repository: str, around: Around = PlanReview.ALWAYS, file: str = FILE
) -> LoadedConfiguration | list[InvalidConfiguration]:
    """Return the configuration, or all mistakes, in the order of lines."""
    organization = around if isinstance(around, Organization) else Organization(around)
    if raw is None and organization.says_nothing:
        return without_file(organization.review)
    try:
        own = Document(file, {}) if raw is None else read_document(file, raw)
        document = organization.layered(own)
        return _loaded(document, _validated(document), repository, organization)
    except InvalidConfiguration as error:
        return [error]
    except ExceptionGroup as group:
        refusals = [each for each in group.exceptions if isinstance(each, InvalidConfiguration)]
        return sorted(refusals, key=lambda refusal: (refusal.line, refusal.column or 0))


def _validated(document: Document) -> Configuration:
    if document.content is None:
        raise document.refusal((), "the file is empty, or larger than 1 MiB", "Add at least: version: 1")
    if not isinstance(document.content, dict):
        raise document.refusal((), "the file must be a mapping", f"Allowed keys: {', '.join(keys_at(SECTIONS, ()))}")
    try:
        return Configuration.model_validate(document.content)
    except ValidationError as error:
        told = refusals_of(document, error.errors(include_url=False))
        raise ExceptionGroup("mistakes", [*told, *unknown_stacks(document, told), *repeated_names(document)]) from None


def _loaded(
    document: Document, configuration: Configuration, repository: str, organization: Organization
) -> LoadedConfiguration:
    rule = configuration.plan_review.rule(ReviewRule(organization.review))
    outside = around_roots(configuration, repository, rule)
    sections, stacks, updates = _declared(document, configuration, outside, repository)
    wanted, rules = configuration.apply_requirements, configuration.apply_rules
    loaded = LoadedConfiguration(
        outside.engine,
        outside.defaults.when_modified,
        tuple(sections.roots) if configuration.declares_roots else None,
        rule,
        wanted.requirements(rules),
        _checks(document, wanted.checks, rules),
        engine_text=written(document, ("engine",), configuration.engine),
        defaults=outside.defaults,
        declarations=sections.declarations,
        globs=tuple(sections.globs),
        stacks=stacks,
        several=configuration.stacks.allow_workspace_in_multiple_stacks,
        workflows=declared_workflows(document, configuration.workflows),
        hooks=declared_hooks(document, configuration.hooks),
        policies=declared_policies(document, configuration.access_control),
        branch_tags=tuple(configuration.tags.branch.items()),
        dest_branch_tags=tuple(configuration.tags.dest_branch.items()),
        drift=declared_drift(document, configuration.drift),
        destination_branches=_destinations(document, configuration),
        pull_requests=configuration.pull_requests.rules,
        policy_sets=_policy_sets(document, configuration),
        applying=rules,
        limits=organization.limits,
        undelivered=_undelivered(configuration, repository, organization.destinations),
        masks=configuration.mask_patterns,
        clone=configuration.clone.settings,
        aws=written(document, ("aws",), configuration.aws),
        runner=written(document, ("runner",), configuration.runner),
        google=written(document, ("google",), configuration.google),
        azure=written(document, ("azure",), configuration.azure),
        config_updates=updates,
        clusters=tuple(sections.clusters),
        freezes=tuple(
            each.declared(document.place(("freeze", number))[0]) for number, each in enumerate(configuration.freeze)
        ),
        notifications=tuple(
            each.declared(document.place(("notifications", number))[0])
            for number, each in enumerate(configuration.notifications)
        ),
    )
    return replace(loaded, warnings=misleading(document, loaded))


def _declared(
    document: Document, configuration: Configuration, outside: AroundRoots, repository: str
) -> tuple[RootSections, tuple[DeclaredStack, ...], ConfigUpdates | None]:
    """Return roots, stacks and config updates. Raise a group of all mistakes in them."""
    sections, of_roots = root_sections(document, configuration, outside)
    stacks, of_stacks = declared_stacks(document, configuration.stacks)
    updates, of_updates = declared_updates(document, configuration.config_updates)
    of_clusters = [*islice(refused_clusters(document, configuration.clusters), MOST_LISTED)]
    if mistakes := [*of_roots, *of_stacks, *of_updates, *of_clusters]:
        raise ExceptionGroup("mistakes", mistakes)
    if updates and (of_both := crossed_waits(document, repository, updates.sets, [each.definition for each in stacks])):
        raise ExceptionGroup("mistakes", of_both)
    return sections, stacks, updates


def _checks(
    document: Document, sections: Sequence[CheckSection] | None, rules: ApplyRules
) -> tuple[RequirementCheck, ...] | None:
    if sections is None:
        return None
    lines = (document.place(("apply_requirements", "checks", number))[0] for number in range(len(sections)))
    return tuple(
        RequirementCheck(each.tag_query, each.requirements(rules), line)
        for each, line in zip(sections, lines, strict=True)
    )


def _undelivered(
    configuration: Configuration, repository: str, declared: DeclaredDestinations | None
) -> Mapping[str, str] | None:
    if declared is None:
        return None
    names = {name for each in configuration.notifications for name in each.destinations}
    return {name: problem for name in names if (problem := declared.problem(name, repository))}


def _destinations(document: Document, configuration: Configuration) -> tuple[DestinationBranch, ...]:
    return tuple(
        each.destination(document.place(("destination_branches", number))[0])
        for number, each in enumerate(configuration.destination_branches)
    )


def _policy_sets(document: Document, configuration: Configuration) -> tuple[PolicySet, ...]:
    return tuple(
        section.declared(name, document.place(("policy_sets", name, KEY))[0])
        for name, section in configuration.policy_sets.items()
    )
