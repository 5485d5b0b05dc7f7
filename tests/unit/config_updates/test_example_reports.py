"""What the documented manifests send is a report."""

from __future__ import annotations

import json
import re
from pathlib import Path

import pytest
import yaml

from tests.unit.config_updates.promotion_scenario import Promotions
from tidegate.config_updates.rules.flux import FluxReport, read_flux_event

EXAMPLES = Path(__file__).resolve().parents[3] / "examples" / "reports"
SHA = "1234567890abcdef1234567890abcdef12345678"
EVENT = {
    "involvedObject": {"apiVersion": "kustomize.toolkit.fluxcd.io/v1", "kind": "Kustomization", "name": "shop"},
    "metadata": {"kustomize.toolkit.fluxcd.io/revision": f"main@sha1:{SHA}"},
    "severity": "info",
    "reason": "ReconciliationSucceeded",
    "message": "Reconciliation finished in 1.4s, next run in 10m0s",
    "reportingController": "kustomize-controller",
    "timestamp": "2026-03-02T09:00:00Z",
}


def _documents(name):
    return list(yaml.safe_load_all((EXAMPLES / name).read_text(encoding="utf-8")))


def _reports(body):
    """Post a body to the verb, with a commit of the scenario in place of the sent one."""
    shop = Promotions()
    entry = shop.announce("one")
    sha = shop.land(entry, "one")
    sent = json.loads(body.replace(SHA, sha))
    assert set(sent) == {"config_sha", "result"}
    for each in ("s1", "s2", "s3"):
        shop.report(each, sent["config_sha"], succeeded=sent["result"] == "succeeded")
    return len(shop.waiting("internal")) == 1


def test_the_post_sync_job_reports():
    job, *_ = _documents("argo-cd-post-sync.yaml")
    assert job["metadata"]["annotations"]["argocd.argoproj.io/hook"] == "PostSync"
    (container,) = job["spec"]["template"]["spec"]["containers"]
    body = re.search(r'--data "(.*)"', container["args"][0])[1]
    assert _reports(body.replace('\\"', '"').replace("$sha", SHA))


@pytest.mark.parametrize(("template", "promotes"), [("tidegate-deployed", True), ("tidegate-failed", False)])
def test_argo_cd_notifications_report(template, promotes):
    (config,) = _documents("argo-cd-notifications.yaml")
    webhook = yaml.safe_load(config["data"][f"template.{template}"])["webhook"]["tidegate"]
    assert webhook["path"].endswith("/deployed")
    assert _reports(re.sub(r"\{\{\.app\.[\w.]+\.revision\}\}", SHA, webhook["body"])) is promotes


def test_an_event_of_flux_reports():
    provider, alert = _documents("flux-alert.yaml")
    assert (provider["spec"]["type"], alert["spec"]["providerRef"]["name"]) == ("generic", provider["metadata"]["name"])
    assert alert["spec"]["eventSources"][0]["kind"] == EVENT["involvedObject"]["kind"]
    assert read_flux_event(EVENT) == FluxReport(SHA, succeeded=True)


@pytest.mark.parametrize(
    ("change", "expected"),
    [
        ({"metadata": {"revision": f"main@sha1:{SHA}"}}, FluxReport(SHA, True)),
        ({"metadata": {"revision": f"main/{SHA}"}}, FluxReport(SHA, True)),
        ({"severity": "error", "reason": "HealthCheckFailed"}, FluxReport(SHA, False)),
        ({"severity": "error", "reason": "ReconciliationFailed"}, FluxReport(SHA, False)),
        ({"severity": "error", "reason": "DependencyNotReady"}, None),
        ({"reason": "Progressing"}, None),
        ({"metadata": {"revision": "latest@sha256:abc"}}, None),
        ({"metadata": {}}, None),
        ({"metadata": None}, None),
        ({"involvedObject": {"kind": "HelmRelease"}}, None),
        ({"involvedObject": "Kustomization"}, None),
    ],
)
def test_events_of_flux_by_their_reason(change, expected):
    assert read_flux_event({**EVENT, **change}) == expected
