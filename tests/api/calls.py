"""A call of each route, and what has to be stored for it."""

from __future__ import annotations

from dataclasses import replace

from tests.api.world import Client
from tests.builders import REPOSITORY, any_drift, any_job, any_pull_request, any_pull_request_record, deployment_in
from tidegate.deploys.rules.deployment import State
from tidegate.ports import Delivery

#: How each route is called, about a repository: {id} is a deployment, {job} its plan job, {request} a request.
CALLS = {
    "GET /api/openapi.json": "/api/openapi.json",
    "GET /.well-known/openid-configuration": "/.well-known/openid-configuration",
    "GET /.well-known/jwks.json": "/.well-known/jwks.json",
    "GET /api/me": "/api/me",
    "GET /api/repositories": "/api/repositories",
    "GET /api/repositories/<owner>/<name>/roots": "/api/repositories/{repository}/roots",
    "GET /api/queue": "/api/queue?repository={repository}&root=network",
    "POST /api/queue/lock": ("/api/queue/lock", {"repository": "{repository}", "root": "network"}),
    "POST /api/queue/unlock": ("/api/queue/unlock", {"repository": "{repository}", "root": "network"}),
    "POST /api/locks": ("/api/locks", {"repository": "{repository}"}),
    "POST /api/locks/remove": ("/api/locks/remove", {"repository": "{repository}"}),
    "GET /api/deployments": "/api/deployments?repository={repository}",
    "POST /api/deployments": ("/api/deployments", {"repository": "{repository}", "roots": ["network"]}),
    "GET /api/deployments/<id>": "/api/deployments/{id}",
    "POST /api/deployments/<id>/review": ("/api/deployments/{id}/review", {"decision": "reject"}),
    "POST /api/deployments/<id>/cancel": ("/api/deployments/{id}/cancel", {}),
    "POST /api/deployments/<id>/gate": ("/api/deployments/{id}/gate", {"decision": "reject"}),
    "GET /api/changes/<id>": "/api/changes/{change}",
    "GET /api/drift": "/api/drift?repository={repository}",
    "POST /api/drift/look": ("/api/drift/look", {"repository": "{repository}", "schedule": "nightly"}),
    "GET /drift": "/drift?repository={repository}",
    "POST /drift/look": ("/drift/look", {"repository": "{repository}", "schedule": "nightly"}),
    "GET /api/pulls": "/api/pulls?repository={repository}",
    "GET /api/pulls/<owner>/<name>/<number>": "/api/pulls/{repository}/5",
    "GET /api/requests/<id>": "/api/requests/{request}",
    "GET /api/jobs/<id>": "/api/jobs/{job}",
    "GET /api/jobs/<id>/log": "/api/jobs/{job}/log",
    "GET /": "/",
    "GET /login": "/login",
    "GET /login/callback": "/login/callback",
    "POST /logout": ("/logout", {}),
    "GET /static/<file>": "/static/app.css",
    "GET /repositories/<owner>/<name>": "/repositories/{repository}",
    "GET /repositories/<owner>/<name>/deployments": "/repositories/{repository}/deployments",
    "GET /queue": "/queue?repository={repository}&root=network",
    "POST /queue/lock": ("/queue/lock", {"repository": "{repository}", "root": "network"}),
    "POST /locks": ("/locks", {"repository": "{repository}"}),
    "POST /locks/remove": ("/locks/remove", {"repository": "{repository}"}),
    "POST /queue/unlock": ("/queue/unlock", {"repository": "{repository}", "root": "network"}),
    "GET /deployments/<id>": "/deployments/{id}",
    "POST /deployments/<id>/review": ("/deployments/{id}/review", {"decision": "reject"}),
    "POST /deployments/<id>/cancel": ("/deployments/{id}/cancel", {}),
    "POST /deployments/<id>/gate": ("/deployments/{id}/gate", {"decision": "reject"}),
    "GET /changes/<id>": "/changes/{change}",
    "GET /pulls": "/pulls?repository={repository}",
    "GET /pulls/<owner>/<name>/<number>": "/pulls/{repository}/5",
    "GET /jobs/<id>": "/jobs/{job}",
    "GET /jobs/<id>/lines": "/jobs/{job}/lines",
    "GET /jobs/<id>/raw": "/jobs/{job}/raw",
}


def prepare(wires, repository=REPOSITORY):
    """Store a deployment that waits for review, its job and a request; return the names for CALLS."""
    (one,) = wires.changed(deployment_in(State.AWAITING_REVIEW, repository=repository), change="change-1")
    job = any_job(id=f"{one.id}-plan-1", deployment=one.id)
    wires.jobs.create(job)
    wires.pull_requests.save(any_pull_request_record(spec=any_pull_request(repository=repository)))
    wires.drifts.save(replace(any_drift(), repository=repository))
    request = Delivery("request-1", "manual", {"repository": repository, "installation": 7, "roots": []}, "2026")
    wires.deliveries.store(request)
    return {"repository": repository, "id": one.id, "job": job.id, "request": request.id, "change": "change-1"}


def call(client, route, names):
    target = CALLS[route]
    if isinstance(target, str):
        return client.get(target.format(**names))
    path, body = target
    filled = {name: value.format(**names) if isinstance(value, str) else value for name, value in body.items()}
    if " /api/" in route:
        return client.post_json(path.format(**names), filled)
    token = client.form_token() if client.cookies else ""
    return client.post_form(path.format(**names), csrf=token, **filled)


def client_for(wires, route, login):
    return Client(wires, f"token-of-{login}") if " /api/" in route else Client(wires).sign_in(login)
