"""A call of each route, and what has to be stored for it."""

from __future__ import annotations

from dataclasses import replace

from tests.api.scenario import Client
from tests.builders import (
    REPOSITORY,
    amended,
    any_drift,
    any_job,
    any_pull_request,
    any_pull_request_record,
    deployment_in,
)
from tests.instants import utc
from tests.unit.clusters.cluster_scenario import ClusterScenario
from tests.unit.config_updates.verbs import APP_SHA, CONFIGURATION, HEAD, OTHER_SHA, images_of
from tidegate.config.model.file import FILE
from tidegate.config_updates.announce import announce_images
from tidegate.deploys.rules.state import State
from tidegate.ports import Delivery

#: How each route is called, about a repository: {id} is a deployment, {job} its plan job, {request} a request.
CALLS = {
    "GET /api": "/api",
    "GET /api/v1/openapi.json": "/api/v1/openapi.json",
    "GET /.well-known/openid-configuration": "/.well-known/openid-configuration",
    "GET /.well-known/jwks.json": "/.well-known/jwks.json",
    "GET /api/v1/me": "/api/v1/me",
    "GET /api/v1/repositories": "/api/v1/repositories",
    "GET /api/v1/repositories/<owner>/<name>/roots": "/api/v1/repositories/{repository}/roots",
    "GET /api/v1/queue": "/api/v1/queue?repository={repository}&root=network",
    "POST /api/v1/queue/lock": ("/api/v1/queue/lock", {"repository": "{repository}", "root": "network"}),
    "POST /api/v1/queue/unlock": ("/api/v1/queue/unlock", {"repository": "{repository}", "root": "network"}),
    "POST /api/v1/locks": ("/api/v1/locks", {"repository": "{repository}"}),
    "POST /api/v1/locks/remove": ("/api/v1/locks/remove", {"repository": "{repository}"}),
    "GET /api/v1/deployments": "/api/v1/deployments?repository={repository}",
    "POST /api/v1/deployments": ("/api/v1/deployments", {"repository": "{repository}", "roots": ["network"]}),
    "GET /api/v1/deployments/<id>": "/api/v1/deployments/{id}",
    "POST /api/v1/deployments/<id>/review": ("/api/v1/deployments/{id}/review", {"decision": "reject"}),
    "POST /api/v1/deployments/<id>/cancel": ("/api/v1/deployments/{id}/cancel", {}),
    "POST /api/v1/deployments/<id>/rerun": ("/api/v1/deployments/{id}/rerun", {}),
    "POST /api/v1/deployments/<id>/gate": ("/api/v1/deployments/{id}/gate", {"decision": "reject"}),
    "GET /api/v1/changes/<id>": "/api/v1/changes/{change}",
    "POST /api/v1/changes/<id>/stop": ("/api/v1/changes/{change}/stop", {"stack": "default"}),
    "POST /api/v1/changes/<id>/continue": ("/api/v1/changes/{change}/continue", {"stack": "default", "reason": "x"}),
    "GET /api/v1/drift": "/api/v1/drift?repository={repository}",
    "POST /api/v1/drift/look": ("/api/v1/drift/look", {"repository": "{repository}", "schedule": "nightly"}),
    "GET /api/v1/insights": "/api/v1/insights?repository={repository}",
    "GET /insights": "/insights?repository={repository}",
    "GET /insights/csv": "/insights/csv?repository={repository}",
    "GET /drift": "/drift?repository={repository}",
    "GET /api/v1/notifications": "/api/v1/notifications?repository={repository}",
    "GET /notifications": "/notifications?repository={repository}",
    "POST /drift/look": ("/drift/look", {"repository": "{repository}", "schedule": "nightly"}),
    "GET /api/v1/pulls": "/api/v1/pulls?repository={repository}",
    "GET /api/v1/pulls/<owner>/<name>/<number>": "/api/v1/pulls/{repository}/5",
    "GET /api/v1/requests/<id>": "/api/v1/requests/{request}",
    "GET /api/v1/jobs/<id>": "/api/v1/jobs/{job}",
    "GET /api/v1/jobs/<id>/log": "/api/v1/jobs/{job}/log",
    "PUT /api/v1/config-updates/<owner>/<name>/sets/<image_set>/images/<app_sha>": (
        f"/api/v1/config-updates/{{repository}}/sets/shop/images/{APP_SHA}",
        images_of(APP_SHA),
    ),
    "POST /api/v1/config-updates/<owner>/<name>/sets/<image_set>/targets/<target>/deployed": (
        "/api/v1/config-updates/{repository}/sets/shop/targets/staging-eu/deployed",
        {"config_sha": HEAD, "result": "succeeded"},
    ),
    "GET /api/v1/config-updates/<owner>/<name>/queue": "/api/v1/config-updates/{repository}/queue",
    "GET /api/v1/config-updates/<owner>/<name>/entries/<id>": "/api/v1/config-updates/{repository}/entries/{entry}",
    "GET /api/v1/config-updates/<owner>/<name>/sets": "/api/v1/config-updates/{repository}/sets",
    "GET /api/v1/config-updates/<owner>/<name>/sets/<image_set>": "/api/v1/config-updates/{repository}/sets/shop",
    **{
        f"POST /api/v1/config-updates/<owner>/<name>/{route}": (f"/api/v1/config-updates/{{repository}}/{path}", {})
        for route, path in (
            ("queue/pause", "queue/pause"),
            ("queue/resume", "queue/resume"),
            ("entries/<id>/evict", "entries/{entry}/evict"),
            ("entries/<id>/retry", "entries/{entry}/retry"),
            ("sets/<image_set>/hold", "sets/shop/hold"),
            ("sets/<image_set>/release", "sets/shop/release"),
            ("sets/<image_set>/targets/<target>/token", "sets/shop/targets/staging-eu/token"),
            ("sets/<image_set>/environments/<environment>/promote", "sets/shop/environments/production/promote"),
            ("sets/<image_set>/environments/<environment>/rollback", "sets/shop/environments/staging/rollback"),
        )
    },
    "GET /config-updates/<owner>/<name>": "/config-updates/{repository}",
    "POST /config-updates/<owner>/<name>/act": ("/config-updates/{repository}/act", {"action": "pause"}),
    **{
        f"{method} {before}/clusters/<owner>/<name>{route}": path if body is None else (path, body)
        for before in ("/api/v1", "")
        for method, route, path, body in (
            ("GET", "", f"{before}/clusters/{{repository}}", None),
            ("GET", "/<cluster>", f"{before}/clusters/{{repository}}/fleet", None),
            ("POST", "/<cluster>/resume", f"{before}/clusters/{{repository}}/fleet/resume", {}),
            (
                "POST",
                "/<cluster>/release",
                f"{before}/clusters/{{repository}}/fleet/release",
                {"reason": "It is hopeless.", **({} if before else {"confirm": "yes"})},
            ),
        )
    },
    "GET /": "/",
    "GET /search": "/search?q=network",
    "GET /repositories": "/repositories",
    "GET /deployments": "/deployments",
    "GET /environments": "/environments",
    "GET /clusters": "/clusters",
    "GET /login": "/login",
    "GET /login/callback": "/login/callback",
    "GET /setup": "/setup",
    "POST /setup": ("/setup", {}),
    "GET /setup/created": "/setup/created",
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
    "POST /deployments/<id>/rerun": ("/deployments/{id}/rerun", {}),
    "POST /deployments/<id>/gate": ("/deployments/{id}/gate", {"decision": "reject"}),
    "GET /changes/<id>": "/changes/{change}",
    "POST /changes/<id>/stop": ("/changes/{change}/stop", {"stack": "default"}),
    "POST /changes/<id>/review": ("/changes/{change}/review", {"decision": "reject", "plan": "{id}:"}),
    "POST /changes/<id>/continue": ("/changes/{change}/continue", {"stack": "default", "reason": "x"}),
    "POST /slack/actions": ("/slack/actions", {"payload": "{{}}"}),
    "GET /account/slack": "/account/slack",
    "POST /account/slack": ("/account/slack", {"request": "x", "code": "code"}),
    "GET /pulls": "/pulls?repository={repository}",
    "GET /pulls/<owner>/<name>/<number>": "/pulls/{repository}/5",
    "GET /jobs/<id>": "/jobs/{job}",
    "GET /jobs/<id>/plan": "/jobs/{job}/plan",
    "GET /jobs/<id>/lines": "/jobs/{job}/lines",
    "GET /jobs/<id>/raw": "/jobs/{job}/raw",
}


