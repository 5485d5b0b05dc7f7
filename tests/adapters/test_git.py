"""The git adapter with a real git on real repositories, over files and over HTTP."""

from __future__ import annotations

import base64
import os
import subprocess
import threading
from dataclasses import dataclass, field
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path

import pytest

from tests.repositories import Repository
from tidegate.rules.errors import ForgeRefused, ForgeUnavailable, InvalidName, NotFound
from tidegate.vcs.git.trees import MAXIMUM_FILE, GitSource

ZEROS = "0" * 40
TOKEN = "ghs_secret"


@pytest.fixture
def repository(tmp_path):
    return Repository(tmp_path / "origin")


SOURCE = GitSource(protocols={"file", "http"})


def changed(repository, before: str, after: str) -> list[str]:
    with SOURCE.fetch(repository.url, TOKEN, before, after) as trees:
        return [change.path for change in trees.changes]


def test_files_and_changes_of_a_push_are_found_without_fetching_contents(repository):
    before = repository.commit({"a/main.tf": "old", "b/main.tf": "same", "gone.tf": "x"})
    after = repository.commit({"a/main.tf": "new", "c/main.tf": "", "gone.tf": None})
    with SOURCE.fetch(repository.url, TOKEN, before, after) as trees:
        assert sorted(trees.files) == ["a/main.tf", "b/main.tf", "c/main.tf"]
        assert trees.before_is_known
        kinds = [(change.path, change.before is not None, change.after is not None) for change in trees.changes]
        assert kinds == [("a/main.tf", True, True), ("c/main.tf", False, True), ("gone.tf", True, False)]
        read = trees.read([trees.files["a/main.tf"], trees.changes[0].before, trees.files["c/main.tf"]])
        assert set(read.values()) == {b"new", b"old", b""}


def test_links_are_told_and_hold_where_they_lead(repository):
    before = repository.commit({"shared.tf": "x"})
    (repository.path / "link.tf").symlink_to("shared.tf")
    with SOURCE.fetch(repository.url, TOKEN, before, repository.commit({})) as trees:
        assert set(trees.links) == {"link.tf"}
        assert [(change.path, change.link) for change in trees.changes] == [("link.tf", True)]
        assert trees.read([trees.files["link.tf"]]) == {trees.files["link.tf"]: b"shared.tf"}


def test_a_rename_shows_its_old_and_its_new_name(repository):
    before = repository.commit({"old/main.tf": "the same text"})
    repository.git("mv", "old", "new")
    assert changed(repository, before, repository.commit({})) == ["new/main.tf", "old/main.tf"]


def test_a_merge_commit_shows_everything_that_the_merge_brought(repository):
    before = repository.commit({"a.tf": "1"})
    repository.git("checkout", "--quiet", "-b", "feature")
    repository.commit({"b.tf": "1"})
    repository.commit({"c.tf": "1"})
    repository.git("checkout", "--quiet", "main")
    repository.git("merge", "--quiet", "--no-ff", "--message", "merge", "feature")
    assert changed(repository, before, repository.git("rev-parse", "HEAD")) == ["b.tf", "c.tf"]


def test_a_push_of_many_commits_shows_all_of_them_and_not_just_the_last(repository):
    before = repository.commit({"a.tf": "1"})
    for number in range(60):
        after = repository.commit({f"{number:02}.tf": "x"})
    assert len(changed(repository, before, after)) == 60


def test_a_forced_push_shows_what_it_undoes_as_well(repository):
    base = repository.commit({"a.tf": "1"})
    before = repository.commit({"undone.tf": "1"})
    repository.git("reset", "--quiet", "--hard", base)
    after = repository.commit({"b.tf": "1"})
    repository.git("branch", "keep", before)
    assert changed(repository, before, after) == ["b.tf", "undone.tf"]
    assert changed(repository, before, base) == ["undone.tf"]


