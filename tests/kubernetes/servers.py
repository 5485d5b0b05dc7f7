"""Real Kubernetes API servers on this machine: one etcd, and as many servers as a test needs clusters.

``make kubernetes`` builds them once. There is no kubelet: what has to become ready, a simulator makes so.
"""

from __future__ import annotations

import base64
import itertools
import json
import shutil
import signal
import ssl
import subprocess
import threading
import time
from collections.abc import Callable, Iterator
from contextlib import ExitStack, contextmanager
from pathlib import Path
from typing import Any

import httpx

from tests.kubernetes.build import VERSIONS, artefacts
from tests.kubernetes.certificates import Authority, key_pair
from tests.kubernetes.proxy import slowed
from tests.local.ports import free_ports

ADMINISTRATOR = "administrator"
#: Logs in, and may do nothing unless a test grants it.
STRANGER = "stranger"
#: A start takes three seconds on an idle machine.
_START_SECONDS = 120


class StartFailed(Exception):
    """A program ended, or did not become ready in time. The message has the end of its log."""


def missing() -> str | None:
    """Return why no server can run here; None if they can."""
    if not artefacts().is_dir():
        return f"{artefacts()} is missing: make kubernetes builds it, in ten minutes or so"
    return None if shutil.which("setpriv") else "setpriv is missing: Debian's util-linux has it"


@contextmanager
def running_kubernetes(directory: Path) -> Iterator[Kubernetes]:
    """Run an etcd, and end it with all servers on it. ``directory`` is empty, and receives data and logs."""
    with ExitStack() as ends:
        port = free_ports()
        address = f"http://127.0.0.1:{port}"
        peers = f"http://127.0.0.1:{port + 1}"
        etcd = _Program(directory / "etcd.log")
        ends.callback(etcd.stop)
        etcd.start(
            artefacts() / "etcd",
            f"--data-dir={directory / 'etcd'}",
            f"--listen-client-urls={address}",
            f"--advertise-client-urls={address}",
            f"--listen-peer-urls={peers}",
            f"--initial-advertise-peer-urls={peers}",
            f"--initial-cluster=default={peers}",
        )
        with httpx.Client() as client:
            etcd.until(lambda: client.get(f"{address}/health").is_success)
        yield Kubernetes(directory, address, ends)


class Kubernetes:
    """Clusters on one etcd, each under a prefix of its own."""

    def __init__(self, directory: Path, etcd: str, ends: ExitStack) -> None:
        self._directory, self._etcd, self._ends = directory, etcd, ends
        self._numbers = itertools.count(1)

    def cluster(self, name: str, version: str = VERSIONS[0], *, controllers: bool = False) -> Cluster:
        """Start a new, empty cluster.

        ``controllers`` also runs Kubernetes' own, which make ReplicaSets of Deployments, collect what has lost its
        owner, and finish the deletion of namespaces.
        """
        directory = self._directory / f"{name}-{next(self._numbers)}"
        directory.mkdir(mode=0o700)
        cluster = Cluster(name, directory, self._etcd, controllers=controllers)
        self._ends.callback(cluster.stop)
        cluster.start(version)
        return cluster


