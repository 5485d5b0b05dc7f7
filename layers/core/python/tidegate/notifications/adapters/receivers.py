"""Calls to receivers: HTTPS to URLs of the installation alone, without redirects, and SNS for e-mail.

In the local cloud, plain HTTP to the loopback interface is allowed as well.
"""

from __future__ import annotations

import http.client
import json
import socket
import threading
import time
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager, suppress
from typing import Any
from urllib.parse import urlsplit

from tidegate.aws.boto import cloud_errors
from tidegate.notifications.rules.destination import Destination, DestinationKind, url_problem
from tidegate.notifications.rules.outgoing import NotDelivered, Outgoing
from tidegate.notifications.rules.signing import signed_headers
from tidegate.rules.errors import CloudUnavailable

#: Seconds that a receiver may take, and bytes of its answer that are read.
MOST_SECONDS, MOST_BYTES = 10.0, 64 * 1024
#: Seconds for which a destination that took too long is not called: few functions send the messages of all.
REST_SECONDS = 60
_SUCCESS = range(200, 300)


class HttpReceivers:
    """The port ``Receivers``. ``secret`` returns the fields of a secret by its name, ``topic`` the ARN of an e-mail
    destination's topic by its name; ``now`` gives the time in seconds since 1970. An answer may take ``seconds``.
    """

    def __init__(
        self,
        secret: Callable[[str], Mapping[str, str]],
        sns: Callable[[], Any],
        topic: Callable[[str], str],
        *,
        is_local: bool = False,
        now: Callable[[], float] = time.time,
        seconds: float = MOST_SECONDS,
    ) -> None:
        self._seconds = seconds
        self._secret, self._sns, self._topic, self._is_local, self._now = secret, sns, topic, is_local, now
        self._rests: dict[str, float] = {}

    def send(self, destination: Destination, message: Outgoing) -> None:
        """Send a message. Raise NotDelivered."""
        send = {
            DestinationKind.WEBHOOK: self._webhook,
            DestinationKind.SLACK: self._slack,
            DestinationKind.TEAMS: self._teams,
            DestinationKind.EMAIL: self._email,
        }
        try:
            send[destination.kind](destination, message)
        except CloudUnavailable as error:
            raise NotDelivered(destination.name, str(error).rstrip(".")) from error

    def takes_answers(self, destination: Destination) -> bool:
        """Tell whether its app can sign clicks on buttons. Raise NotDelivered."""
        try:
            return bool(self._secret(destination.secret).get("signing_secret"))
        except CloudUnavailable as error:
            raise NotDelivered(destination.name, str(error).rstrip(".")) from error

    def _webhook(self, destination: Destination, message: Outgoing) -> None:
        secret = self._field(destination, "signing_secret")
        try:
            headers = signed_headers(secret, message.id, int(self._now()), message.body)
        except ValueError as error:
            raise NotDelivered(destination.name, f"the secret {destination.secret} is invalid: {error}") from None
        self._post(destination, destination.url, message, headers)

    def _slack(self, destination: Destination, message: Outgoing) -> None:
        headers = {"authorization": f"Bearer {self._field(destination, 'bot_token')}"}
        answer = self._post(destination, f"{destination.url}/chat.postMessage", message, headers)
        try:
            said = json.loads(answer)
        except (ValueError, RecursionError):
            said = {}
        if not isinstance(said, dict) or said.get("ok") is not True:
            error = str(said.get("error", "no JSON") if isinstance(said, dict) else "no JSON")[:100]
            raise NotDelivered(destination.name, f"Slack answered {error!a}")

    def _teams(self, destination: Destination, message: Outgoing) -> None:
        self._post(destination, self._field(destination, "url"), message, {})

    def _email(self, destination: Destination, message: Outgoing) -> None:
        subject = message.title.encode("ascii", "replace").decode()[:99]
        with cloud_errors("SNS"):
            self._sns().publish(TopicArn=self._topic(destination.name), Subject=subject, Message=message.body.decode())

    def _field(self, destination: Destination, name: str) -> str:
        value = self._secret(destination.secret).get(name, "")
        if not value:
            raise NotDelivered(destination.name, f"the secret {destination.secret} has no {name}")
        return value

    def _post(self, destination: Destination, url: str, message: Outgoing, headers: Mapping[str, str]) -> bytes:
        if problem := url_problem(url, is_local=self._is_local):
            raise NotDelivered(destination.name, problem)
        if self._now() < self._rests.get(destination.name, 0):
            raise NotDelivered(destination.name, "no answer to another message a moment ago")
        sent = {"content-type": message.content_type, **headers}
        try:
            return post(destination.name, url, message.body, sent, self._seconds)
        except NotDelivered as error:
            if isinstance(error.__cause__, TimeoutError):
                self._rests[destination.name] = self._now() + REST_SECONDS
            raise


def post(name: str, url: str, content: bytes, headers: Mapping[str, str], seconds: float) -> bytes:
    """Return the answer of what is called ``name`` to a request. Redirects and other answers than 2xx are failures.

    ``seconds`` limit the connection, and then the answer, however slowly it comes. The caller has checked the URL.
    Raise NotDelivered.
    """
    parts = urlsplit(url)
    kind = http.client.HTTPSConnection if parts.scheme == "https" else http.client.HTTPConnection
    connection = kind(str(parts.hostname), parts.port, timeout=seconds)
    path = (parts.path or "/") + (f"?{parts.query}" if parts.query else "")
    try:
        connection.connect()
        with _ended_after(seconds, connection.sock):
            connection.request("POST", path, content, {"user-agent": "Tidegate", **headers})
            answer = connection.getresponse()
            body = answer.read(MOST_BYTES)
    except (OSError, ValueError, http.client.HTTPException) as error:
        raise NotDelivered(name, f"no answer: {type(error).__name__}") from error
    finally:
        connection.close()
    if answer.status not in _SUCCESS:
        raise NotDelivered(name, f"HTTP status {answer.status}", _seconds(answer.getheader("retry-after")))
    return body


@contextmanager
def _ended_after(seconds: float, connection: socket.socket) -> Iterator[None]:
    """End a connection after so many seconds: its own limit is one of each byte. Raise TimeoutError then."""
    is_over = threading.Event()

    def end() -> None:
        is_over.set()
        with suppress(OSError):
            connection.shutdown(socket.SHUT_RDWR)

    timer = threading.Timer(seconds, end)
    timer.start()
    try:
        yield
    except (OSError, http.client.HTTPException):
        if not is_over.is_set():
            raise
    finally:
        timer.cancel()
    if is_over.is_set():
        raise TimeoutError


def _seconds(text: str | None) -> int | None:
    return int(text[:9]) if text and text.isascii() and text.isdigit() else None