def test_a_changed_mode_or_kind_is_a_change_and_a_submodule_is_no_file(repository):
    before = repository.commit({"run.tf": "x", "link.tf": "x"})
    repository.git("update-index", "--chmod=+x", "run.tf")
    repository.git("update-index", "--add", "--cacheinfo", f"160000,{before},module")
    repository.git("commit", "--quiet", "--message", "x")
    (repository.path / "run.tf").chmod(0o755)
    (repository.path / "link.tf").unlink()
    (repository.path / "link.tf").symlink_to("/etc/passwd")
    repository.git("add", "link.tf")
    repository.git("commit", "--quiet", "--message", "x")
    after = repository.git("rev-parse", "HEAD")
    with SOURCE.fetch(repository.url, TOKEN, before, after) as trees:
        assert [change.path for change in trees.changes] == ["link.tf", "module", "run.tf"]
        assert sorted(trees.files) == ["link.tf", "run.tf"]
        assert trees.read([trees.files["link.tf"]]) == {trees.files["link.tf"]: b"/etc/passwd"}


@pytest.mark.parametrize("before", [ZEROS, "f" * 40], ids=["new branch", "gone from the forge"])
def test_without_the_commit_before_every_file_counts_as_new(repository, before):
    after = repository.commit({"a.tf": "1", "b.tf": "2"})
    with SOURCE.fetch(repository.url, TOKEN, before, after) as trees:
        assert not trees.before_is_known
        assert sorted(change.path for change in trees.changes) == ["a.tf", "b.tf"]
        assert all(change.before is None for change in trees.changes)


def test_a_commit_changes_nothing_against_itself(repository):
    commit = repository.commit({"a.tf": "1"})
    assert changed(repository, commit, commit) == []
    with SOURCE.fetch(repository.url, TOKEN, commit, commit) as trees:
        assert trees.before_is_known
        assert list(trees.files) == ["a.tf"]


def test_a_commit_that_the_forge_does_not_have_is_not_found(repository):
    before = repository.commit({"a.tf": "1"})
    with pytest.raises(NotFound):
        changed(repository, before, "e" * 40)


def test_a_commit_is_found_by_its_id_although_no_branch_leads_to_it(repository):
    before = repository.commit({"a.tf": "1"})
    after = repository.commit({"b.tf": "1"})
    repository.git("reset", "--quiet", "--hard", before)
    assert changed(repository, before, after) == ["b.tf"]


HOSTILE = [
    "a&&id",
    "$(x)",
    "-chdir=x",
    "--upload-pack=touch x",
    "a\nb",
    "a\tb",
    'a"b',
    "🚀",
    "x" * 250,
    b"\xff\xfe",
    "../a".replace("/", "%2f"),
    ":(glob)*",
    "tab\\back",
]


def test_hostile_names_of_files_come_through_as_they_are(repository):
    before = repository.commit({"a.tf": "1"})
    after = repository.commit({os.fsencode(name) + b"/main.tf": "x" for name in HOSTILE})
    with SOURCE.fetch(repository.url, TOKEN, before, after) as trees:
        assert {change.path for change in trees.changes} == {f"{os.fsdecode(name)}/main.tf" for name in HOSTILE}
        assert trees.changes[0].path in trees.files


def test_a_path_of_more_than_three_hundred_characters_comes_through(repository):
    before = repository.commit({"a.tf": "1"})
    long = "/".join(["x" * 200] * 3) + "/main.tf"
    assert changed(repository, before, repository.commit({long: "x"})) == [long]


@pytest.mark.parametrize("name", ["main", "HEAD", "-chdir=x", "--upload-pack=x", "a" * 39, "$(x)", ""])
def test_nothing_but_a_full_object_id_reaches_git(repository, name):
    after = repository.commit({"a.tf": "1"})
    with pytest.raises(InvalidName):
        changed(repository, name, after)
    with pytest.raises(InvalidName):
        changed(repository, after, name)


def test_a_file_that_is_too_large_is_read_as_empty(repository):
    after = repository.commit({"big.tf": b"x" * (MAXIMUM_FILE + 1), "small.tf": "x"})
    with SOURCE.fetch(repository.url, TOKEN, ZEROS, after) as trees:
        read = trees.read(trees.files.values())
        assert read == {trees.files["big.tf"]: b"", trees.files["small.tf"]: b"x"}


def test_a_repository_with_sha256_ids_is_read_too(tmp_path):
    repository = Repository(tmp_path / "origin", object_format="sha256")
    before = repository.commit({"a.tf": "1"})
    after = repository.commit({"b.tf": "1"})
    assert changed(repository, before, after) == ["b.tf"]


