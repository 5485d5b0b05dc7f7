"""EKS: how an API server is reached, and tokens for it, which are signed requests to STS."""

from __future__ import annotations

import base64
import hashlib
import hmac
import http.client
import json
import os
import re
import sys
import time
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any
from urllib.parse import quote, urlencode, urlsplit

from runner.faults import ClusterUnreachable, TaskFailed
from tidegate.aws.client import Aws, AwsError
from tidegate.aws.credentials import NoCredentialsError, standard_source
from tidegate.aws.signing import ALGORITHM, Credentials, Request, signed_headers

#: The variable of the kubeconfig's command with the variables of its credentials, as JSON.
ENVIRONMENT = "TIDEGATE_EKS_ENVIRONMENT"

_ARN = re.compile(
    r"arn:(?P<partition>aws[a-z-]*):eks:(?P<region>[a-z0-9-]{1,40}):(?P<account>[0-9]{12})"
    r":cluster/(?P<name>[A-Za-z0-9][A-Za-z0-9_-]{0,99})"
)
_EMPTY = hashlib.sha256(b"").hexdigest()
#: Seconds that a signed request holds; EKS accepts the token that it is for 15 minutes.
_SIGNED_SECONDS = 60
_TOKEN_SECONDS = 14 * 60
_TIMEOUT = 10.0
_OK, _FORBIDDEN, _TOO_MANY, _OF_SERVER = 200, 403, 429, 500
NOT_FOUND, IN_USE = 404, 409
_WORDS = {"GET": "describe", "POST": "create", "DELETE": "delete"}


@dataclass(frozen=True, slots=True)
class EksCluster:
    """An EKS cluster."""

    region: str
    account: str
    name: str
    partition: str = "aws"

    @classmethod
    def from_arn(cls, arn: str) -> EksCluster:
        """Return the cluster that an ARN names. Raise TaskFailed for what is none.

        It is part of addresses that signed requests go to.
        """
        if (found := _ARN.fullmatch(arn)) is None:
            raise TaskFailed(
                f"{arn[:200]!r} is not the ARN of an EKS cluster. Write arn:aws:eks:REGION:ACCOUNT:cluster/NAME."
            )
        return cls(found["region"], found["account"], found["name"], found["partition"])

    @property
    def arn(self) -> str:
        return f"arn:{self.partition}:eks:{self.region}:{self.account}:cluster/{self.name}"

    @property
    def domain(self) -> str:
        return "amazonaws.com.cn" if self.partition == "aws-cn" else "amazonaws.com"


class EksRefused(TaskFailed):
    """EKS refuses a call, with this HTTP status."""

    def __init__(self, what: str, status: int, text: bytes) -> None:
        super().__init__(f"EKS refuses to {what}: HTTP {status}: {text[:300].decode(errors='replace')}.")
        self.status = status


class EksAccount:
    """EKS in the region and the account of an engine's credentials, whose variables ``environ`` has."""

    def __init__(self, environ: Mapping[str, str], region: str = "", domain: str = "") -> None:
        self._environ = environ
        self._region = region or environ.get("AWS_REGION") or environ.get("AWS_DEFAULT_REGION") or ""
        chinese = self._region.startswith("cn-")
        self._domain = domain or ("amazonaws.com.cn" if chinese else "amazonaws.com")

    def cluster(self, name: str) -> Mapping[str, Any] | None:
        """Return what EKS knows of a cluster, None if there is none. Raise EksRefused or ClusterUnreachable."""
        try:
            found: Mapping[str, Any] = self.ask("GET", name)["cluster"]
        except EksRefused as refusal:
            if refusal.status == NOT_FOUND:
                return None
            raise
        return found

    def ask(self, method: str, name: str = "", body: Mapping[str, Any] | None = None) -> dict[str, Any]:
        """Return EKS's answer about the cluster ``name``, or about clusters. Raise EksRefused or ClusterUnreachable."""
        path = "/clusters" + (f"/{quote(name, safe='-_.~')}" if name else "")
        status, text = self._answer(method, path, json.dumps(body).encode() if body else b"")
        if status == _OK:
            answer: dict[str, Any] = json.loads(text)
            return answer
        refusal = EksRefused(f"{_WORDS[method]} the cluster {name or (body or {}).get('name')}", status, text)
        if status == _TOO_MANY or status >= _OF_SERVER:
            raise ClusterUnreachable(str(refusal))
        raise refusal

    def _answer(self, method: str, path: str, body: bytes) -> tuple[int, bytes]:
        environ = self._environ
        endpoint = environ.get("AWS_ENDPOINT_URL_EKS") or environ.get("AWS_ENDPOINT_URL")
        url = urlsplit(endpoint or f"https://eks.{self._region}.{self._domain}")
        timestamp = time.strftime("%Y%m%dT%H%M%SZ", time.gmtime())
        request = Request(method, path, "", {"host": url.netloc}, hashlib.sha256(body).hexdigest())
        headers = signed_headers(request, _credentials(environ), self._region, "eks", timestamp)
        kind = http.client.HTTPSConnection if url.scheme == "https" else http.client.HTTPConnection
        connection = kind(url.netloc, timeout=_TIMEOUT)
        try:
            connection.request(method, path, body or None, headers)
            answer = connection.getresponse()
            return answer.status, answer.read()
        except (OSError, http.client.HTTPException) as error:
            raise ClusterUnreachable(f"EKS does not answer about {path}: {error}.") from error
        finally:
            connection.close()


