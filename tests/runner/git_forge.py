"""A forge that serves one private repository over HTTP, with git's own CGI program."""

from __future__ import annotations

import base64
import json
import os
import shutil
import subprocess
import threading
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from types import MappingProxyType

from tidegate_local.forge.large_files import digest, pointer

CLONE_TOKEN = "clone-token-0123456789"


Files = Mapping[str, str | bytes | None]


class Forge:
    def __init__(self, directory: Path) -> None:
        self.directory = directory
        self.repository = directory / "acme" / "infra.git"
        self.url = ""
        self.tokens: list[str] = []
        self.requests: list[str] = []
        self.large: dict[str, bytes] = {}
        self.lfs_status = 200
        #: Where files in Git LFS are, if not at the forge itself.
        self.large_url = ""
        #: Commits by path, which a commit with a .gitmodules has as its submodules.
        self.submodules: dict[str, str] = {}

    @property
    def clone_url(self) -> str:
        return f"{self.url}/acme/infra.git"

    def commit(self, files: Files, links: Mapping[str, str] | None = None) -> str:
        """Make the repository with one commit of these files; return its SHA."""
        work = self._begin()
        _link(work, links or {})
        sha = self._commit(work, files)
        self._publish(work)
        return sha

    def pull_request(
        self,
        common: Files,
        head: Files,
        base: Files,
        commits: int = 0,
        *,
        common_links: Mapping[str, str] = MappingProxyType({}),
        links: Mapping[str, str] = MappingProxyType({}),
    ) -> tuple[str, str]:
        """Make the repository with two branches of a common commit; return the SHAs of head and base.

        Each changes the files that it has; with None, it deletes them. ``commits`` lie in the base between them.
        ``links`` are those that the head has in place of what was there.
        """
        work = self._begin()
        _link(work, common_links)
        self._commit(work, common)
        self._git(work, "checkout", "--quiet", "-b", "head")
        _link(work, links)
        ours = self._commit(work, head) if head else self._git(work, "rev-parse", "HEAD")
        self._git(work, "checkout", "--quiet", "main")
        stream = "".join(
            f"commit refs/heads/main\ncommitter A <a@example.com> {number} +0000\ndata 1\nx\n"
            + ("from refs/heads/main^0\n" if number == 0 else "")
            for number in range(commits)
        )
        self._git(work, "fast-import", "--quiet", sent=stream)
        theirs = self._commit(work, base) if base else self._git(work, "rev-parse", "HEAD")
        self._publish(work)
        return ours, theirs

    def fork(self, head: str, base: str) -> str:
        """Return the newest commit that two have in common."""
        return self._git(self.repository, "merge-base", head, base)

    def other(self, name: str, files: Files) -> str:
        """Make another repository of the same owner with one commit of these files; return the commit."""
        work = self.directory / f"work-of-{name}"
        self._git(self.directory, "init", "--quiet", "--initial-branch=main", str(work))
        sha = self._commit(work, files)
        self._git(self.directory, "clone", "--quiet", "--bare", str(work), str(self.directory / "acme" / f"{name}.git"))
        self._git(self.directory / "acme" / f"{name}.git", "config", "uploadpack.allowAnySHA1InWant", "true")
        return sha

    def store(self, content: bytes) -> str:
        """Keep a file in Git LFS; return what stands for it in the repository."""
        self.large[digest(content)] = content
        return pointer(content)

    def batch(self, handler: BaseHTTPRequestHandler) -> tuple[int, list[tuple[str, str]], bytes]:
        """Answer LFS' batch API. https://github.com/git-lfs/git-lfs/blob/main/docs/api/batch.md"""
        asked = json.loads(handler.rfile.read(int(handler.headers["content-length"])))
        assert (asked["operation"], handler.headers["accept"]) == ("download", "application/vnd.git-lfs+json")
        objects = [
            each | {"actions": {"download": {"href": f"{self.large_url or self.url}/large/{each['oid']}"}}}
            if each["oid"] in self.large
            else each | {"error": {"code": 404, "message": "Object does not exist"}}
            for each in asked["objects"]
        ]
        return (
            self.lfs_status,
            [("content-type", "application/vnd.git-lfs+json")],
            json.dumps({"objects": objects}).encode(),
        )

    def _begin(self) -> Path:
        work = self.directory / "work"
        self._git(self.directory, "init", "--quiet", "--initial-branch=main", str(work))
        return work

    def _commit(self, work: Path, files: Files) -> str:
        for name, content in files.items():
            file = work / name
            if content is None:
                file.unlink()
                continue
            file.parent.mkdir(parents=True, exist_ok=True)
            file.write_bytes(content.encode() if isinstance(content, str) else content)
        self._git(work, "add", "--all", "--force")
        for path, commit in self.submodules.items() if ".gitmodules" in files else ():
            self._git(work, "update-index", "--add", "--cacheinfo", f"160000,{commit},{path}")
        self._git(work, "commit", "--quiet", "--message", "content")
        return self._git(work, "rev-parse", "HEAD")

    def _publish(self, work: Path) -> None:
        self._git(self.directory, "clone", "--quiet", "--bare", str(work), str(self.repository))
        for name in ("http.uploadpack", "uploadpack.allowAnySHA1InWant", "uploadpack.allowFilter"):
            self._git(self.repository, "config", name, "true")

    def _git(self, cwd: Path, *arguments: str, sent: str = "") -> str:
        settings = ["-c", "user.name=Author", "-c", "user.email=author@example.com", "-c", "commit.gpgsign=false"]
        environ = {**os.environ, "GIT_CONFIG_GLOBAL": os.devnull, "GIT_CONFIG_NOSYSTEM": "1"}
        result = subprocess.run(
            ["git", *settings, *arguments], cwd=cwd, env=environ, check=True, capture_output=True, text=True, input=sent
        )
        return result.stdout.strip()

    def cgi(self, handler: BaseHTTPRequestHandler) -> tuple[int, list[tuple[str, str]], bytes]:
        path, _, query = handler.path.partition("?")
        environ = {
            "PATH": os.environ["PATH"],
            "GIT_PROJECT_ROOT": str(self.directory),
            "GIT_HTTP_EXPORT_ALL": "1",
            "GIT_PROTOCOL": handler.headers.get("git-protocol", ""),
            "REQUEST_METHOD": handler.command,
            "PATH_INFO": path,
            "QUERY_STRING": query,
            "CONTENT_TYPE": handler.headers.get("content-type", ""),
            "HTTP_CONTENT_ENCODING": handler.headers.get("content-encoding", ""),
            "REMOTE_ADDR": "127.0.0.1",
        }
        body = handler.rfile.read(int(handler.headers.get("content-length", 0)))
        answer = subprocess.run(
            ["git", "http-backend"], env=environ, input=body, check=True, capture_output=True
        ).stdout
        head, _, content = answer.partition(b"\r\n\r\n")
        headers = [
            (name, value.strip()) for name, _, value in (line.partition(":") for line in head.decode().split("\r\n"))
        ]
        status = next((int(value.split()[0]) for name, value in headers if name == "Status"), 200)
        return status, [header for header in headers if header[0] != "Status"], content


