"""The product's own pages at an address of this machine, with all that they read in memory."""

from __future__ import annotations

import shutil
import threading
from wsgiref.simple_server import WSGIRequestHandler, make_server

from tests.api.scenario import WebScenario
from tests.api.wsgi import wsgi
from tests.builders import any_job, deployment_in
from tidegate.deploys.rules.job import log_key
from tidegate.deploys.rules.state import State
from tidegate.ports import LogChunk

CHROMIUM = shutil.which("chromium")
FLAGS = ["--no-sandbox", "--disable-gpu", "--disable-background-networking"]


class Quiet(WSGIRequestHandler):
    def log_message(self, *_):
        pass


class Site:
    """The pages on adapters in memory, at an address of this machine."""

    def __init__(self):
        self.wires = WebScenario()
        self._server = make_server("127.0.0.1", 0, wsgi(self.wires), handler_class=Quiet)
        self.url = f"http://127.0.0.1:{self._server.server_port}"
        self.wires.put({"TIDEGATE_WEB_URL": self.url})
        self._thread = threading.Thread(target=self._server.serve_forever, args=(0.02,), daemon=True)
        self._thread.start()

    def cookie(self, login="reviewer"):
        return {"name": "tidegate", "value": self.wires.sessions.begin(login), "url": self.url}

    def planning(self):
        """Return a plan job that a runner has taken."""
        one = self.wires.deployed(deployment_in(State.PLANNING))
        job = any_job(id=f"{one.id}-plan-1", deployment=one.id)
        self.wires.jobs.create(job)
        self.wires.jobs.hand_over(job.id, "token", "clone")
        self.wires.jobs.take(job.id, "runner")
        return job.id

    def write(self, job, position, *lines):
        self.wires.job_logs.append(job, LogChunk(position, lines))

    def end(self, job, *lines):
        self.wires.artifacts.put(log_key(job), "".join(f"{line}\n" for line in lines).encode())

    def close(self):
        self._server.shutdown()
        self._server.server_close()
        self._thread.join()
