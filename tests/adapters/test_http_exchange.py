"""Small requests over a bare socket: every form that an answer may have, and answers that break off."""

from __future__ import annotations

import http.client
import socket
import threading
from contextlib import contextmanager

import pytest

from tidegate.aws.http_exchange import exchange


@contextmanager
def answering(*pieces: bytes, close: bool = True):
    """Serve one connection: read one request, send the pieces one by one; yield a client and what was received."""
    received = []
    with socket.create_server(("127.0.0.1", 0)) as listener:

        def serve():
            connection, _ = listener.accept()
            with connection:
                connection.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
                received.append(connection.recv(65_536))
                for piece in pieces:
                    connection.sendall(piece)
                if not close:
                    connection.recv(1)

        thread = threading.Thread(target=serve)
        thread.start()
        client = http.client.HTTPConnection("127.0.0.1", listener.getsockname()[1], timeout=5)
        try:
            yield client, received
        finally:
            client.close()
            thread.join()


def post(client: http.client.HTTPConnection):
    return exchange(client, "POST", "", {"host": "x", "content-length": "2"}, b"{}")


def test_the_request_is_sent_in_one_piece_with_its_headers():
    with answering(b"HTTP/1.1 200 OK\r\ncontent-length: 0\r\n\r\n", close=False) as (client, received):
        post(client)
        assert received == [b"POST / HTTP/1.1\r\nhost: x\r\ncontent-length: 2\r\n\r\n{}"]


@pytest.mark.parametrize(
    ("pieces", "content", "closes"),
    [
        ([b"HTTP/1.1 200 OK\r\nContent-Length: 5\r\n\r\nhello"], b"hello", False),
        ([b"HTTP/1.1 200 OK\r\nContent-", b"Length: 5\r\n\r", b"\nhe", b"llo"], b"hello", False),
        ([b"HTTP/1.1 200 OK\r\ncontent-length: 5\r\nConnection: close\r\n\r\nhello"], b"hello", True),
        ([b"HTTP/1.0 200 OK\r\ncontent-length: 5\r\n\r\nhello"], b"hello", True),
        ([b"HTTP/1.1 200 OK\r\n\r\nhel", b"lo"], b"hello", True),
        ([b"HTTP/1.1 204 No Content\r\nx: y\r\n\r\n"], b"", False),
        (
            [b"HTTP/1.1 200 OK\r\ntransfer-encoding: chunked\r\n\r\n3\r\nhel\r\n2;a=b\r\nlo\r\n0\r\n\r\n"],
            b"hello",
            False,
        ),
        (
            [b"HTTP/1.1 200 OK\r\ntransfer-encoding: chunked\r\n\r\n5\r\nhel", b"lo\r\n0\r\nx: y\r\n\r\n"],
            b"hello",
            False,
        ),
    ],
)
def test_an_answer_is_read_in_whatever_form_and_pieces_it_comes(pieces, content, closes):
    with answering(*pieces) as (client, _):
        answer = post(client)
        assert (answer.read(), answer.will_close) == (content, closes)


def test_status_and_headers_are_told():
    head = b"HTTP/1.1 400 Bad Request\r\nX-Amzn-ErrorType: ValidationException\r\ncontent-length: 0\r\n\r\n"
    with answering(head) as (client, _):
        answer = post(client)
        assert (answer.status, answer.headers["x-amzn-errortype"]) == (400, "ValidationException")


@pytest.mark.parametrize(
    "pieces",
    [
        [],
        [b"HTTP/1.1 200"],
        [b"HTTP/1.1 200 OK\r\ncontent-length: 5\r\n\r\nhe"],
        [b"HTTP/1.1 200 OK\r\ntransfer-encoding: chunked\r\n\r\n5\r\nh"],
    ],
)
def test_an_answer_that_breaks_off_is_a_lost_connection(pieces):
    with answering(*pieces) as (client, _), pytest.raises(ConnectionError):
        post(client)


@pytest.mark.parametrize("head", [b"SSH-2.0-OpenSSH\r\n\r\n\r\n", b"HTTP/1.1 abc\r\n\r\n", b"x" * 100_000])
def test_what_is_not_http_is_refused(head):
    with answering(head) as (client, _), pytest.raises((http.client.HTTPException, ConnectionError)):
        post(client)