def _link(work: Path, links: Mapping[str, str]) -> None:
    for name, target in links.items():
        place = work / name
        place.parent.mkdir(parents=True, exist_ok=True)
        if place.is_dir():
            shutil.rmtree(place)
        place.unlink(missing_ok=True)
        place.symlink_to(target)


@contextmanager
def running_forge(directory: Path) -> Iterator[Forge]:
    forge = Forge(directory)

    class Handler(BaseHTTPRequestHandler):
        protocol_version = "HTTP/1.1"
        disable_nagle_algorithm = True

        def answer(self) -> None:
            forge.requests.append(self.path)
            sent = self.headers.get("authorization", "").removeprefix("Basic ")
            forge.tokens.append(base64.b64decode(sent).decode())
            if self.path.startswith("/large/"):
                status, headers, content = 200, [], forge.large[self.path.removeprefix("/large/")]
            elif forge.tokens[-1] != f"x-access-token:{CLONE_TOKEN}":
                status, headers, content = 401, [("www-authenticate", 'Basic realm="forge"')], b""
            elif self.path == "/acme/infra.git/info/lfs/objects/batch":
                status, headers, content = forge.batch(self)
            else:
                status, headers, content = forge.cgi(self)
            self.send_response(status)
            for name, value in headers:
                self.send_header(name, value)
            self.send_header("content-length", str(len(content)))
            self.end_headers()
            self.wfile.write(content)

        do_GET = do_POST = answer

        def log_message(self, *arguments: object) -> None:
            pass

    server = ThreadingHTTPServer(("127.0.0.1", 0), Handler)
    server.daemon_threads = True
    thread = threading.Thread(target=server.serve_forever, kwargs={"poll_interval": 0.01})
    thread.start()
    forge.url = f"http://127.0.0.1:{server.server_address[1]}"
    try:
        yield forge
    finally:
        server.shutdown()
        thread.join()
        server.server_close()
