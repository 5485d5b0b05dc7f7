"""What the workflows need to know of providers. What providers do is in runner/clusters/providers."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field

from tidegate.clusters.rules.refusals import BootstrapNotOffered, BootstrapNotSaid, NoContainerEngine
from tidegate.clusters.rules.spec import BootstrapPlace, Spec
from tidegate.clusters.rules.task import Capability
from tidegate.deploys.rules.cluster import ProviderName

_ANYWHERE = (BootstrapPlace.EXISTING, BootstrapPlace.EKS, BootstrapPlace.HOST)
_ALL = frozenset(Capability)
#: Tidegate makes none on a host: its kubeconfig would have to pass through the record of a Systems Manager command.
_OF_COMMANDS = {
    BootstrapPlace.EXISTING: frozenset({"bootstrap", "tasks"}),
    BootstrapPlace.EKS: frozenset({"bootstrap", "tasks"}),
    BootstrapPlace.HOST: frozenset({"tasks"}),
}


@dataclass(frozen=True, slots=True)
class ProviderFacts:
    """A provider. ``version`` is that of its behaviour: checkpoints of another one do not hold.

    ``capabilities`` decide which tasks its workflows have. ``places`` are where its bootstrap cluster may live, the
    first of them if the cluster's file says nothing; ``none`` among them makes it optional. ``says_how`` are the keys
    of the file's section ``provider``, of which one must say how a bootstrap cluster in a place comes about.
    ``upgrades`` tells that it changes the version of Kubernetes, so that the rules of upgrades hold.
    """

    name: ProviderName
    version: str
    capabilities: frozenset[Capability] = frozenset()
    places: tuple[BootstrapPlace, ...] = ()
    says_how: Mapping[BootstrapPlace, frozenset[str]] = field(default_factory=dict)
    upgrades: bool = True


#: The providers. A root module and an adopted cluster are changed from outside of any cluster. Commands may be of a
#: tool that needs a bootstrap cluster, if the cluster's file says so. The simulated one has all that there is.
PROVIDERS: Mapping[ProviderName, ProviderFacts] = {
    each.name: each
    for each in (
        ProviderFacts(ProviderName.TERRAFORM, "1"),
        ProviderFacts(ProviderName.EXISTING, "1", upgrades=False),
        ProviderFacts(ProviderName.COMMAND, "1", _ALL, (BootstrapPlace.NONE, *_ANYWHERE), _OF_COMMANDS),
        ProviderFacts(ProviderName.SIMULATED, "1", _ALL, (*_ANYWHERE, BootstrapPlace.NONE)),
    )
}


def bootstrap_place(provider: ProviderFacts, spec: Spec) -> BootstrapPlace:
    """Return where the bootstrap cluster of a cluster lives. Raise NoContainerEngine or BootstrapNotOffered."""
    if spec.bootstrap is BootstrapPlace.CONTAINER:
        raise NoContainerEngine(provider.places or (BootstrapPlace.NONE,))
    if not provider.places:
        if spec.bootstrap not in {None, BootstrapPlace.NONE}:
            raise BootstrapNotOffered(provider.name, str(spec.bootstrap), ())
        return BootstrapPlace.NONE
    place = spec.bootstrap or provider.places[0]
    if place not in provider.places:
        raise BootstrapNotOffered(provider.name, place, provider.places)
    return place


def refuse_unsaid(provider: ProviderFacts, spec: Spec, place: BootstrapPlace) -> None:
    """Raise BootstrapNotSaid if a management cluster's file does not say how its bootstrap cluster comes about."""
    if place in provider.says_how and not spec.makes_bootstrap & provider.says_how[place]:
        raise BootstrapNotSaid(place, sorted(provider.says_how[place]))