class Cluster:
    """An API server: the address, and the kubeconfigs, stay the same over stops and upgrades."""

    def __init__(self, name: str, directory: Path, etcd: str, *, controllers: bool) -> None:
        self.name, self._directory, self._etcd, self._with_controllers = name, directory, etcd, controllers
        self.port = free_ports()
        self._authority = Authority()
        self._server = _Program(directory / "apiserver.log")
        self._controllers = _Program(directory / "controllers.log")
        self._write("authority.pem", self._authority.certificate)
        for file, content in zip(("accounts.key", "accounts.pub"), key_pair(), strict=True):
            self._write(file, content)
        tokens = [f"{ADMINISTRATOR}-token,{ADMINISTRATOR},1,system:masters", f"{STRANGER}-token,{STRANGER},2"]
        self._write("tokens.csv", "\n".join(tokens).encode())
        self.kubeconfig = self._kubeconfig(ADMINISTRATOR, {"token": f"{ADMINISTRATOR}-token"})
        self.strangers_kubeconfig = self._kubeconfig(STRANGER, {"token": f"{STRANGER}-token"})

    @property
    def address(self) -> str:
        return f"https://127.0.0.1:{self.port}"

    def start(self, version: str = VERSIONS[0], *, expired: bool = False) -> None:
        """Start the server, and wait until it is ready. Its certificate may have ended an hour ago."""
        for file, content in zip(("server.pem", "server.key"), self._authority.server(expired=expired), strict=True):
            self._write(file, content)
        self._server.start(
            artefacts() / f"kube-apiserver-{version}",
            f"--etcd-servers={self._etcd}",
            f"--etcd-prefix=/{self._directory.name}",
            "--bind-address=127.0.0.1",
            f"--secure-port={self.port}",
            "--advertise-address=192.0.2.1",  # It must not be of this machine, and nobody connects to it.
            "--endpoint-reconciler-type=none",
            f"--tls-cert-file={self._directory / 'server.pem'}",
            f"--tls-private-key-file={self._directory / 'server.key'}",
            f"--client-ca-file={self._directory / 'authority.pem'}",
            f"--token-auth-file={self._directory / 'tokens.csv'}",
            "--authorization-mode=RBAC",
            "--disable-admission-plugins=ServiceAccount",
            "--service-account-issuer=https://kubernetes.default.svc",
            f"--service-account-signing-key-file={self._directory / 'accounts.key'}",
            f"--service-account-key-file={self._directory / 'accounts.pub'}",
            "--service-cluster-ip-range=10.0.0.0/24",
        )
        unchecked = ssl.create_default_context()
        unchecked.check_hostname, unchecked.verify_mode = False, ssl.CERT_NONE
        with httpx.Client(verify=unchecked, headers=_as_administrator()) as client:
            self._server.until(lambda: client.get(f"{self.address}/readyz").is_success)
        if self._with_controllers:
            self._start_controllers()

    def stop(self) -> None:
        """End the server at once: connections are refused."""
        self._controllers.stop()
        self._server.stop()

    def restart(self, version: str = VERSIONS[0], *, expired: bool = False) -> None:
        """Start the server anew, on the same data."""
        self.stop()
        self.start(version, expired=expired)

    @contextmanager
    def hanging(self) -> Iterator[None]:
        """Let the server accept connections, and answer nothing."""
        self._server.signal(signal.SIGSTOP)
        try:
            yield
        finally:
            self._server.signal(signal.SIGCONT)

    @contextmanager
    def slow(self, seconds: float) -> Iterator[Path]:
        """Give a kubeconfig whose way to the server delays each answer, and nothing else."""
        with slowed(self.port, seconds) as port:
            yield self._kubeconfig("slow", {"token": f"{ADMINISTRATOR}-token"}, port)

    def expired_kubeconfig(self) -> Path:
        """Return a kubeconfig whose client's certificate ended an hour ago."""
        certificate, key = self._authority.client("late", "system:masters", expired=True)
        return self._kubeconfig("late", {"client-certificate-data": _text(certificate), "client-key-data": _text(key)})

    def client(self) -> httpx.Client:
        """Return a client with all rights."""
        trusted = ssl.create_default_context(cadata=self._authority.certificate.decode())
        return httpx.Client(base_url=self.address, verify=trusted, headers=_as_administrator())

    def kubectl(self, *arguments: str, given: object = None, kubeconfig: Path | None = None) -> Ended:
        """Run kubectl. ``given`` are manifests, for ``--filename=-``."""
        command = [str(artefacts() / "kubectl"), f"--kubeconfig={kubeconfig or self.kubeconfig}"]
        # What it learned about one cluster must not be believed of another at the same address.
        command += [f"--cache-dir={self._directory / 'kubectl'}", *arguments]
        ended = subprocess.run(command, input=json.dumps(given), capture_output=True, text=True, check=False)
        return Ended(ended.returncode, ended.stdout, ended.stderr)

    def get(self, *arguments: str) -> Any:
        """Return what kubectl gets, read from JSON."""
        return json.loads(self.kubectl("get", *arguments, "--output=json").out)

    def _start_controllers(self) -> None:
        port = free_ports()
        self._controllers.start(
            artefacts() / "kube-controller-manager",
            f"--kubeconfig={self.kubeconfig}",
            "--bind-address=127.0.0.1",
            f"--secure-port={port}",
            "--port=0",
            "--leader-elect=false",
            f"--service-account-private-key-file={self._directory / 'accounts.key'}",
            f"--root-ca-file={self._directory / 'authority.pem'}",
            f"--cert-dir={self._directory / 'controllers'}",
        )

    def _kubeconfig(self, user: str, credentials: dict[str, str], port: int | None = None) -> Path:
        cluster = {
            "server": f"https://127.0.0.1:{port or self.port}",
            "certificate-authority-data": _text(self._authority.certificate),
        }
        content = {
            "apiVersion": "v1",
            "kind": "Config",
            "current-context": self.name,
            "clusters": [{"name": self.name, "cluster": cluster}],
            "users": [{"name": user, "user": credentials}],
            "contexts": [{"name": self.name, "context": {"cluster": self.name, "user": user}}],
        }
        return self._write(f"{user}.kubeconfig", json.dumps(content).encode())

    def _write(self, name: str, content: bytes) -> Path:
        file = self._directory / name
        file.touch(mode=0o600)
        file.write_bytes(content)
        return file


class Ended:
    """A kubectl that has ended."""

    def __init__(self, code: int, out: str, err: str) -> None:
        self.code, self.out, self.err = code, out, err

    def __repr__(self) -> str:
        return f"{self.code}: {self.out}{self.err}"


class _Program:
    """A process that does not survive this one, whatever ends it."""

    def __init__(self, log: Path) -> None:
        self._log = log
        self._process: subprocess.Popen[bytes] | None = None

    def start(self, program: Path, *arguments: str) -> None:
        # Linux kills it when the thread ends that starts it.
        assert threading.current_thread() is threading.main_thread()
        with self._log.open("ab") as log:
            self._process = subprocess.Popen(
                ["setpriv", "--pdeathsig", "KILL", str(program), *arguments],
                stdin=subprocess.DEVNULL,
                stdout=log,
                stderr=log,
                start_new_session=True,
            )

    def until(self, ready: Callable[[], bool]) -> None:
        """Wait until it is ready. Raise StartFailed."""
        assert self._process is not None
        latest = time.monotonic() + _START_SECONDS
        while time.monotonic() < latest:
            try:
                if ready():
                    return
            except httpx.HTTPError:
                pass
            try:
                code = self._process.wait(0.05)
            except subprocess.TimeoutExpired:
                continue
            raise StartFailed(f"{self._log.stem} ended with {code}.\n{self._tail()}")
        raise StartFailed(f"{self._log.stem} was not ready after {_START_SECONDS} s.\n{self._tail()}")

    def signal(self, number: signal.Signals) -> None:
        assert self._process is not None
        self._process.send_signal(number)

    def stop(self) -> None:
        if self._process is not None:
            self._process.kill()
            self._process.wait()
            self._process = None

    def _tail(self) -> str:
        return self._log.read_bytes()[-2000:].decode(errors="replace")


def _as_administrator() -> dict[str, str]:
    return {"authorization": f"Bearer {ADMINISTRATOR}-token"}


def _text(content: bytes) -> str:
    return base64.b64encode(content).decode()
