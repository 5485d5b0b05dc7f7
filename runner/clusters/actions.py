"""The built-in actions: what the hooks of the built-in registrars do, and tasks that are the same."""

from __future__ import annotations

import base64
import json
from collections.abc import Callable, Mapping, Sequence
from datetime import UTC, datetime, timedelta

from runner.clusters.api import Api
from runner.clusters.installing import Installed, install
from runner.clusters.objects import Identity, Object
from runner.clusters.pausing import AGENTS
from runner.clusters.providers.protocol import Provider
from runner.clusters.providers.simulated import Simulated
from runner.clusters.values import Values
from runner.clusters.work import Work
from runner.faults import TaskFailed
from tidegate.clusters.rules.context import Access, ClusterReference, Key
from tidegate.clusters.rules.plan import VersionChange
from tidegate.deploys.rules.cluster import ComponentRole, DeclaredComponent

#: The component with the IAM authenticator, and the name of the secret with its authority.
AUTHENTICATOR = "aws-iam-authenticator"
_AUTHORITY = Identity("v1", "Secret", "kube-system", AUTHENTICATOR)
_TEN_YEARS = timedelta(days=3650)


def required(work: Work, key: Key) -> ClusterReference:
    """Return how to reach a cluster. Raise TaskFailed if nothing in the context says so."""
    if (found := work.reference(key)) is None:
        raise TaskFailed(f"Nothing has said yet how to reach the {key}.")
    return found


def install_on(
    work: Work, provider: Provider, key: Key, components: Sequence[DeclaredComponent]
) -> tuple[VersionChange, ...]:
    """Install components on a cluster, and return the versions that have changed."""
    reference = required(work, key)
    if reference.access is Access.SIMULATED:
        return _simulated(provider).components(key, {each.name: each.version for each in components})
    installed = install(work, work.api(reference), components)
    return tuple(VersionChange(each.name, each.before, each.after) for each in installed if _is_new(each))


def _is_new(installed: Installed) -> bool:
    return installed.changed or installed.before != installed.after


def _simulated(provider: Provider) -> Simulated:
    if not isinstance(provider, Simulated):
        raise TaskFailed("Only the simulated provider has simulated clusters.")
    return provider


def write_configuration(work: Work) -> None:
    """Write the configuration of the cluster as it is now to the bucket, without secrets."""
    key = work.bucket.key("configuration.json")
    content = json.dumps(_configuration(work), indent=1, sort_keys=True).encode()
    if work.bucket.stored(key) == content:
        work.find("the stored configuration is the same")
        return
    work.bucket.store(key, content)
    work.say(f"wrote {key}")


def _configuration(work: Work) -> Object:
    cluster, reference = work.order.cluster, work.reference(work.own_key)
    return {
        "name": cluster.name,
        "kind": cluster.kind,
        "provider": cluster.provider,
        "management": cluster.management,
        "kubernetes": work.spec.get("kubernetes"),
        "gitops": work.spec.get("gitops", "none"),
        "components": [{"name": each.name, "role": each.role, "version": each.version} for each in cluster.components],
        "reference": {"access": reference.access, "place": reference.place} if reference else None,
        "specification": work.plan.spec_hash,
        "revision": work.job.sha,
    }


def _install_resources(_work: Work, provider: Provider) -> Values:
    provider.install_resources(Key.MANAGEMENT)
    return {}


def _install_agent(work: Work, provider: Provider) -> Values:
    agent = str(work.spec.get("gitops") or "none")
    if agent == "none":
        work.find("the cluster's file names no GitOps agent")
        return {}
    install_on(work, provider, work.own_key, [_component(work, agent)])
    return {}


def _component(work: Work, name: str) -> DeclaredComponent:
    for each in work.order.cluster.components:
        if each.name == name:
            return each
    raise TaskFailed(f"The cluster {work.name} has no component {name}: declare it, with its path, in tidegate.yaml.")


