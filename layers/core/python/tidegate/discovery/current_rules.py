"""Update re-runs to the default branch's current rules.

Access control, requirements and policy sets are those of the default branch's newest configuration: with the old ones,
somebody could use rights that were removed since. A review that was required before is required again.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace

from tidegate.changes.rules.change_set import Key, Member
from tidegate.config.configured import ConfiguredRoot, ConfiguredRoots
from tidegate.config.loaded import LoadedConfiguration
from tidegate.config.resolution import configure
from tidegate.config.trust import required
from tidegate.deploys.rules.deployment import Deployment
from tidegate.discovery.repository_source import Granted, read_granted
from tidegate.discovery.root_index import Deployable
from tidegate.discovery.save_policies import save_policies
from tidegate.ports import Ports
from tidegate.roots.rules.root import Engine
from tidegate.roots.rules.terms import tagged
from tidegate.rules.access import Access
from tidegate.rules.errors import InvalidConfiguration, NotFound, quoted

#: Why nobody may destroy a root that was deployed before there was access control, and that it does not mention.
_UNPLACED = (
    "no stack of the default branch's tidegate.yaml contains it any more, and it was deployed without access control"
)


def under_current_rules(ports: Ports, repository: str, again: Sequence[Deployment]) -> Mapping[str, Deployment | str]:
    """Return deployments of the default branch with current rules, by id, or why one is not run, as a sentence.

    Raise CloudUnavailable, ForgeUnavailable and ForgeRefused.
    """
    if not again:
        return {}
    branch = again[0].revision.branch
    try:
        return _ruled(ports, repository, read_granted(ports, repository, branch, branch), again)
    except (NotFound, InvalidConfiguration) as error:
        told = (
            f"Tidegate cannot determine what the default branch's tidegate.yaml allows now: {error} The deployment was "
            "not re-run."
        )
        return {each.id: told for each in again}


def _ruled(
    ports: Ports, repository: str, granted: Granted, again: Sequence[Deployment]
) -> Mapping[str, Deployment | str]:
    # The engine is the deployed one, and does not distinguish roots.
    roots = dict.fromkeys(replace(each.root, engine=Engine()) for each in again)
    configured = granted(granted.configuration, roots)
    by_key = {each.key: each for each in configured.roots}
    found = {each.id: _under(each, by_key.get(_key(each)), granted, configured) for each in again}
    let_in = [each for each in found.values() if isinstance(each, Deployment)]
    held = save_policies(ports, repository, granted, [deployable(each, by_key.get(_key(each))) for each in let_in])
    return {
        **found,
        **{each.id: replace(each, policies=replace(each.policies, sets=held.get(_key(each), ()))) for each in let_in},
    }


def _key(each: Deployment) -> Key:
    return each.root.name, each.stack


def deployable(each: Deployment, configured: ConfiguredRoot | None = None) -> Deployable:
    """Return a deployment as a member of a change, with what is known of its root."""
    known = configured or ConfiguredRoot(each.root, tagged(each.root), (), each.stack)
    return Deployable(Member(each.root, each.stack, ""), known)


def also_under(loaded: LoadedConfiguration, each: Deployment, branch: str) -> Deployment:
    """Return the destruction of a gone root with the default branch's current rules for such a root, in addition to its
    own. Its plan is reviewed in any case, as before.
    """
    found = configure(loaded, [each.root], branch, branch).roots
    if not found and loaded.policies is not None and each.settings.access is None:
        return replace(each, settings=replace(each.settings, access=Access((), (), (), (), denied=_UNPLACED)))
    for one in found:
        access = (
            each.settings.access.and_also(one.access)
            if each.settings.access and one.access
            else each.settings.access or one.access
        )
        wanted = required(loaded, one.tagged)
        more, unmatched = (
            tuple(dict.fromkeys((*each.settings.requires, *(wanted or ())))),
            each.settings.unmatched or wanted is None,
        )
        rule = each.settings.review_rule.and_also(one.review_rule)
        each = replace(
            each, settings=replace(each.settings, review_rule=rule, access=access, requires=more, unmatched=unmatched)
        )
    return each


def _under(
    each: Deployment, one: ConfiguredRoot | None, granted: Granted, configured: ConfiguredRoots
) -> Deployment | str:
    """Return a deployment with the rules of ``one``, its root in the default branch's current configuration."""
    if each.destroys_deployed:
        return also_under(granted.configuration, each, granted.branch)
    if one is None:
        return _refusal(each, configured)
    wanted = granted.requirements[one.key]
    return replace(
        each,
        settings=replace(
            each.settings,
            access=one.access,
            review_rule=each.settings.review_rule.and_also(one.review_rule),
            requires=wanted or (),
            unmatched=wanted is None,
        ),
        within=one.within,
        tags=one.tags,
        request=replace(each.request, foreign=not granted.has(each.root)),
    )


def _refusal(each: Deployment, configured: ConfiguredRoots) -> str:
    told = configured.refused.get(each.root.name) or configured.left_out.get(each.root.name)
    why = told or f"The root is no longer in the stack {quoted(each.stack)}."
    return f"The default branch's tidegate.yaml has no valid rules for this root: {why}"
