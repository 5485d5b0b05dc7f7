"""What is wired on AWS, and the credentials that it reads."""

from __future__ import annotations

import json

import pytest

from tests.adapters.aws import REGION
from tidegate.aws.boto import client
from tidegate.ports import Ports
from tidegate.rules.errors import CloudUnavailable
from tidegate.settings import InvalidSecretError

ENVIRONMENT = {
    "TIDEGATE_TABLE": "table",
    "TIDEGATE_CLUSTER": "tidegate",
    "TIDEGATE_ARTIFACT_BUCKET": "artifacts",
    "TIDEGATE_AUDIT_TOPIC": f"arn:aws:sns:{REGION}:123456789012:audit",
    "TIDEGATE_EVENT_BUS": "tidegate",
    "TIDEGATE_DISCOVERY_QUEUE": "https://sqs.example/pushes",
    "TIDEGATE_ACTION_QUEUE": "https://sqs.example/presses",
    "TIDEGATE_CHECK_RUN_QUEUE": "https://sqs.example/check-runs.fifo",
    "TIDEGATE_DEPLOY_STATE_MACHINE": f"arn:aws:states:{REGION}:123456789012:stateMachine:deploy",
    "TIDEGATE_APP_SECRET_NAME": "tidegate/github-app",
    "TIDEGATE_WEBHOOK_SECRET_NAME": "tidegate/webhook-secret",
    "TIDEGATE_WEBHOOK_URL": "https://api.example/webhooks/github",
    "TIDEGATE_WEB_URL": "https://api.example",
    "TIDEGATE_PULL_REQUEST_PLANS": "10",
    "TIDEGATE_RUNNER_SLOTS": "6",
    "TIDEGATE_DRIFT_SCHEDULES": "tidegate-drift",
    "TIDEGATE_DRIFT_STATE_MACHINE": f"arn:aws:states:{REGION}:123456789012:stateMachine:drift",
    "TIDEGATE_SCHEDULER_ROLE": "arn:aws:iam::123456789012:role/scheduler",
    "TIDEGATE_UNDELIVERED_QUEUE_ARN": f"arn:aws:sqs:{REGION}:123456789012:undelivered",
}

WIRED = sorted(name for name, value in vars(Ports).items() if type(value).__name__ == "cached_property")


def test_everything_that_is_wired_can_be_made(cloud):
    secret = {"app_id": "1", "private_key": "PEM", "client_id": "client", "client_secret": "secret"}
    client("secretsmanager").create_secret(Name="tidegate/github-app", SecretString=json.dumps(secret))
    ports = Ports(ENVIRONMENT)
    # GitHub is served here, and nobody has named a key of workload identity.
    assert {name for name in WIRED if getattr(ports, name) is None} == {
        "gitlab",
        "public_keys",
        "token_signer",
        "webhook_verifier",
    }


def test_the_apps_credentials_are_read_when_they_are_needed_and_once(cloud):
    secrets = client("secretsmanager")
    secret = json.dumps({"app_id": 123, "private_key": "PEM"})
    secrets.create_secret(Name="tidegate/github-app", SecretString=secret)
    ports = Ports(ENVIRONMENT)
    assert ports._app_credentials().app_id == "123"
    secrets.delete_secret(SecretId="tidegate/github-app", ForceDeleteWithoutRecovery=True)
    assert ports._app_credentials().private_key == "PEM"


def test_a_changed_secret_of_the_app_ends_sessions_within_five_minutes_and_is_used_on_when_it_cannot_be_read(cloud):
    secrets, seconds = client("secretsmanager"), [0.0]
    secret = {"app_id": "1", "private_key": "PEM", "client_id": "client", "client_secret": "leaked"}
    secrets.create_secret(Name="tidegate/github-app", SecretString=json.dumps(secret))
    ports = Ports(ENVIRONMENT)
    ports.app_secret._now = lambda: seconds[0]
    cookie = ports.sessions.begin("developer")
    changed = json.dumps({**secret, "client_secret": "new", "private_key": "NEW"})
    secrets.put_secret_value(SecretId="tidegate/github-app", SecretString=changed)
    seconds[0] = 299.0
    assert ports.sessions.read(cookie).login == "developer"
    seconds[0] = 300.0
    assert ports.sessions.read(cookie) is None
    assert (ports.oauth_client.client_secret, ports._app_credentials().private_key) == ("new", "NEW")
    secrets.delete_secret(SecretId="tidegate/github-app", ForceDeleteWithoutRecovery=True)
    seconds[0] = 900.0
    assert ports.oauth_client.client_secret == "new"


def test_credentials_that_cannot_be_read_are_a_passing_fault(cloud):
    with pytest.raises(CloudUnavailable, match="tidegate/github-app does not exist"):
        Ports(ENVIRONMENT)._app_credentials()


@pytest.mark.parametrize("secret", ["not JSON", "[]", "{}", '{"app_id": "1"}', '{"app_id": "", "private_key": ""}'])
def test_credentials_of_another_form_are_refused_with_what_is_expected(cloud, secret):
    client("secretsmanager").create_secret(Name="tidegate/github-app", SecretString=secret)
    with pytest.raises(InvalidSecretError, match="app_id"):
        Ports(ENVIRONMENT)._app_credentials()
