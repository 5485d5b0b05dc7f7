"""A small AWS client on the standard library, for programs with start-critical paths.

The webhook function and the runner need a handful of calls; importing boto3 for them costs more than
the calls themselves (docs/decisions/0020). Everything else in Tidegate uses boto3.
"""

from __future__ import annotations

import hashlib
import http.client
import json
import os
import random
import threading
import time
from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass
from types import MappingProxyType
from typing import IO, Any
from urllib.parse import quote, urlencode, urlsplit

from tidegate.aws.credentials import CredentialSource, NoCredentialsError, end_of_session, standard_source
from tidegate.aws.http_exchange import SmallAnswer, exchange
from tidegate.aws.signing import Credentials, Request, signed_headers

ATTEMPTS = 5
FIRST_PAUSE_SECONDS = 0.05
LONGEST_PAUSE_SECONDS = 2.0
TIMEOUT_SECONDS = 10.0
BLOCK = 1024 * 1024
_OK = range(200, 300)
_TOO_MANY_REQUESTS = 429
_SERVER_ERROR = 500

_THROTTLED = frozenset(
    {
        "BandwidthLimitExceeded",
        "EC2ThrottledException",
        "ProvisionedThroughputExceededException",
        "RequestLimitExceeded",
        "RequestThrottled",
        "RequestThrottledException",
        "SlowDown",
        "Throttling",
        "ThrottlingException",
        "TooManyRequestsException",
        "TransactionInProgressException",
    }
)
_NO_ANSWER = frozenset({"ConnectionFailed", "NoCredentials"})
_EXPIRED = frozenset({"ExpiredToken", "ExpiredTokenException", "UnrecognizedClientException"})
_COMPACT = json.JSONEncoder(separators=(",", ":"))
#: How a form names the parts of a tag.
_TAG = ("Key", "Value")
_EMPTY_SHA256 = hashlib.sha256(b"").hexdigest()


class AwsError(Exception):
    """An error of AWS. ``code`` is AWS's own, or one of ours if no answer came.

    Ours are ``ConnectionFailed`` and ``NoCredentials``.
    """

    def __init__(self, service: str, operation: str, code: str, message: str, status: int = 0) -> None:
        super().__init__(f"{service} {operation}: {code}: {message}")
        self.service, self.operation, self.code, self.message, self.status = service, operation, code, message, status

    @property
    def passing(self) -> bool:
        """Tell whether a retry may succeed."""
        return (
            self.status >= _SERVER_ERROR
            or self.status == _TOO_MANY_REQUESTS
            or self.code in _THROTTLED
            or self.code in _NO_ANSWER
        )


@dataclass(frozen=True, slots=True)
class _Service:
    """How to call a service: its names in targets, host names, and endpoint variables."""

    name: str
    variable: str
    target: str = ""
    content_type: str = "application/x-amz-json-1.0"


_SERVICES = {
    service.name: service
    for service in (
        _Service("dynamodb", "DYNAMODB", "DynamoDB_20120810"),
        _Service("states", "SFN", "AWSStepFunctions"),
        _Service("sqs", "SQS", "AmazonSQS"),
        _Service("secretsmanager", "SECRETS_MANAGER", "secretsmanager", "application/x-amz-json-1.1"),
        _Service("sts", "STS"),
        _Service("s3", "S3"),
    )
}


@dataclass(slots=True)
class _Call:
    """One call, including retries. ``body`` is bytes, or a file that is read from its start."""

    service: str
    operation: str
    method: str
    url: str
    headers: dict[str, str]
    body: bytes | IO[bytes] = b""
    sha256: str = _EMPTY_SHA256
    length: int = 0
    into: IO[bytes] | None = None
    downloaded_sha256: str = ""
    signed: bool = True


