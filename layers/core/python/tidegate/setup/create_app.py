"""Create the GitHub App from the installation's own page: begin with the one-time code, finish with GitHub's."""

from __future__ import annotations

import secrets
from collections.abc import Collection, Iterator
from dataclasses import dataclass, replace
from typing import Any

from tidegate.ports import Ports
from tidegate.rules.errors import Conflict, ForgeRefused, ForgeUnavailable
from tidegate.setup.rules.app_needs import Granted, manifest, missing, needs
from tidegate.setup.rules.created_app import CreatedApp
from tidegate.setup.rules.refusals import (
    AlreadySetUp,
    AppNotCreated,
    NoSuchOrganization,
    SetupNotBegun,
    WrongSetupCode,
)
from tidegate.setup.rules.setup_code import STATE_SECONDS, SetupCode, digest, is_begun, is_code, is_organization

_STATE_BYTES = 24


@dataclass(frozen=True, slots=True)
class Begun:
    """A form for GitHub: where it goes, its manifest, and the state that GitHub brings back."""

    address: str
    manifest: dict[str, Any]
    state: str


@dataclass(frozen=True, slots=True)
class Finding:
    """What a check of the new App found, and what to do; nothing to do if it ``holds``."""

    holds: bool
    found: str
    do: str = ""


@dataclass(frozen=True, slots=True)
class Finished:
    """The new App, and what its checks found."""

    app: CreatedApp
    findings: tuple[Finding, ...]


def begin_app(ports: Ports, code: str, organization: str, options: Collection[str]) -> Begun:
    """Return the form that creates the App at GitHub.

    Raise WrongSetupCode, NoSuchOrganization, AlreadySetUp.
    """
    stored = ports.setup_codes.read()
    if stored is None or not is_code(stored, code, ports.seconds()):
        raise WrongSetupCode
    if organization and not is_organization(organization):
        raise NoSuchOrganization(organization)
    _refuse_second(ports)
    state = secrets.token_urlsafe(_STATE_BYTES)
    ends = int(ports.seconds()) + STATE_SECONDS
    begun = replace(stored, state_digest=digest(state), state_ends=ends, options=tuple(sorted(options)))
    try:
        ports.setup_codes.begin(begun)
    except Conflict as error:
        raise WrongSetupCode from error
    name = f"Tidegate {organization}".strip()
    form = manifest(ports.web_url, ports.webhook_url, name, _needed(ports, begun))
    return Begun(ports.app_manifests.address(organization, state), form, state)


def finish_app(ports: Ports, code: str, state: str) -> Finished:
    """Take over the App that GitHub has created, store its secrets, and check it. Works once for a state.

    Raise SetupNotBegun, AlreadySetUp, AppNotCreated.
    """
    stored = ports.setup_codes.read()
    if stored is None or not is_begun(stored, state, ports.seconds()):
        raise SetupNotBegun
    try:
        ports.setup_codes.claim(stored.state_digest)
    except Conflict as error:
        raise SetupNotBegun from error
    _refuse_second(ports)
    app = ports.app_manifests.convert(code)
    if app is None:
        raise AppNotCreated
    ports.app_secrets.create(app)
    ports.setup_codes.remove()
    return Finished(app, tuple(_findings(ports, app, _needed(ports, stored))))


def _refuse_second(ports: Ports) -> None:
    existing = ports.app_secrets.existing()
    if existing:
        raise AlreadySetUp(existing)


def _needed(ports: Ports, code: SetupCode) -> Granted:
    return needs(code.options, has_operators=bool(ports.operators_team))


def _findings(ports: Ports, app: CreatedApp, needed: Granted) -> Iterator[Finding]:
    """Check the new App as ``tidegate doctor`` does, and where its webhooks go."""
    yield Finding(holds=True, found="Its key, webhook secret and client secret are in Secrets Manager.")
    try:
        granted = ports.app_manifests.granted(app)
    except (ForgeUnavailable, ForgeRefused) as error:
        yield Finding(holds=False, found=f"GitHub did not answer the App: {error}", do="Run `tidegate doctor` later.")
        return
    yield Finding(holds=True, found="GitHub accepts its key.")
    lacks = missing(granted, needed)
    yield (
        Finding(holds=False, found=f"It lacks {', '.join(lacks)}.", do="Add them in the App's settings.")
        if lacks
        else Finding(holds=True, found="It has its permissions and events.")
    )
    wanted = ports.webhook_url
    yield (
        Finding(holds=True, found=f"Its webhooks go to {wanted}.")
        if granted.webhook == wanted
        else Finding(
            holds=False, found="Its webhooks go elsewhere.", do=f"Set the webhook URL {wanted} in the App's settings."
        )
    )