def describe(cluster: EksCluster, environ: Mapping[str, str]) -> Mapping[str, Any] | None:
    """Return what EKS knows of a cluster, None if there is none. Raise ClusterUnreachable or TaskFailed."""
    try:
        described = EksAccount(environ, cluster.region, cluster.domain).cluster(cluster.name)
    except EksRefused as refusal:
        if refusal.status == _FORBIDDEN:
            raise TaskFailed(f"{refusal} Allow eks:DescribeCluster for the role that applies.") from refusal
        raise
    if described is not None and described["arn"] != cluster.arn:
        raise TaskFailed(
            f"The credentials lead to {described['arn']}, which is not {cluster.arn}. Let the root assume a role "
            "of the cluster's account, or correct the ARN."
        )
    return described


def token(cluster: EksCluster, environ: Mapping[str, str]) -> str:
    """Return a token for a cluster's API server: whoever has the credentials asks STS who it is."""
    timestamp = time.strftime("%Y%m%dT%H%M%SZ", time.gmtime())
    url = presigned(cluster, _credentials(environ), timestamp)
    return "k8s-aws-v1." + base64.urlsafe_b64encode(url.encode()).decode().rstrip("=")


def presigned(cluster: EksCluster, credentials: Credentials, timestamp: str) -> str:
    """Return the address of GetCallerIdentity, signed in its query for one cluster."""
    host = f"sts.{cluster.region}.{cluster.domain}"
    scope = f"{timestamp[:8]}/{cluster.region}/sts/aws4_request"
    query = {
        "Action": "GetCallerIdentity",
        "Version": "2011-06-15",
        "X-Amz-Algorithm": ALGORITHM,
        "X-Amz-Credential": f"{credentials.access_key}/{scope}",
        "X-Amz-Date": timestamp,
        "X-Amz-Expires": str(_SIGNED_SECONDS),
        "X-Amz-SignedHeaders": "host;x-k8s-aws-id",
    }
    if credentials.session_token:
        query["X-Amz-Security-Token"] = credentials.session_token
    text = urlencode(sorted(query.items()), quote_via=quote, safe="-_.~")
    canonical = f"GET\n/\n{text}\nhost:{host}\nx-k8s-aws-id:{cluster.name}\n\nhost;x-k8s-aws-id\n{_EMPTY}"
    to_sign = "\n".join([ALGORITHM, timestamp, scope, hashlib.sha256(canonical.encode()).hexdigest()])
    key = f"AWS4{credentials.secret_key}".encode()
    for part in scope.split("/"):
        key = hmac.digest(key, part.encode(), "sha256")
    return f"https://{host}/?{text}&X-Amz-Signature={hmac.digest(key, to_sign.encode(), 'sha256').hex()}"


def credential(arn: str, environ: Mapping[str, str]) -> str:
    """Return what a kubeconfig's command prints: a token, and until when it holds."""
    ends = time.strftime("%Y-%m-%dT%H:%M:%SZ", time.gmtime(time.time() + _TOKEN_SECONDS))
    status = {"token": token(EksCluster.from_arn(arn), environ), "expirationTimestamp": ends}
    return json.dumps(
        {"apiVersion": "client.authentication.k8s.io/v1beta1", "kind": "ExecCredential", "status": status}
    )


def login_environment(environ: Mapping[str, str]) -> dict[str, str]:
    """Return the variables for a kubeconfig's command, from those of the engine."""
    passed = {name: text for name, text in environ.items() if name.startswith("AWS_")}
    return {ENVIRONMENT: json.dumps(passed), "PYTHONPATH": os.pathsep.join(sys.path), "PYTHONSAFEPATH": "1"}


def _credentials(environ: Mapping[str, str]) -> Credentials:
    role, file = environ.get("AWS_ROLE_ARN"), environ.get("AWS_WEB_IDENTITY_TOKEN_FILE")
    try:
        if role and file:
            said = Path(file).read_text(encoding="utf-8")
            return Aws(environ).assume_role_with_web_identity(role, "tidegate-eks", said)
        return standard_source(environ).get()
    except (NoCredentialsError, AwsError, OSError) as error:
        raise TaskFailed(f"There are no AWS credentials for EKS: {error}.") from error
