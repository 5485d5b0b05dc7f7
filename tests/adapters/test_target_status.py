"""Status URLs of targets, read from a real server with TLS on this machine."""

from __future__ import annotations

import ipaddress
import socket
import ssl
import threading
import time
from contextlib import suppress
from datetime import UTC, datetime, timedelta
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer

import pytest
from cryptography import x509
from cryptography.hazmat.primitives import hashes, serialization
from cryptography.hazmat.primitives.asymmetric import ec
from cryptography.x509.oid import NameOID

from tidegate.config_updates.adapters.target_status import MOST_BYTES, HttpsTargetStatuses
from tidegate.config_updates.rules.status import StatusRefused

LOOPBACK = (ipaddress.ip_network("127.0.0.0/8"),)
HOST = "status.example"


class Handler(BaseHTTPRequestHandler):
    def do_GET(self) -> None:
        if self.path == "/slow":
            self.send_response(200)
            self.end_headers()
            with suppress(OSError):  # The reader hangs up.
                for _ in range(40):
                    time.sleep(0.05)
                    self.wfile.write(b" ")
            return
        status = 302 if self.path == "/moved" else 500 if self.path == "/broken" else 200
        self.send_response(status)
        if self.path == "/moved":
            self.send_header("location", "/")
        self.end_headers()
        self.wfile.write(
            b"x" * (MOST_BYTES + 1) if self.path == "/large" else f"{self.path} {self.headers['host']}".encode()
        )

    def log_message(self, *arguments: object) -> None:
        pass


def _certificate(folder):
    """Return the files of a certificate that signs itself, and its key."""
    key = ec.generate_private_key(ec.SECP256R1())
    name = x509.Name([x509.NameAttribute(NameOID.COMMON_NAME, HOST)])
    now = datetime.now(UTC)
    made = (
        x509.CertificateBuilder(name, name, key.public_key(), x509.random_serial_number())
        .not_valid_before(now - timedelta(hours=1))
        .not_valid_after(now + timedelta(hours=1))
        .add_extension(x509.SubjectAlternativeName([x509.DNSName(HOST)]), critical=False)
        .add_extension(x509.BasicConstraints(ca=True, path_length=None), critical=True)
        .sign(key, hashes.SHA256())
    )
    files = folder / "certificate.pem", folder / "key.pem"
    form = serialization.PrivateFormat.PKCS8, serialization.NoEncryption()
    files[0].write_bytes(made.public_bytes(serialization.Encoding.PEM))
    files[1].write_bytes(key.private_bytes(serialization.Encoding.PEM, *form))
    return files


@pytest.fixture(scope="module")
def https(tmp_path_factory):
    """Yield the port of a server, and a context that trusts it."""
    certificate, key = _certificate(tmp_path_factory.mktemp("tls"))
    server = ThreadingHTTPServer(("127.0.0.1", 0), Handler)
    server.daemon_threads = True
    context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
    context.load_cert_chain(certificate, key)
    server.socket = context.wrap_socket(server.socket, server_side=True)
    thread = threading.Thread(target=server.serve_forever, kwargs={"poll_interval": 0.01}, daemon=True)
    thread.start()
    yield server.server_address[1], ssl.create_default_context(cafile=str(certificate))
    server.shutdown()
    server.server_close()


@pytest.fixture
def resolved(monkeypatch):
    """Return a function that says which addresses names have, and the list of names that were resolved."""
    asked = []

    def resolve(*addresses):
        def answer(host, port, **_):
            asked.append(host)
            return [(socket.AF_INET, socket.SOCK_STREAM, 6, "", (each, port)) for each in addresses]

        monkeypatch.setattr("tidegate.config_updates.adapters.target_status.socket.getaddrinfo", answer)
        return asked

    return resolve


@pytest.fixture
def connected(monkeypatch):
    """Connect to what was resolved, which is this machine, without resolving it again."""

    def connect(address, timeout):
        opened = socket.socket(socket.AF_INET)
        opened.settimeout(timeout)
        opened.connect(address)
        return opened

    monkeypatch.setattr("tidegate.config_updates.adapters.target_status.socket.create_connection", connect)


def _read(https, path, seconds=5.0):
    port, context = https
    return HttpsTargetStatuses(LOOPBACK, context, seconds).read(f"https://{HOST}:{port}{path}")


def test_a_status_is_read_from_the_address_that_its_name_was_resolved_to_once(https, resolved, connected):
    asked = resolved("127.0.0.1")
    assert _read(https, "/eu?all=1") == f"/eu?all=1 {HOST}:{https[0]}".encode()
    assert asked == [HOST]


@pytest.mark.parametrize(
    ("path", "problem"),
    [("/moved", "answered 302"), ("/broken", "answered 500"), ("/large", "more than 65536 bytes")],
)
def test_an_answer_that_is_no_status_is_refused(https, resolved, connected, path, problem):
    resolved("127.0.0.1")
    with pytest.raises(StatusRefused, match=problem):
        _read(https, path)


def test_an_answer_that_comes_byte_after_byte_ends_at_the_limit(https, resolved, connected):
    resolved("127.0.0.1")
    before = time.monotonic()
    with pytest.raises(StatusRefused, match="did not answer"):
        _read(https, "/slow", seconds=0.3)
    assert time.monotonic() - before < 1.5


def test_a_private_address_is_refused_unless_its_network_is_listed(https, resolved, connected):
    resolved("127.0.0.1")
    port, context = https
    with pytest.raises(StatusRefused, match=r"127\.0\.0\.1 is not a public address"):
        HttpsTargetStatuses((), context).read(f"https://{HOST}:{port}/")


def test_a_name_with_a_private_address_beside_a_public_one_is_refused(https, resolved):
    resolved("203.0.112.1", "169.254.169.254")
    with pytest.raises(StatusRefused, match=r"169\.254\.169\.254"):
        _read(https, "/")


def test_a_certificate_for_another_name_is_refused(https, resolved, connected):
    resolved("127.0.0.1")
    port, context = https
    with pytest.raises(StatusRefused, match="SSLCertVerificationError"):
        HttpsTargetStatuses(LOOPBACK, context).read(f"https://other.example:{port}/")


def test_only_https_is_read():
    with pytest.raises(StatusRefused, match="begins with https"):
        HttpsTargetStatuses().read("http://status.example/")


@pytest.mark.parametrize("url", [f"https://{'a' * 70}.example/", "https://status.example:99999/"])
def test_a_url_that_no_host_can_have_is_refused(url):
    with pytest.raises(StatusRefused):
        HttpsTargetStatuses().read(url)