class _Connections:
    """Idle keep-alive connections by scheme and host; each is used by one thread at a time."""

    def __init__(self, timeout: float) -> None:
        self._timeout = timeout
        self._idle: dict[tuple[str, str], list[http.client.HTTPConnection]] = {}
        self._lock = threading.Lock()
        self._tls: Any = None

    def take(self, scheme: str, host: str) -> tuple[http.client.HTTPConnection, bool]:
        """Return a connection and whether it is reused."""
        with self._lock:
            idle = self._idle.get((scheme, host))
            if idle:
                return idle.pop(), True
        return self._opened(scheme, host), False

    def give_back(self, scheme: str, host: str, connection: http.client.HTTPConnection) -> None:
        with self._lock:
            self._idle.setdefault((scheme, host), []).append(connection)

    def close(self) -> None:
        with self._lock:
            for connection in (each for idle in self._idle.values() for each in idle):
                connection.close()
            self._idle.clear()

    def _opened(self, scheme: str, host: str) -> http.client.HTTPConnection:
        # http.client sets TCP_NODELAY on every connection that it opens.
        if scheme != "https":
            return http.client.HTTPConnection(host, timeout=self._timeout)
        return http.client.HTTPSConnection(host, timeout=self._timeout, context=self._context())

    def _context(self) -> Any:
        with self._lock:
            if self._tls is None:
                import ssl  # noqa: PLC0415  # Plain HTTP (a local cloud, tests) does not need it.

                self._tls = ssl.create_default_context(cafile=os.environ.get("AWS_CA_BUNDLE"))
            return self._tls


