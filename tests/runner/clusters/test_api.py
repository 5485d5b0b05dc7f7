"""API servers that answer in bad faith: what a runner reads of them has an end, and its token goes nowhere else."""

from __future__ import annotations

import io
import json
import socket
import threading
import zipfile
from contextlib import suppress
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from types import SimpleNamespace

import pytest

from runner.clusters.api import Api, Refused
from runner.clusters.diagnosing import diagnose
from runner.clusters.objects import Identity
from runner.faults import ClusterUnreachable, TaskFailed
from runner.masking import Masker

KINDS = {"resources": [{"name": "configmaps", "kind": "ConfigMap", "namespaced": True}]}


class Server(ThreadingHTTPServer):
    """Answers with ``status``, ``body`` and ``headers``, and without an end if it is ``endless``."""

    daemon_threads = True

    def __init__(self):
        super().__init__(("127.0.0.1", 0), Handler)
        self.asked, self.status, self.body, self.headers, self.endless = [], 200, {}, {}, False
        self.kinds = KINDS
        threading.Thread(target=self.serve_forever, args=(0.02,), daemon=True).start()

    @property
    def address(self):
        return f"http://127.0.0.1:{self.server_port}"


class Handler(BaseHTTPRequestHandler):
    def do_GET(self):
        server = self.server
        server.asked.append(self.path)
        body = server.kinds if self.path == "/api/v1" else server.body
        self.send_response(200 if self.path == "/api/v1" else server.status)
        for name, text in server.headers.items():
            self.send_header(name, text)
        self.end_headers()
        self.wfile.write(json.dumps(body).encode())
        with suppress(OSError):
            while server.endless:
                self.wfile.write(b" " * 65_536)

    def log_message(self, *_arguments):
        pass


@pytest.fixture
def server():
    running = Server()
    yield running
    running.shutdown()
    running.server_close()


def kubeconfig(server, **more):
    return {
        "current-context": "x",
        "contexts": [{"name": "x", "context": {"cluster": "c", "user": "u"}}],
        "clusters": [{"name": "c", "cluster": {"server": server, **more}}],
        "users": [{"name": "u", "user": {"token": "very-secret-token"}}],
    }


@pytest.fixture
def api(server, tmp_path):
    made = Api(kubeconfig(server.address), "shop", tmp_path, lambda: None)
    yield made
    made.close()


@pytest.mark.parametrize("status", [200, 403, 500])
def test_an_answer_without_an_end_is_refused(api, server, monkeypatch, status):
    monkeypatch.setattr("runner.clusters.api.MOST_BYTES", 1 << 20)
    server.status, server.endless = status, True
    with pytest.raises(TaskFailed, match="does not end"):
        api.version()


def test_an_answer_that_takes_too_long_is_refused(api, server, monkeypatch):
    monkeypatch.setattr("runner.clusters.api.ANSWER_SECONDS", 0.0)
    server.endless = True
    with pytest.raises(TaskFailed, match="does not end"):
        api.version()


def test_a_list_without_an_end_is_refused(api, server, monkeypatch):
    monkeypatch.setattr("runner.clusters.api.MOST_PAGES", 3)
    server.body = {"metadata": {"continue": "again"}, "items": [{"metadata": {"name": "a"}}]}
    with pytest.raises(TaskFailed, match="more than"):
        list(api.list("v1", "ConfigMap"))


@pytest.mark.parametrize("listens", [False, True], ids=["dead", "silent"])
def test_a_proxy_that_does_not_answer_is_an_unreachable_cluster(server, tmp_path, monkeypatch, listens):
    monkeypatch.setattr("runner.clusters.api.TIMEOUT", (0.2, 0.2))
    with socket.create_server(("127.0.0.1", 0)) as proxy:
        port = proxy.getsockname()[1]
        if not listens:
            proxy.close()
        login = kubeconfig("https://cluster.example:6443", **{"proxy-url": f"http://127.0.0.1:{port}"})
        with pytest.raises(ClusterUnreachable):
            Api(login, "shop", tmp_path, lambda: None).version()


@pytest.mark.parametrize("no_proxy", ["", "example.com"])
def test_a_server_on_the_same_machine_is_reached_without_the_proxy_of_the_environment(
    server, tmp_path, monkeypatch, no_proxy
):
    for name in ("HTTP_PROXY", "HTTPS_PROXY"):
        monkeypatch.setenv(name, "http://127.0.0.1:9")
    monkeypatch.setenv("NO_PROXY", no_proxy)
    server.body = {"gitVersion": "v1.33.0"}
    assert Api(kubeconfig(server.address), "shop", tmp_path, lambda: None).version() == "v1.33.0"


def test_a_redirection_is_no_answer_and_gets_no_token(api, server):
    elsewhere = Server()
    server.status, server.headers = 302, {"Location": f"{elsewhere.address}/version"}
    with pytest.raises(Refused):
        api.version()
    assert elsewhere.asked == []
    elsewhere.shutdown()
    elsewhere.server_close()


@pytest.mark.parametrize(
    ("namespace", "name"),
    [("default", "../secrets/admin"), ("default", ".."), ("default", "a?force=true"), ("../kube-system", "a")],
)
def test_a_name_that_is_a_path_leads_nowhere(api, server, namespace, name):
    with pytest.raises(TaskFailed, match="no name"):
        api.get(Identity("v1", "ConfigMap", namespace, name))
    assert server.asked == ["/api/v1"]


def test_a_bundle_of_diagnostics_is_unpacked_in_one_place(api, server, tmp_path):
    metadata = {"name": "../../../etc/cron.d/x", "namespace": ".."}
    pod = {"metadata": metadata, "spec": {"containers": [{"name": "/etc/cron.d/y"}]}}
    server.kinds = {"resources": [{"name": "pods", "kind": "Pod", "namespaced": True}]}
    server.body = {"metadata": {}, "items": [pod]}
    tools = SimpleNamespace(log=SimpleNamespace(masker=Masker()))
    made = zipfile.ZipFile(io.BytesIO(diagnose(SimpleNamespace(tools=tools), api)))
    logs = [each for each in made.namelist() if each.startswith("logs/")]
    assert len(logs) == 1
    assert all(part.strip(".") for part in logs[0].split("/"))
    assert logs[0].count("/") == 3