def test_what_the_repository_or_its_owner_configures_runs_nothing(repository, tmp_path):
    before = repository.commit({"a.tf": "1"})
    trap = tmp_path / "trap"
    script = tmp_path / "script"
    script.write_text(f"#!/bin/sh\ntouch '{trap}'\n")
    script.chmod(0o755)
    config = f"[core]\n\thooksPath = {tmp_path}\n\tfsmonitor = {script}\n[diff]\n\texternal = {script}\n"
    (tmp_path / ".gitconfig").write_text(config)
    after = repository.commit({".gitattributes": "* diff=x filter=x\n", ".gitmodules": "[submodule]", "b.tf": "1"})
    source = GitSource(
        {"PATH": os.environ["PATH"], "HOME": str(tmp_path), "GIT_EXTERNAL_DIFF": str(script)}, protocols={"file"}
    )
    with source.fetch(repository.url, TOKEN, before, after) as trees:
        trees.read(trees.files.values())
    assert not trap.exists()


@pytest.mark.parametrize("url", ["ext::sh -c id", "ssh://host/x", "file:///etc", "-oProxyCommand=x", "git://host/x"])
def test_an_address_of_another_protocol_is_refused(url):
    with pytest.raises(ForgeRefused), GitSource().fetch(url, TOKEN, ZEROS, "a" * 40):
        pass


def test_a_forge_that_does_not_answer_is_unavailable():
    with pytest.raises(ForgeUnavailable), SOURCE.fetch("http://127.0.0.1:9/acme/infra", TOKEN, ZEROS, "a" * 40):
        pass


@dataclass
class Forge:
    """A forge's git over HTTP. ``status`` is answered instead when it is set; requests are recorded."""

    root: Path
    status: int = 0
    silent: threading.Event | None = None
    requests: list[tuple[str, str]] = field(default_factory=list)
    authorizations: set[str | None] = field(default_factory=set)

    def answer(self, request: BaseHTTPRequestHandler) -> None:
        body = request.rfile.read(int(request.headers.get("content-length", 0)))
        self.requests.append((request.command, request.path))
        self.authorizations.add(request.headers.get("authorization"))
        if self.silent is not None:
            self.silent.wait(30)
        if self.status:
            request.send_response(self.status)
            request.send_header("content-length", "0")
            request.end_headers()
            return
        path, _, query = request.path.partition("?")
        environ = {
            "PATH": os.environ["PATH"],
            "GIT_PROJECT_ROOT": str(self.root),
            "GIT_HTTP_EXPORT_ALL": "1",
            "GIT_CONFIG_COUNT": "1",
            "GIT_CONFIG_KEY_0": "safe.directory",
            "GIT_CONFIG_VALUE_0": "*",
            "REQUEST_METHOD": request.command,
            "PATH_INFO": path,
            "QUERY_STRING": query,
            "CONTENT_TYPE": request.headers.get("content-type", ""),
            "HTTP_CONTENT_ENCODING": request.headers.get("content-encoding", ""),
            "GIT_PROTOCOL": request.headers.get("git-protocol", ""),
        }
        run = subprocess.run(["git", "http-backend"], input=body, env=environ, capture_output=True, check=True)
        head, _, content = run.stdout.partition(b"\r\n\r\n")
        request.send_response(200)
        for line in head.decode().split("\r\n"):
            request.send_header(*line.split(": ", 1))
        request.send_header("content-length", str(len(content)))
        request.end_headers()
        request.wfile.write(content)


@pytest.fixture
def forge(tmp_path):
    served = Forge(tmp_path)

    class Handler(BaseHTTPRequestHandler):
        protocol_version = "HTTP/1.1"

        def do_GET(self):
            served.answer(self)

        do_POST = do_GET

        def log_message(self, *_arguments):
            pass

    with ThreadingHTTPServer(("127.0.0.1", 0), Handler) as server:
        thread = threading.Thread(target=server.serve_forever, kwargs={"poll_interval": 0.01})
        thread.start()
        served.url = f"http://127.0.0.1:{server.server_port}/origin/.git"
        try:
            yield served
        finally:
            if served.silent is not None:
                served.silent.set()
            server.shutdown()
            thread.join()


