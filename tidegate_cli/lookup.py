"""Find what a person means: ids by prefix, and similar names for unknown ones."""

from __future__ import annotations

import difflib
import re
from collections.abc import Container, Sequence
from typing import TYPE_CHECKING
from urllib.parse import unquote, urlsplit

from tidegate_cli.api_client import ApiClient
from tidegate_cli.problems import NotFound, Problem, WrongUsage

if TYPE_CHECKING:
    from tidegate.web.models import DeploymentBrief, DeploymentDetails

_JOB = re.compile(r"(?P<deployment>.+)-(?P<kind>plan|apply|speculate)-[0-9]+")
#: What short ids are looked for in: the newest deployments of this many repositories.
_REPOSITORIES, _DEPLOYMENTS = 20, 50
#: Shorter beginnings would fit too much.
_SHORTEST = 4
_REPOSITORY = re.compile(r"[^/\s]++(/[^/\s]++)++")


def is_job(text: str) -> bool:
    """Tell whether ``text`` has the form of a job's id."""
    return _JOB.fullmatch(text) is not None


def is_of_pull_request(job: str) -> bool:
    """Tell whether a job plans for a pull request: it is a layer's, and no deployment's."""
    found = _JOB.fullmatch(job)
    return found is not None and found["kind"] == "speculate"


def deployment_of(job: str) -> str:
    """Return the id of the deployment that a job belongs to."""
    found = _JOB.fullmatch(job)
    return found["deployment"] if found else job


def id_in(text: str) -> str:
    """Return the id in ``text``: an id itself, or the address of a deployment's or job's page."""
    if "://" not in text:
        return text.strip()
    parts = [unquote(part) for part in urlsplit(text).path.split("/")]
    for kind in ("deployments", "jobs"):
        if kind in parts[:-1]:
            return parts[parts.index(kind) + 1]
    raise WrongUsage(
        f"{text} is not the URL of a deployment or a job.", "Give a deployment's id, or the URL of its page."
    )


def change_in(text: str) -> str | None:
    """Return the id in the address of a change's page; None for what is no such address."""
    parts = [unquote(part) for part in urlsplit(text).path.split("/")] if "://" in text else []
    return parts[parts.index("changes") + 1] if "changes" in parts[:-1] else None


def repository(text: str) -> str:
    """Return ``text`` if it has the form of a repository's name. Raise WrongUsage."""
    if not _REPOSITORY.fullmatch(text):
        raise WrongUsage(f"{text!r} is not the name of a repository.", "Use the form OWNER/NAME.")
    return text


def find_deployment(client: ApiClient, text: str, states: Container[str] = ()) -> DeploymentDetails:
    """Return the deployment with this id, or the only one whose id begins or ends so. Raise NotFound, WrongUsage.

    Of several of one root, return the only one in one of ``states``.
    """
    wanted = id_in(text)
    if not wanted or "/" in wanted:
        raise WrongUsage(f"{text!r} is not a deployment's id.", "tidegate status OWNER/NAME shows the ids.")
    try:
        return client.deployment(wanted)
    except NotFound:
        if is_job(wanted):
            raise _no_deployment(wanted) from None
        alike = _alike(client, wanted) if len(wanted) >= _SHORTEST else []
        if not alike:
            raise NotFound(
                f"There is no deployment {wanted}, or you may not see it.", "tidegate status OWNER/NAME shows the ids."
            ) from None
    meant = [each for each in alike if each.state in states] if len({each.root for each in alike}) == 1 else []
    if len(alike) > 1 and len(meant) != 1:
        from tidegate_cli import screen

        listed = (f"{each.id}  {screen.state(each.state)}" for each in alike[:10])
        raise WrongUsage(
            f"{wanted} matches several deployments.", "\n".join(["Give more characters of the id:", *listed])
        )
    return client.deployment((meant or alike)[0].id)


def _no_deployment(job: str) -> NotFound:
    """Return what to say to who gives a job where a deployment belongs."""
    hints = [f"tidegate logs {job} shows its log."]
    if not is_of_pull_request(job):
        hints.append(f"tidegate status {deployment_of(job)} shows its deployment.")
    return NotFound(f"{job} is a job's id, not a deployment's.", "\n".join(hints))


def _alike(client: ApiClient, wanted: str) -> list[DeploymentBrief]:
    found: dict[str, DeploymentBrief] = {}
    for known in client.repositories()[:_REPOSITORIES]:
        for deployment in client.deployments(known.name, limit=_DEPLOYMENTS):
            if deployment.id.startswith(wanted) or deployment.id.endswith(wanted):
                found[deployment.id] = deployment
    return list(found.values())


def check_root(client: ApiClient, repository: str, root: str) -> None:
    """Raise NotFound with the names that may have been meant when the repository has no such root (any more)."""
    if root not in [known.name for known in client.roots(repository)]:
        raise explained(client, NotFound(f"{repository} has no root {root}."), repository, [root])


def explained(client: ApiClient, problem: NotFound, repository: str, roots: Sequence[str] = ()) -> Problem:
    """Return the problem with the names that may have been meant."""
    try:
        known = [item.name for item in client.repositories()]
        if repository not in known:
            return NotFound(
                f"There is no repository {repository} here, or you may not see it.",
                _meant(repository, known, "repositories"),
            )
        names = [root.name for root in client.roots(repository)]
    except Problem:
        return problem
    missing = [root for root in roots if root not in names]
    if not missing:
        return problem
    return NotFound(
        f"{repository} has no root {', '.join(missing)}.", "\n".join(_meant(root, names, "roots") for root in missing)
    )


def _meant(wanted: str, known: Sequence[str], kind: str) -> str:
    near = difflib.get_close_matches(wanted.lower(), [name.lower() for name in known], n=3, cutoff=0.5)
    named = [name for name in known if name.lower() in near]
    if named:
        return f"Did you mean {' or '.join(named)}?"
    if not known:
        return f"Tidegate knows no {kind} yet: they appear with the first push to the default branch."
    more = f" and {len(known) - 10} more" if len(known) > 10 else ""  # noqa: PLR2004 - what fits in two lines
    return f"Known {kind}: {', '.join(known[:10])}{more}."