class Aws:
    """Signed calls to AWS, in one region, with one role's credentials. May be used from several threads.

    Endpoints come from ``AWS_ENDPOINT_URL_<SERVICE>`` and ``AWS_ENDPOINT_URL``, the region from
    ``AWS_REGION`` or ``AWS_DEFAULT_REGION``. ``timeout`` (seconds) holds for each attempt. Throttling,
    5xx and broken connections are tried again ``attempts`` times in all, with growing random pauses.
    """

    def __init__(
        self,
        environ: Mapping[str, str] = os.environ,
        *,
        credentials: CredentialSource | None = None,
        timeout: float = TIMEOUT_SECONDS,
        attempts: int = ATTEMPTS,
        pause: Callable[[float], None] = time.sleep,
    ) -> None:
        self._environ = environ
        self.region = environ.get("AWS_REGION") or environ.get("AWS_DEFAULT_REGION") or "us-east-1"
        self._credentials = credentials or standard_source(environ)
        self._connections = _Connections(timeout)
        self._attempts = attempts
        self._pause = pause

    def call(self, service: str, operation: str, payload: Mapping[str, Any]) -> dict[str, Any]:
        """Call a service of the JSON protocols: dynamodb, states, sqs, secretsmanager. Raise AwsError."""
        spec = _SERVICES[service]
        body = _COMPACT.encode(payload).encode()
        headers = {"content-type": spec.content_type, "x-amz-target": f"{spec.target}.{operation}"}
        digest = hashlib.sha256(body).hexdigest()
        url = self._endpoint(service) + "/"
        answer = self._send(_Call(service, operation, "POST", url, headers, body, digest, len(body)))
        result: dict[str, Any] = json.loads(answer.decode()) if answer.strip() else {}
        return result

    def assume_role(
        self,
        role: str,
        session: str,
        seconds: int = 3600,
        *,
        tags: Mapping[str, str] = MappingProxyType({}),
        source_identity: str = "",
    ) -> Credentials:
        """Return credentials of another role (STS AssumeRole), whose session has these tags. Raise AwsError."""
        numbered = enumerate(tags.items(), start=1)
        members = {
            f"Tags.member.{at}.{part}": text for at, tag in numbered for part, text in zip(_TAG, tag, strict=True)
        }
        form = {
            "Action": "AssumeRole",
            "Version": "2011-06-15",
            "RoleArn": role,
            "RoleSessionName": session,
            "DurationSeconds": str(seconds),
            **members,
            **({"SourceIdentity": source_identity} if source_identity else {}),
        }
        return self._sts(form)

    def assume_role_with_web_identity(self, role: str, session: str, token: str, seconds: int = 3600) -> Credentials:
        """Return credentials of a role that trusts a token; such a call is not signed. Raise AwsError."""
        form = {
            "Action": "AssumeRoleWithWebIdentity",
            "Version": "2011-06-15",
            "RoleArn": role,
            "RoleSessionName": session,
            "DurationSeconds": str(seconds),
            "WebIdentityToken": token,
        }
        return self._sts(form, signed=False)

    def _sts(self, form: Mapping[str, str], *, signed: bool = True) -> Credentials:
        body = urlencode(form).encode()
        headers = {"content-type": "application/x-www-form-urlencoded; charset=utf-8"}
        digest, url = hashlib.sha256(body).hexdigest(), self._endpoint("sts") + "/"
        call = _Call("sts", form["Action"], "POST", url, headers, body, digest, len(body), signed=signed)
        answer = self._send(call)
        key, secret, session = (_element(answer, name) for name in ("AccessKeyId", "SecretAccessKey", "SessionToken"))
        return Credentials(key, secret, session, _end(answer))

    def get_object(self, bucket: str, key: str, into: IO[bytes]) -> str:
        """Write an object of S3 to ``into``, a seekable file, and return its SHA-256. Raise AwsError."""
        call = _Call("s3", "GetObject", "GET", self._object_url(bucket, key), {}, into=into)
        self._send(call)
        return call.downloaded_sha256

    def put_object(self, bucket: str, key: str, body: bytes | IO[bytes], content_type: str = "") -> str:
        """Store bytes, or a seekable file from its start, and return the SHA-256. Raise AwsError."""
        digest, length = _measured(body)
        headers = {"content-type": content_type or "application/octet-stream"}
        self._send(_Call("s3", "PutObject", "PUT", self._object_url(bucket, key), headers, body, digest, length))
        return digest

    def delete_object(self, bucket: str, key: str) -> None:
        """Delete an object of S3; one that is not there stays so. Raise AwsError."""
        self._send(_Call("s3", "DeleteObject", "DELETE", self._object_url(bucket, key), {}))

    def close(self) -> None:
        """Close the idle connections. A later call opens new ones."""
        self._connections.close()

    def _endpoint(self, service: str) -> str:
        variable = f"AWS_ENDPOINT_URL_{_SERVICES[service].variable}"
        configured = self._environ.get(variable) or self._environ.get("AWS_ENDPOINT_URL")
        if configured:
            return configured.rstrip("/")
        return f"https://{service}.{self.region}.{self._domain}"

    @property
    def _domain(self) -> str:
        return "amazonaws.com.cn" if self.region.startswith("cn-") else "amazonaws.com"

    def _object_url(self, bucket: str, key: str) -> str:
        path = quote(key, safe="/-_.~")
        endpoint = self._endpoint("s3")
        # A dot in the bucket's name would not match S3's TLS certificate, and a local endpoint has one host only.
        if endpoint.endswith(f"s3.{self.region}.{self._domain}") and "." not in bucket:
            return f"https://{bucket}.s3.{self.region}.{self._domain}/{path}"
        return f"{endpoint}/{quote(bucket, safe='-_.~')}/{path}"

    def _send(self, call: _Call) -> bytes:
        for attempt in range(1, self._attempts + 1):
            try:
                return self._attempt(call)
            except AwsError as error:
                expired = error.code in _EXPIRED and attempt == 1
                if attempt == self._attempts or not (error.passing or expired):
                    raise
                if expired:
                    self._credentials.forget()
            self._pause(min(LONGEST_PAUSE_SECONDS, FIRST_PAUSE_SECONDS * 2**attempt) * random.random())  # noqa: S311  # Spreads load, hides nothing.
        raise AssertionError("unreachable: the last attempt returns or raises")

    def _attempt(self, call: _Call) -> bytes:
        parts = urlsplit(call.url)
        while True:
            connection, used = self._connections.take(parts.scheme, parts.netloc)
            try:
                response = self._request(connection, call, parts.netloc, parts.path)
                answer = _read(response, call)
            except (OSError, http.client.HTTPException) as error:
                connection.close()
                if used and isinstance(error, ConnectionError):  # It idled too long. The last attempt uses a new one.
                    continue
                raise AwsError(call.service, call.operation, "ConnectionFailed", str(error)) from error
            except NoCredentialsError as error:
                connection.close()
                raise AwsError(call.service, call.operation, "NoCredentials", str(error)) from error
            if response.will_close:
                connection.close()
            else:
                self._connections.give_back(parts.scheme, parts.netloc, connection)
            if response.status in _OK:
                return answer
            raise _error(call, response, answer)

    def _request(
        self, connection: http.client.HTTPConnection, call: _Call, host: str, path: str
    ) -> http.client.HTTPResponse | SmallAnswer:
        request = Request(call.method, path, "", {**call.headers, "host": host}, call.sha256)
        timestamp = time.strftime("%Y%m%dT%H%M%SZ", time.gmtime())
        headers = dict(request.headers)
        if call.signed:
            headers = signed_headers(request, self._credentials.get(), self.region, call.service, timestamp)
        headers["content-length"] = str(call.length)
        if call.into is None and isinstance(call.body, bytes):
            return exchange(connection, call.method, path, headers, call.body)
        connection.request(call.method, path, body=_blocks(call.body), headers=headers)
        return connection.getresponse()