def prepare(wires, repository=REPOSITORY):
    """Store a deployment that waits for review, its job and a request; return the names for CALLS."""
    waiting = deployment_in(State.AWAITING_REVIEW, repository=repository)
    job = any_job(id=f"{waiting.id}-plan-1", deployment=waiting.id)
    planned = amended(waiting, plan=replace(waiting.planned.plan, job=job.id))
    (one,) = wires.changed(planned, change="change-1")
    wires.jobs.create(job)
    wires.pull_requests.save(any_pull_request_record(spec=any_pull_request(repository=repository)))
    wires.drifts.save(replace(any_drift(), repository=repository))
    request = Delivery("request-1", "manual", {"repository": repository, "roots": []}, utc("2026-01-01"))
    wires.deliveries.store(request)
    entry = config_repository(wires, repository)
    failed_cluster(wires, repository)
    return {
        "entry": entry,
        "repository": repository,
        "id": one.id,
        "job": job.id,
        "request": request.id,
        "change": "change-1",
    }


def config_repository(wires, repository=REPOSITORY):
    """Let a repository be a config repository with one announcement; return its entry's id."""
    wires.config_branches.heads["main"] = HEAD
    wires.config_branches.files[HEAD, FILE] = CONFIGURATION.encode()
    wires.config_branches.files[HEAD, "images/staging.json"] = b"{}"
    made = announce_images(wires.ports, repository, "shop", OTHER_SHA, images_of(OTHER_SHA), sequence=1, by="developer")
    return made.entry.id


def failed_cluster(wires, repository=REPOSITORY):
    """Store a cluster whose upgrade has failed, with something that it holds."""
    cluster = ClusterScenario(repository=repository, ports=wires.ports)
    cluster.failed_at("upgrade-cluster")
    return cluster


def call(client, route, names):
    target = CALLS[route]
    if isinstance(target, str):
        return client.get(target.format(**names))
    path, body = target
    filled = {name: value.format(**names) if isinstance(value, str) else value for name, value in body.items()}
    if " /api/" in route:
        return client.send_json(route.partition(" ")[0], path.format(**names), filled)
    token = client.form_token() if client.cookies else ""
    return client.post_form(path.format(**names), csrf=token, **filled)


def client_for(wires, route, login):
    return Client(wires, f"token-of-{login}") if " /api/" in route else Client(wires).sign_in(login)