def _install_packages(work: Work, provider: Provider) -> Values:
    others = (*AGENTS, AUTHENTICATOR)
    packages = [
        each for each in work.order.cluster.components if each.role is ComponentRole.PACKAGE and each.name not in others
    ]
    if not install_on(work, provider, work.own_key, packages):
        work.find("all packages are there")
    return {}


def _write_configuration(work: Work, _provider: Provider) -> Values:
    write_configuration(work)
    return {}


def _create_authority(work: Work, _provider: Provider) -> Values:
    reference = required(work, Key.BOOTSTRAP)
    if reference.access is not Access.SIMULATED:
        _authority(work.api(reference), work.name)
    return {"iam-authority": _AUTHORITY.name}


def _install_authenticator(work: Work, provider: Provider) -> Values:
    """The authority is that of the bootstrap cluster, where there is one: certificates stay valid."""
    reference = required(work, Key.WORKLOAD)
    if reference.access is Access.EKS:
        work.find("EKS authenticates by IAM itself")
        return {}
    if AUTHENTICATOR not in {each.name for each in work.order.cluster.components}:
        work.warn(f"Nobody reaches {work.name} by IAM: it has no component {AUTHENTICATOR}.")
        return {}
    if reference.access is not Access.SIMULATED:
        api, first = work.api(reference), work.reference(Key.BOOTSTRAP)
        kept = work.api(first).get(_AUTHORITY) if first and work.context.has("iam-authority") else None
        _authority(api, work.name, kept)
    install_on(work, provider, Key.WORKLOAD, [_component(work, AUTHENTICATOR)])
    return {}


def _authority(api: Api, name: str, kept: Object | None = None) -> None:
    """Make the secret with the authority, unless it is there: a second one would make certificates invalid."""
    if api.get(_AUTHORITY) is not None:
        return
    data = kept["data"] if kept else _new_authority(name)
    metadata = {"name": _AUTHORITY.name, "namespace": _AUTHORITY.namespace}
    api.apply({"apiVersion": "v1", "kind": "Secret", "type": "kubernetes.io/tls", "metadata": metadata, "data": data})


def _new_authority(name: str) -> Mapping[str, str]:
    from cryptography import x509  # noqa: PLC0415  # Only the image for clusters has it.
    from cryptography.hazmat.primitives import hashes, serialization  # noqa: PLC0415
    from cryptography.hazmat.primitives.asymmetric import ec  # noqa: PLC0415
    from cryptography.x509.oid import NameOID  # noqa: PLC0415

    key, now = ec.generate_private_key(ec.SECP256R1()), datetime.now(UTC)
    subject = x509.Name([x509.NameAttribute(NameOID.COMMON_NAME, f"{AUTHENTICATOR}-{name}"[:64])])
    certificate = (
        x509.CertificateBuilder()
        .subject_name(subject)
        .issuer_name(subject)
        .public_key(key.public_key())
        .serial_number(x509.random_serial_number())
        .not_valid_before(now - timedelta(hours=1))
        .not_valid_after(now + _TEN_YEARS)
        .add_extension(x509.BasicConstraints(ca=True, path_length=0), critical=True)
        .sign(key, hashes.SHA256())
    )
    pem = serialization.Encoding.PEM
    plain = serialization.NoEncryption()
    parts = {
        "tls.crt": certificate.public_bytes(pem),
        "tls.key": key.private_bytes(pem, serialization.PrivateFormat.PKCS8, plain),
    }
    return {part: base64.b64encode(content).decode() for part, content in parts.items()}


#: The actions by the names that hooks have for them.
ACTIONS: Mapping[str, Callable[[Work, Provider], Values]] = {
    "install-resources": _install_resources,
    "install-gitops-agent": _install_agent,
    "install-packages": _install_packages,
    "write-configuration": _write_configuration,
    "create-iam-authority": _create_authority,
    "install-iam-authenticator": _install_authenticator,
}
