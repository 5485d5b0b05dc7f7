"""EKS: tokens as botocore would sign them, and kubeconfigs that make them when needed."""

from __future__ import annotations

import base64
import json
import os
import subprocess
import sys
from urllib.parse import parse_qs, urlsplit

import botocore.auth
import botocore.awsrequest
import botocore.credentials
import pytest

from runner.clusters.eks import EksCluster, credential, describe, login_environment, presigned
from runner.clusters.kubeconfigs import eks_kubeconfig
from runner.faults import ClusterUnreachable, TaskFailed
from tidegate.aws.signing import Credentials

ARN = "arn:aws:eks:eu-west-1:123456789012:cluster/shop"
KEYS = {"AWS_ACCESS_KEY_ID": "AKIAEXAMPLE", "AWS_SECRET_ACCESS_KEY": "secret/key+0123", "AWS_SESSION_TOKEN": "to/ken=="}


def test_a_token_is_signed_as_by_botocore():
    cluster = EksCluster.from_arn(ARN)
    keys = Credentials(*KEYS.values())
    url = "https://sts.eu-west-1.amazonaws.com/?Action=GetCallerIdentity&Version=2011-06-15"
    request = botocore.awsrequest.AWSRequest("GET", url, headers={"x-k8s-aws-id": "shop"})
    signer = botocore.auth.SigV4QueryAuth(
        botocore.credentials.Credentials(*KEYS.values()), "sts", "eu-west-1", expires=60
    )
    signer.add_auth(request)
    theirs = parse_qs(urlsplit(request.url).query)
    ours = parse_qs(urlsplit(presigned(cluster, keys, theirs["X-Amz-Date"][0])).query)
    assert ours == theirs


def test_a_credential_names_its_end_and_no_key():
    said = json.loads(credential(ARN, KEYS))
    token = said["status"]["token"].removeprefix("k8s-aws-v1.")
    assert "secret/key" not in base64.urlsafe_b64decode(token + "==").decode()
    assert said["status"]["expirationTimestamp"].endswith("Z")


@pytest.mark.parametrize(
    "arn",
    [
        "arn:aws:s3:::bucket",
        "arn:aws:eks:evil.example/:123456789012:cluster/shop",
        "arn:aws:eks:eu-west-1:123456789012:cluster/shop/../other",
        f"{ARN}\n",
    ],
)
def test_what_is_no_arn_of_a_cluster_is_refused(arn):
    with pytest.raises(TaskFailed, match="ARN"):
        EksCluster.from_arn(arn)


def test_a_cluster_of_the_same_name_in_another_account_is_not_meant(aws):
    aws.eks["shop"] = {"arn": ARN.replace("123456789012", "210987654321"), "status": "ACTIVE"}
    with pytest.raises(TaskFailed, match="210987654321"):
        describe(EksCluster.from_arn(ARN), {**KEYS, "AWS_ENDPOINT_URL": aws.url})


def test_a_cluster_is_described_or_is_not_there(aws):
    environ = {**KEYS, "AWS_ENDPOINT_URL": aws.url}
    cluster = EksCluster.from_arn(ARN)
    assert describe(cluster, environ) is None
    aws.eks["shop"] = {"arn": ARN, "endpoint": "https://example.com", "status": "ACTIVE"}
    assert describe(cluster, environ)["endpoint"] == "https://example.com"
    with pytest.raises(ClusterUnreachable):
        describe(cluster, {**KEYS, "AWS_ENDPOINT_URL": "http://127.0.0.1:1"})


def test_the_kubeconfig_has_a_command_that_prints_a_credential_with_the_engines_keys_alone(monkeypatch):
    monkeypatch.setenv("AWS_ACCESS_KEY_ID", "AKIARUNNERSOWN")
    command = ["python3", "-m", "runner.clusters.eks_token", ARN]
    made = json.loads(eks_kubeconfig("shop", "https://example.com", "QQ==", command, login_environment(KEYS)).text)
    login = made["users"][0]["user"]["exec"]
    environ = {**os.environ, **{each["name"]: each["value"] for each in login["env"]}}
    argv = [sys.executable, *login["args"]]
    said = json.loads(subprocess.run(argv, env=environ, capture_output=True, check=True).stdout)
    token = said["status"]["token"].removeprefix("k8s-aws-v1.")
    assert "AKIAEXAMPLE" in base64.urlsafe_b64decode(token + "==").decode()