def test_over_http_two_requests_for_packs_are_enough_and_each_carries_the_token(repository, forge):
    before = repository.commit({f"{number}/main.tf": str(number) for number in range(50)})
    after = repository.commit({"0/main.tf": "new"})
    with SOURCE.fetch(forge.url, TOKEN, before, after) as trees:
        assert len(trees.read(trees.files.values())) == 50
    assert [path for method, path in forge.requests if method == "POST"] == ["/origin/.git/git-upload-pack"] * 2
    basic = base64.b64encode(f"x-access-token:{TOKEN}".encode()).decode()
    assert forge.authorizations == {f"Basic {basic}"}


@pytest.mark.parametrize(
    ("status", "refusal"),
    [(401, ForgeRefused), (403, ForgeRefused), (404, ForgeRefused), (429, ForgeUnavailable), (503, ForgeUnavailable)],
)
def test_a_refusal_of_the_forge_is_told_and_never_shows_the_token(forge, status, refusal):
    forge.status = status
    with pytest.raises(refusal) as caught, SOURCE.fetch(forge.url, TOKEN, ZEROS, "a" * 40):
        pass
    assert TOKEN not in str(caught.value)


def test_a_forge_that_never_answers_is_given_up_on_with_all_that_git_started(forge):
    forge.silent = threading.Event()
    source = GitSource(protocols={"http"}, time_limit=0.5)
    with pytest.raises(ForgeUnavailable, match="too long"), source.fetch(forge.url, TOKEN, ZEROS, "a" * 40):
        pass


def branched(repository, ours, theirs, start):
    """Return base, head and the commit that both come after, each as it changes files."""
    common = repository.commit(start)
    repository.git("checkout", "--quiet", "-b", "feature")
    head = repository.commit(theirs)
    repository.git("checkout", "--quiet", "main")
    return repository.commit(ours), head, common


def test_a_merge_shows_what_it_would_push_to_the_base_with_files_that_both_changed(repository):
    lines = "".join(f"line {number}\n" for number in range(20))
    base, head, common = branched(
        repository,
        {"both": lines.replace("line 1\n", "ours\n"), "late/main.tf": "1", "same": "2"},
        {"both": lines.replace("line 18\n", "theirs\n"), "new.tf": "1", "same": "2", "gone": None},
        {"both": lines, "same": "1", "gone": "1"},
    )
    with SOURCE.merge(repository.url, TOKEN, base, head, common) as found:
        assert found.conflicts == ()
        assert [change.path for change in found.trees.changes] == ["both", "gone", "new.tf"]
        assert sorted(found.trees.files) == ["both", "late/main.tf", "new.tf", "same"]
        files = found.trees.files
        read = found.trees.read({files["both"], files["new.tf"], found.trees.changes[0].before})
    assert read[files["both"]].decode() == lines.replace("line 1\n", "ours\n").replace("line 18\n", "theirs\n")
    assert read[files["new.tf"]] == b"1"


def test_what_cannot_be_merged_shows_the_head_and_the_conflicts(repository):
    base, head, common = branched(repository, {"a": "ours"}, {"a": "theirs", "b": "1"}, {"a": "1"})
    with SOURCE.merge(repository.url, TOKEN, base, head, common) as found:
        assert found.conflicts == ("a",)
        assert [change.path for change in found.trees.changes] == ["a", "b"]


def test_a_head_that_contains_its_base_is_the_merge_and_one_that_the_base_contains_changes_nothing(repository):
    base = repository.commit({"a": "1"})
    head = repository.commit({"b": "1"})
    with SOURCE.merge(repository.url, TOKEN, base, head, base) as found:
        assert [change.path for change in found.trees.changes] == ["b"]
    with SOURCE.merge(repository.url, TOKEN, head, base, base) as found:
        assert found.trees.changes == ()


def test_a_merge_of_a_commit_that_is_gone_is_not_found(repository):
    base = repository.commit({"a": "1"})
    with pytest.raises(NotFound), SOURCE.merge(repository.url, TOKEN, base, "1" * 40, base):
        pass


def test_a_merge_is_fetched_over_https_only():
    asked = GitSource().merge("http://example.org/a.git", TOKEN, "1" * 40, "2" * 40, "3" * 40)
    with pytest.raises(ForgeRefused), asked:
        pass