def _blocks(body: bytes | IO[bytes]) -> bytes | Iterable[bytes] | None:
    if isinstance(body, bytes):
        return body or None
    body.seek(0)
    return iter(lambda: body.read(BLOCK), b"")


def _measured(body: bytes | IO[bytes]) -> tuple[str, int]:
    """Return SHA-256 and length."""
    if isinstance(body, bytes):
        return hashlib.sha256(body).hexdigest(), len(body)
    body.seek(0)
    digest = hashlib.file_digest(body, "sha256").hexdigest()  # type: ignore[arg-type]  # It is opened for reading bytes.
    return digest, body.seek(0, os.SEEK_END)


def _read(response: http.client.HTTPResponse | SmallAnswer, call: _Call) -> bytes:
    if call.into is None or isinstance(response, SmallAnswer) or response.status not in _OK:
        return response.read()
    call.into.seek(0)
    call.into.truncate()
    digest = hashlib.sha256()
    while block := response.read(BLOCK):
        digest.update(block)
        call.into.write(block)
    call.downloaded_sha256 = digest.hexdigest()
    return b""


def _error(call: _Call, response: http.client.HTTPResponse | SmallAnswer, answer: bytes) -> AwsError:
    code, message = _json_error(answer) if answer.lstrip().startswith(b"{") else _xml_error(answer)
    code = response.headers.get("x-amzn-errortype", code) or f"Status{response.status}"
    return AwsError(call.service, call.operation, _bare(code), message, response.status)


def _json_error(answer: bytes) -> tuple[str, str]:
    try:
        fields = json.loads(answer)
    except ValueError:
        return "", ""
    return str(fields.get("__type", "")), str(fields.get("message") or fields.get("Message") or "")


def _xml_error(answer: bytes) -> tuple[str, str]:
    return _element(answer, "Code"), _element(answer, "Message")


def _bare(code: str) -> str:
    """Return ``InvalidToken`` of ``com.amazonaws.swf.service.v2.model#InvalidToken:http://…``."""
    return code.partition(":")[0].rpartition("#")[2]


def _end(answer: bytes) -> float | None:
    text = _element(answer, "Expiration")
    return end_of_session(text) if text else None


def _element(answer: bytes, name: str) -> str:
    """Return the text of the first ``<name>``. These answers are flat, and a parser costs 10 ms to import."""
    text = answer.decode("utf-8", "replace")
    found = text.partition(f"<{name}>")[2].partition(f"</{name}>")[0].strip()
    for entity, letter in (("&lt;", "<"), ("&gt;", ">"), ("&quot;", '"'), ("&amp;", "&")):
        found = found.replace(entity, letter)
    return found
