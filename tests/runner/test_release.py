"""Downloading an engine: only what the vendor's key signed is used, and a refusal leaves nothing behind."""

from __future__ import annotations

import functools
import hashlib
import http.server
import os
import shutil
import subprocess
import threading
import zipfile
from collections.abc import Iterator
from pathlib import Path

import pytest

from runner.engine_install import InstalledEngine, find_engine
from runner.faults import EngineMissing, RunnerFault
from runner.release import VENDORS, ReleaseRefused, install_release, verify_signature
from runner.settings import read_settings
from tests.runner.conftest import Bench
from tests.runner.environment import SETTINGS
from tidegate.deploys.rules.job import JobKind
from tidegate.roots.rules.root import Engine, EngineName

VERSION = "1.99.1"
PLATFORM = f"linux_{'arm64' if os.uname().machine == 'aarch64' else 'amd64'}"
PROGRAM = f'#!/bin/sh\necho \'{{"terraform_version": "{VERSION}"}}\'\n'


class Key:
    """A key of our own, made for the test."""

    def __init__(self, home: Path) -> None:
        home.mkdir(mode=0o700)
        self._home = home
        self._gpg("--quick-generate-key", "--passphrase", "", "Mirror <mirror@example.com>", "ed25519", "sign", "never")
        listing = self._gpg("--list-keys", "--with-colons").splitlines()
        self.fingerprint = next(line.split(":")[9] for line in listing if line.startswith("fpr"))

    def export(self, directory: Path) -> None:
        directory.mkdir(exist_ok=True)
        (directory / "terraform.asc").write_text(self._gpg("--armor", "--export"))
        (directory / "terraform.fingerprint").write_text(self.fingerprint)

    def sign(self, file: Path) -> None:
        self._gpg("--detach-sign", "--output", f"{file}.sig", str(file))

    def _gpg(self, *arguments: str) -> str:
        argv = ["gpg", "--homedir", str(self._home), "--batch", "--quiet", "--pinentry-mode", "loopback", *arguments]
        return subprocess.run(argv, check=True, capture_output=True, text=True).stdout

    def stop(self) -> None:
        subprocess.run(["gpgconf", "--homedir", str(self._home), "--kill", "all"], check=True)


@pytest.fixture(scope="module")
def key(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Key]:
    # gpg's agent listens on a socket below its home, whose path must be short.
    home = Path("/tmp") / f"tidegate-{os.getpid()}-{os.urandom(4).hex()}"
    key = Key(home)
    yield key
    key.stop()
    shutil.rmtree(home, ignore_errors=True)  # The agent that was told to end removes its sockets meanwhile.


@pytest.fixture
def keys(key: Key, tmp_path: Path) -> Path:
    key.export(tmp_path / "keys")
    return tmp_path / "keys"


class Mirror:
    def __init__(self, directory: Path, key: Key) -> None:
        self.release = directory / "terraform" / VERSION
        self.release.mkdir(parents=True)
        self._key = key
        self.url = ""

    @property
    def archive(self) -> Path:
        return self.release / f"terraform_{VERSION}_{PLATFORM}.zip"

    @property
    def sums(self) -> Path:
        return self.release / f"terraform_{VERSION}_SHA256SUMS"

    def publish(self, members: dict[str, str] | None = None) -> None:
        with zipfile.ZipFile(self.archive, "w") as files:
            for name, content in (members or {"LICENSE.txt": "text", "terraform": PROGRAM}).items():
                files.writestr(name, content)
        self.publish_sums(hashlib.sha256(self.archive.read_bytes()).hexdigest())

    def publish_sums(self, digest: str) -> None:
        other = f"{'0' * 64}  terraform_{VERSION}_plan9_amd64.zip\n"
        self.sums.write_text(f"{other}{digest}  {self.archive.name}\n")
        Path(f"{self.sums}.sig").unlink(missing_ok=True)
        self._key.sign(self.sums)


@pytest.fixture
def mirror(tmp_path: Path, key: Key) -> Iterator[Mirror]:
    directory = tmp_path / "mirror"
    mirror = Mirror(directory, key)

    class Handler(http.server.SimpleHTTPRequestHandler):
        def log_message(self, *arguments: object) -> None:
            pass

    handler = functools.partial(Handler, directory=str(directory))
    server = http.server.ThreadingHTTPServer(("127.0.0.1", 0), handler)
    thread = threading.Thread(target=server.serve_forever, kwargs={"poll_interval": 0.01})
    thread.start()
    mirror.url = f"http://127.0.0.1:{server.server_address[1]}/"
    yield mirror
    server.shutdown()
    thread.join()
    server.server_close()


@pytest.fixture
def target(tmp_path: Path) -> Path:
    return tmp_path / "cache" / f"terraform-{VERSION}" / "terraform"


def install(mirror: Mirror, keys: Path, target: Path, version: str = VERSION) -> None:
    install_release(EngineName.TERRAFORM, version, target, mirror.url, keys)


