"""The programs of the image for tasks of clusters are what was pinned, or are not installed."""

from __future__ import annotations

import hashlib
import io
import tarfile
from dataclasses import replace

import pytest

from runner.clusters.fetch_tools import TOOLS, DownloadAltered, Tool, fetch


def test_a_program_is_installed_if_its_digest_is_the_pinned_one(tmp_path):
    source, target = tmp_path / "amd64", tmp_path / "bin"
    target.mkdir()
    source.write_bytes(b"program")
    tool = Tool("kubectl", f"file://{tmp_path}/{{}}", {"amd64": hashlib.sha256(b"program").hexdigest()})
    fetch(tool, target, "amd64")
    assert (target / "kubectl").read_bytes() == b"program"
    assert (target / "kubectl").stat().st_mode & 0o111
    with pytest.raises(DownloadAltered):
        fetch(replace(tool, sha256={"amd64": "0" * 64}), target, "amd64")


def test_a_program_may_be_in_an_archive(tmp_path):
    content = io.BytesIO()
    with tarfile.open(fileobj=content, mode="w:gz") as archive:
        member = tarfile.TarInfo("linux-amd64/helm")
        member.size = 4
        archive.addfile(member, io.BytesIO(b"helm"))
    (tmp_path / "amd64.tgz").write_bytes(content.getvalue())
    digest = hashlib.sha256(content.getvalue()).hexdigest()
    fetch(Tool("helm", f"file://{tmp_path}/{{}}.tgz", {"amd64": digest}, "linux-{}/helm"), tmp_path, "amd64")
    assert (tmp_path / "helm").read_bytes() == b"helm"


def test_each_program_is_pinned_for_both_architectures():
    assert {tuple(sorted(each.sha256)) for each in TOOLS} == {("amd64", "arm64")}
