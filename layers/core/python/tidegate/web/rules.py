"""The rule of each route of the API and the pages, in one table.

A route without an entry looks like one that does not exist.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from enum import Enum

from tidegate.clusters.rules.audit import ClusterOperation
from tidegate.config_updates.rules.operations import Operated, Operation, concerned
from tidegate.rules.access import Action


class Right(Enum):
    """What a route demands."""

    PUBLIC = "nothing"
    SIGNED_IN = "an account of the VCS provider"
    READ = "read permission on the repository"
    ACT = "what access control grants of the root or the environment"
    WRITE = "write permission on the repository"
    OPERATE = "membership in the operators' team"
    CI = "a token of a CI run that may announce it, which the route verifies"
    TARGET = "the target's token, which the route verifies"
    SLACK = "Slack's signature, which the route verifies"


class About(Enum):
    """What tells the repository that a request is about."""

    NOTHING = "none"
    REPOSITORY = "its name"
    ANY_REPOSITORY = "its name; if empty, all repositories that you may read"
    DEPLOYMENT = "the deployment's id"
    JOB = "the job's id"
    CHANGE = "the change's id"
    REQUEST = "the id of a request for deployments"
    ENVIRONMENTS = "a config repository's name, and which of its environments"
    CLUSTER = "a repository's name, and which of its clusters"


@dataclass(frozen=True, slots=True)
class Rule:
    """What a route demands, and for what; ``action`` is what is done there, ``at_gate`` by the answer that is given.

    ``operation`` is what is done with environments; None for the route of all of them, whose form names it. ``cluster``
    is what is done with a cluster.
    """

    right: Right
    about: About = About.NOTHING
    action: Action | None = None
    at_gate: bool = False
    operation: Operation | None = None
    cluster: ClusterOperation | None = None

    def done_by(self, given: Mapping[str, str]) -> Action | None:
        """Return what a request does: who lets others run again deploys, whatever the route is for.

        Whose approval is required, and may be given here, is not told by access control.
        """
        if self.action is None or not self.at_gate:
            return self.action
        return {"retry": Action.APPLY, "approve": None, "override": None}.get(given.get("decision", ""), self.action)

    def operated(self, repository: str, given: Mapping[str, str]) -> Operated:
        """Return what a request does to environments. An unknown word of a form is refused after this, as unknown.

        The API and the forms name the fields differently.
        """
        said = given.get("action", "")
        operation = self.operation or (Operation(said) if said in list(Operation) else Operation.PAUSE)
        names = _FIELDS_OF_API if self.operation else _FIELDS_OF_FORM
        return concerned(operation, repository, {key: given.get(name, "") for key, name in names})

    def right_for(self, given: Mapping[str, str]) -> Right:
        """Return what a request demands: only operators override what is required."""
        overrides = (self.at_gate and given.get("decision") == "override") or (
            self.about is About.ENVIRONMENTS
            and self.operated("", given).operation is Operation.ROLL_BACK
            and bool(given.get("override", "").strip())
        )
        return Right.OPERATE if overrides else self.right


_FIELDS_OF_API = (("entry", "id"), ("set", "image_set"), ("environment", "environment"), ("target", "target"))
_FIELDS_OF_FORM = tuple((key, key) for key, _ in _FIELDS_OF_API)
_PUBLIC, _SIGNED_IN = Rule(Right.PUBLIC), Rule(Right.SIGNED_IN)
_REVIEW = Rule(Right.ACT, About.DEPLOYMENT, Action.REVIEW)
_RERUN = Rule(Right.ACT, About.DEPLOYMENT, Action.APPLY)
_GATE = Rule(Right.ACT, About.DEPLOYMENT, Action.REVIEW, at_gate=True)
_UNLOCK = Rule(Right.ACT, About.REPOSITORY, Action.UNLOCK)
#: Whether access control of each root lets somebody who may write lock many is judged where these are known.
_LOCKS = Rule(Right.WRITE, About.REPOSITORY)
_LOOK = Rule(Right.WRITE, About.REPOSITORY)
#: Whether access control lets somebody review each plan, or who may write reject each root of a stack, is judged where
#: these are known.
_STOP = Rule(Right.WRITE, About.CHANGE)
_CONTINUE = Rule(Right.OPERATE, About.CHANGE)
_UPDATES = "/api/v1/config-updates/<owner>/<name>"
_SET = f"{_UPDATES}/sets/<image_set>"
_READ_UPDATES = Rule(Right.READ, About.REPOSITORY)
_CLUSTERS = "/clusters/<owner>/<name>"
_CLUSTER = f"{_CLUSTERS}/<cluster>"
_READ_CLUSTERS = Rule(Right.READ, About.REPOSITORY)
_RESUME = Rule(Right.ACT, About.CLUSTER, cluster=ClusterOperation.RESUME)
_RELEASE = Rule(Right.ACT, About.CLUSTER, cluster=ClusterOperation.RELEASE)


def _operating(what: Operation) -> Rule:
    return Rule(Right.ACT, About.ENVIRONMENTS, operation=what)


RULES: Mapping[str, Rule] = {
    "GET /.well-known/openid-configuration": _PUBLIC,
    "GET /.well-known/jwks.json": _PUBLIC,
    "GET /api": _PUBLIC,
    "GET /api/v1/openapi.json": _PUBLIC,
    "GET /api/v1/me": _SIGNED_IN,
    "GET /api/v1/repositories": _SIGNED_IN,
    "GET /api/v1/repositories/<owner>/<name>/roots": Rule(Right.READ, About.REPOSITORY),
    "GET /api/v1/queue": Rule(Right.READ, About.REPOSITORY),
    "POST /api/v1/queue/lock": _UNLOCK,
    "POST /api/v1/queue/unlock": _UNLOCK,
    "POST /api/v1/locks": _LOCKS,
    "POST /api/v1/locks/remove": _LOCKS,
    "GET /api/v1/deployments": Rule(Right.READ, About.ANY_REPOSITORY),
    "POST /api/v1/deployments": Rule(Right.OPERATE, About.REPOSITORY),
    "GET /api/v1/deployments/<id>": Rule(Right.READ, About.DEPLOYMENT),
    "POST /api/v1/deployments/<id>/review": _REVIEW,
    "POST /api/v1/deployments/<id>/gate": _GATE,
    "POST /api/v1/deployments/<id>/cancel": _REVIEW,
    "POST /api/v1/deployments/<id>/rerun": _RERUN,
    "GET /api/v1/changes/<id>": Rule(Right.READ, About.CHANGE),
    "POST /api/v1/changes/<id>/stop": _STOP,
    "POST /api/v1/changes/<id>/continue": _CONTINUE,
    "GET /api/v1/pulls": Rule(Right.READ, About.ANY_REPOSITORY),
    "GET /api/v1/pulls/<owner>/<name>/<number>": Rule(Right.READ, About.REPOSITORY),
    "GET /api/v1/drift": Rule(Right.READ, About.ANY_REPOSITORY),
    "POST /api/v1/drift/look": _LOOK,
    "GET /api/v1/notifications": Rule(Right.READ, About.REPOSITORY),
    "GET /api/v1/insights": Rule(Right.READ, About.ANY_REPOSITORY),
    "GET /api/v1/requests/<id>": Rule(Right.READ, About.REQUEST),
    "GET /api/v1/jobs/<id>": Rule(Right.READ, About.JOB),
    "GET /api/v1/jobs/<id>/log": Rule(Right.READ, About.JOB),
    f"PUT {_SET}/images/<app_sha>": Rule(Right.CI),
    f"POST {_SET}/targets/<target>/deployed": Rule(Right.TARGET),
    f"GET {_UPDATES}/queue": _READ_UPDATES,
    f"GET {_UPDATES}/entries/<id>": _READ_UPDATES,
    f"GET {_UPDATES}/sets": _READ_UPDATES,
    f"GET {_SET}": _READ_UPDATES,
    f"POST {_UPDATES}/queue/pause": _operating(Operation.PAUSE),
    f"POST {_UPDATES}/queue/resume": _operating(Operation.RESUME),
    f"POST {_UPDATES}/entries/<id>/evict": _operating(Operation.EVICT),
    f"POST {_UPDATES}/entries/<id>/retry": _operating(Operation.RETRY),
    f"POST {_SET}/hold": _operating(Operation.HOLD),
    f"POST {_SET}/release": _operating(Operation.RELEASE),
    f"POST {_SET}/targets/<target>/token": _operating(Operation.TOKEN),
    f"POST {_SET}/environments/<environment>/promote": _operating(Operation.PROMOTE),
    f"POST {_SET}/environments/<environment>/rollback": _operating(Operation.ROLL_BACK),
    f"GET /api/v1{_CLUSTERS}": _READ_CLUSTERS,
    f"GET /api/v1{_CLUSTER}": _READ_CLUSTERS,
    f"POST /api/v1{_CLUSTER}/resume": _RESUME,
    f"POST /api/v1{_CLUSTER}/release": _RELEASE,
    "GET /": _SIGNED_IN,
    "GET /search": _SIGNED_IN,
    "GET /repositories": _SIGNED_IN,
    "GET /deployments": _SIGNED_IN,
    "GET /environments": _SIGNED_IN,
    "GET /clusters": _SIGNED_IN,
    "GET /setup": _PUBLIC,
    "POST /setup": _PUBLIC,
    "GET /setup/created": _PUBLIC,
    "GET /login": _PUBLIC,
    "GET /login/callback": _PUBLIC,
    "POST /logout": _SIGNED_IN,
    "GET /static/<file>": _PUBLIC,
    "GET /repositories/<owner>/<name>": Rule(Right.READ, About.REPOSITORY),
    "GET /repositories/<owner>/<name>/deployments": Rule(Right.READ, About.REPOSITORY),
    "GET /queue": Rule(Right.READ, About.REPOSITORY),
    "POST /queue/lock": _UNLOCK,
    "POST /queue/unlock": _UNLOCK,
    "POST /locks": _LOCKS,
    "POST /locks/remove": _LOCKS,
    "GET /deployments/<id>": Rule(Right.READ, About.DEPLOYMENT),
    "POST /deployments/<id>/review": _REVIEW,
    "POST /deployments/<id>/gate": _GATE,
    "POST /deployments/<id>/cancel": _REVIEW,
    "POST /deployments/<id>/rerun": _RERUN,
    "GET /changes/<id>": Rule(Right.READ, About.CHANGE),
    "POST /changes/<id>/stop": _STOP,
    "POST /changes/<id>/review": Rule(Right.READ, About.CHANGE),
    "POST /changes/<id>/continue": _CONTINUE,
    "GET /config-updates/<owner>/<name>": Rule(Right.READ, About.REPOSITORY),
    "POST /config-updates/<owner>/<name>/act": Rule(Right.ACT, About.ENVIRONMENTS),
    f"GET {_CLUSTERS}": _READ_CLUSTERS,
    f"GET {_CLUSTER}": _READ_CLUSTERS,
    f"POST {_CLUSTER}/resume": _RESUME,
    f"POST {_CLUSTER}/release": _RELEASE,
    "GET /drift": Rule(Right.READ, About.ANY_REPOSITORY),
    "POST /drift/look": _LOOK,
    "GET /notifications": Rule(Right.READ, About.REPOSITORY),
    "GET /insights": Rule(Right.READ, About.ANY_REPOSITORY),
    "GET /insights/csv": Rule(Right.READ, About.ANY_REPOSITORY),
    "POST /slack/actions": Rule(Right.SLACK),
    "GET /account/slack": _SIGNED_IN,
    "POST /account/slack": _SIGNED_IN,
    "GET /pulls": Rule(Right.READ, About.ANY_REPOSITORY),
    "GET /pulls/<owner>/<name>/<number>": Rule(Right.READ, About.REPOSITORY),
    "GET /jobs/<id>": Rule(Right.READ, About.JOB),
    "GET /jobs/<id>/plan": Rule(Right.READ, About.JOB),
    "GET /jobs/<id>/lines": Rule(Right.READ, About.JOB),
    "GET /jobs/<id>/raw": Rule(Right.READ, About.JOB),
}