def cached(target: Path) -> list[Path]:
    return [path for path in target.parents[1].rglob("*") if path.is_file()] if target.parents[1].exists() else []


def test_a_signed_release_is_installed_and_nothing_else_is_kept(mirror: Mirror, keys: Path, target: Path) -> None:
    mirror.publish()
    install(mirror, keys, target)
    assert target.read_text() == PROGRAM
    assert os.access(target, os.X_OK)
    assert cached(target) == [target]


def test_an_archive_with_another_sum_is_refused(mirror: Mirror, keys: Path, target: Path) -> None:
    mirror.publish()
    mirror.archive.write_bytes(mirror.archive.read_bytes() + b"more")
    with pytest.raises(ReleaseRefused, match="SHA-256"):
        install(mirror, keys, target)
    assert cached(target) == []


def test_a_checksum_file_that_was_changed_after_signing_is_refused(mirror: Mirror, keys: Path, target: Path) -> None:
    mirror.publish()
    mirror.archive.write_bytes(b"another archive")
    digest = hashlib.sha256(b"another archive").hexdigest()
    mirror.sums.write_text(f"{digest}  {mirror.archive.name}\n")
    with pytest.raises(ReleaseRefused, match="not signed"):
        install(mirror, keys, target)
    assert cached(target) == []


def test_a_signature_by_another_key_is_refused(mirror: Mirror, keys: Path, target: Path) -> None:
    mirror.publish()
    (keys / "terraform.fingerprint").unlink()  # Now only the vendor's own key will do.
    with pytest.raises(ReleaseRefused, match="not signed"):
        install(mirror, keys, target)
    assert cached(target) == []


def test_the_vendors_key_does_not_accept_what_another_key_signed(mirror: Mirror, target: Path) -> None:
    mirror.publish()
    with pytest.raises(ReleaseRefused, match="not signed"):
        install_release(EngineName.TERRAFORM, VERSION, target, mirror.url, read_settings(SETTINGS).release_keys)
    assert cached(target) == []


@pytest.mark.parametrize("content", [b"", b"no signature"])
def test_what_is_no_signature_is_refused(mirror: Mirror, keys: Path, target: Path, content: bytes) -> None:
    mirror.publish()
    Path(f"{mirror.sums}.sig").write_bytes(content)
    with pytest.raises(ReleaseRefused, match="not signed"):
        install(mirror, keys, target)
    assert cached(target) == []


def test_without_a_signature_nothing_is_used(mirror: Mirror, keys: Path, target: Path) -> None:
    mirror.publish()
    Path(f"{mirror.sums}.sig").unlink()
    with pytest.raises(ReleaseRefused, match=r"SHA256SUMS\.sig does not exist"):
        install(mirror, keys, target)
    assert cached(target) == []


def test_without_a_key_nothing_is_used(mirror: Mirror, tmp_path: Path, target: Path) -> None:
    mirror.publish()
    with pytest.raises(ReleaseRefused, match="TIDEGATE_RELEASE_KEYS"):
        install(mirror, tmp_path / "no-keys", target)
    assert cached(target) == []


@pytest.mark.parametrize("name", ["../escaped", "/tmp/escaped", "a/../../escaped", "..\\escaped"])
def test_an_archive_that_writes_outside_its_folder_is_refused(
    mirror: Mirror, keys: Path, target: Path, name: str
) -> None:
    mirror.publish({name: "x", "terraform": PROGRAM})
    with pytest.raises(ReleaseRefused, match="The archive writes outside of its"):
        install(mirror, keys, target)
    assert cached(target) == []
    assert not list(target.parents[2].glob("**/escaped"))


def test_an_archive_without_the_program_is_refused(mirror: Mirror, keys: Path, target: Path) -> None:
    mirror.publish({"README": "x"})
    with pytest.raises(ReleaseRefused, match="does not contain terraform"):
        install(mirror, keys, target)


def test_what_is_no_archive_is_refused(mirror: Mirror, keys: Path, target: Path) -> None:
    mirror.archive.write_bytes(b"no archive")
    mirror.publish_sums(hashlib.sha256(b"no archive").hexdigest())
    with pytest.raises(ReleaseRefused, match="not a ZIP"):
        install(mirror, keys, target)


def test_a_version_that_does_not_exist_is_named(mirror: Mirror, keys: Path, target: Path) -> None:
    with pytest.raises(EngineMissing, match=r"no terraform 1\.2\.3: http://.*/1\.2\.3/"):
        install(mirror, keys, target, "1.2.3")
    assert cached(target) == []


@pytest.mark.parametrize("version", ["../1.2.3", "1.2", "1.2.3/..", "latest", "-rf"])
def test_what_is_no_version_is_refused_before_anything_is_asked(keys: Path, target: Path, version: str) -> None:
    with pytest.raises(ReleaseRefused, match="not a version"):
        install_release(EngineName.TERRAFORM, version, target, "http://127.0.0.1:9", keys)


def test_a_mirror_that_does_not_answer_is_a_fault(keys: Path, target: Path) -> None:
    with pytest.raises(RunnerFault, match="failed: "):
        install_release(EngineName.TERRAFORM, VERSION, target, "http://127.0.0.1:9", keys)


@pytest.mark.parametrize("engine", list(EngineName))
def test_the_keys_that_are_shipped_are_the_vendors(engine: EngineName) -> None:
    keys = read_settings(SETTINGS).release_keys
    argv = ["gpg", "--show-keys", "--with-colons", str(keys / VENDORS[engine].key_file)]
    listing = subprocess.run(argv, check=True, capture_output=True, text=True).stdout.splitlines()
    fingerprints = [line.split(":")[9] for line in listing if line.startswith("fpr")]
    assert fingerprints[0] == VENDORS[engine].fingerprint


def test_a_signature_is_judged_by_the_whole_file(mirror: Mirror, keys: Path, key: Key) -> None:
    mirror.publish()
    with mirror.sums.open("a") as file:
        file.write("one line more\n")
    with pytest.raises(ReleaseRefused):
        verify_signature(mirror.sums, Path(f"{mirror.sums}.sig"), keys / "terraform.asc", key.fingerprint)


@pytest.fixture
def path(tmp_path: Path) -> Path:
    """A directory for PATH with an engine that says that it is 1.99.1."""
    directory = tmp_path / "bin"
    directory.mkdir()
    program = directory / "terraform"
    program.write_text(PROGRAM)
    program.chmod(0o755)
    return directory


def find(wanted: str | None, path: Path, **environ: str) -> InstalledEngine:
    settings = read_settings({**SETTINGS, **environ})
    return find_engine(EngineName.TERRAFORM, wanted, settings, path.parent / "job", {"PATH": f"{path}:/bin:/usr/bin"})


@pytest.mark.parametrize("wanted", [None, VERSION])
def test_the_engine_on_path_is_used_when_its_version_fits(path: Path, wanted: str | None) -> None:
    assert find(wanted, path) == InstalledEngine(path / "terraform", VERSION)


@pytest.mark.parametrize("old", ["1.9.8", "0.15.5"])
def test_an_old_engine_on_path_is_not_used_unless_it_is_pinned(path: Path, old: str) -> None:
    (path / "terraform").write_text(PROGRAM.replace(VERSION, old))
    with pytest.raises(RunnerFault, match="No usable terraform"):
        find(None, path)
    assert find(old, path).version == old


def test_another_version_than_the_one_on_path_is_downloaded_once(
    path: Path, mirror: Mirror, keys: Path, tmp_path: Path
) -> None:
    (path / "terraform").write_text(PROGRAM.replace(VERSION, "1.5.0"))
    mirror.publish()
    environ = {
        "TIDEGATE_RELEASE_MIRROR": mirror.url,
        "TIDEGATE_RELEASE_KEYS": str(keys),
        "TIDEGATE_ENGINE_CACHE": str(tmp_path / "engines"),
    }
    expected = InstalledEngine(tmp_path / "engines" / f"terraform-{VERSION}" / "terraform", VERSION)
    assert find(VERSION, path, **environ) == expected
    shutil.rmtree(mirror.release)
    assert find(None, path, **environ, TIDEGATE_DEFAULT_TERRAFORM=VERSION) == expected


def test_a_default_version_that_was_never_released_is_the_operators_to_mend(
    path: Path, mirror: Mirror, keys: Path
) -> None:
    (path / "terraform").unlink()
    environ = {
        "TIDEGATE_RELEASE_MIRROR": mirror.url,
        "TIDEGATE_RELEASE_KEYS": str(keys),
        "TIDEGATE_DEFAULT_TERRAFORM": "1.2.3",
    }
    with pytest.raises(RunnerFault, match="The default version is not available"):
        find(None, path, **environ)


def test_a_job_whose_version_was_never_released_is_refused_like_a_wrong_configuration(
    bench: Bench, mirror: Mirror
) -> None:
    sha = bench.forge.commit({"network/main.tf": ""})
    job = bench.job(JobKind.PLAN, sha, engine=Engine(EngineName.TERRAFORM, "1.2.3"))
    bench.run(job, TIDEGATE_RELEASE_MIRROR=mirror.url)
    assert bench.result()["error"] == "TerraformClientError"
    assert "There is no terraform 1.2.3" in bench.result()["message"]
    assert f"{mirror.url}terraform/1.2.3/" in bench.result()["message"]


def test_a_job_whose_engine_cannot_be_had_says_why(bench: Bench) -> None:
    sha = bench.forge.commit({"network/main.tf": ""})
    job = bench.job(JobKind.PLAN, sha, engine=Engine(EngineName.TERRAFORM, "1.2.3"))
    ended = bench.run(job, TIDEGATE_RELEASE_MIRROR="http://127.0.0.1:9")
    assert ended.code == 1
    assert bench.result()["error"] == "RunnerFault"
    assert "Downloading" in bench.result()["message"]
