"""Build real Kubernetes API servers from Debian's sources, once for a machine: ``make kubernetes``.

Debian builds only kubectl of them, yet its source package has all that the servers need. They are old, and serve tests
on this machine alone. What is made stays outside the repository; the tests that need it say so when it is missing.
"""

from __future__ import annotations

import fcntl
import hashlib
import json
import os
import shutil
import subprocess
import sys
import tarfile
import tempfile
import time
from pathlib import Path

#: Stable Debian packages, by file: their version and their content.
PACKAGES = {
    "etcd-server": ("3.4.23-4+b4", "3a9445d4560ad6de1c375756b2a17d97713df44cbd20a658c871fe108af7ef5d"),
    "golang-1.19-go": ("1.19.8-2", "545123039b6c79e75cf2d86528781a825424cf33ce9d3f4513d772d7144cd531"),
    "golang-1.19-src": ("1.19.8-2", "2dfa82fe4f08f4e0193c532e561af4c91871f5235608f04f2bb8d57bb288df5a"),
    "golang-github-modern-go-reflect2-dev": (
        "1.0.2-2",
        "af150a5172cf4c19bb321a53e67103e7fb18d07c1baa1e816a235155265d3948",
    ),
    "kubernetes-client": (
        "1.20.5+really1.20.2-1.1+deb12u1",
        "087c42dc26c847740043cdaa8b16db666be5591a1da957f822922aa1b677494e",
    ),
}
SOURCE = ("1.20.5+really1.20.2-1.1+deb12u1", "b83c0780efb182d928dc63d46488a847f161f04e40a94b96bf5247dd671ecdfc")
#: The same server under two versions, so that a cluster can be upgraded: the second only says that it is newer.
VERSIONS = ("1.20.2", "1.21.2")
_KUBERNETES = Path("go/src/k8s.io/kubernetes")
_STAMPED = ("component-base/version", "client-go/pkg/version")
_NEEDED = ("apt-get", "dpkg-deb")
_SOURCES = """\
deb [signed-by=/usr/share/keyrings/debian-archive-keyring.gpg] http://deb.debian.org/debian bookworm main
deb-src [signed-by=/usr/share/keyrings/debian-archive-keyring.gpg] http://deb.debian.org/debian bookworm main
"""


class BuildRefused(Exception):
    """The servers cannot be built here, or what was downloaded is not what was pinned."""


def artefacts() -> Path:
    """Return where the programs of this recipe are, or would be."""
    recipe = json.dumps([PACKAGES, SOURCE, VERSIONS], sort_keys=True).encode()
    cache = Path(os.environ.get("XDG_CACHE_HOME") or Path.home() / ".cache")
    return cache / "tidegate" / "kubernetes" / hashlib.sha256(recipe).hexdigest()[:12]


def build(target: Path) -> None:
    """Make the programs, unless they are there. Nothing else stays behind."""
    target.parent.mkdir(parents=True, exist_ok=True)
    with (target.parent / "lock").open("w") as lock:
        fcntl.flock(lock, fcntl.LOCK_EX)
        if target.is_dir():
            _say(f"The servers are there: {target}")
            return
        for stale in target.parent.glob("building-*"):
            # Of a build that was killed: the lock says that no other one runs.
            shutil.rmtree(stale)
        missing = [program for program in _NEEDED if shutil.which(program) is None]
        if missing:
            raise BuildRefused(f"This needs Debian's {', '.join(missing)}.")
        with tempfile.TemporaryDirectory(prefix="building-", dir=target.parent) as directory:
            scratch = Path(directory)
            _download(scratch)
            _unpack(scratch)
            _compile(scratch)
            (scratch / "bin").rename(target)
    size = sum(file.stat().st_size for file in target.iterdir()) // 1_000_000
    _say(f"The servers are there, {size} MB: {target}")


def _download(scratch: Path) -> None:
    """Fetch the packages through an APT configuration of their own, which changes nothing of the machine's."""
    _say("Download 130 MB from Debian")
    for directory in ("lists/partial", "cache/archives/partial", "debs"):
        (scratch / directory).mkdir(parents=True)
    (scratch / "sources.list").write_text(_SOURCES)
    (scratch / "apt.conf").write_text(
        f'Dir::Etc::sourcelist "{scratch}/sources.list";\n'
        'Dir::Etc::sourceparts "/dev/null";\n'
        f'Dir::State::lists "{scratch}/lists";\n'
        f'Dir::Cache "{scratch}/cache";\n'
        'Acquire::Languages "none";\n'
        # What is fetched belongs to whoever builds: no other user needs to reach the directory.
        'APT::Sandbox::User "";\n'
    )
    environment = {**os.environ, "APT_CONFIG": str(scratch / "apt.conf")}
    debs = scratch / "debs"
    _run(["apt-get", "-qq", "update"], debs, environment)
    _run(["apt-get", "-qq", "download", *(f"{name}={it[0]}" for name, it in PACKAGES.items())], debs, environment)
    _run(["apt-get", "-qq", "source", "--download-only", f"kubernetes={SOURCE[0]}"], debs, environment)
    for name, (_, pinned) in PACKAGES.items():
        _check(_only(debs, f"{name}_*.deb"), pinned)
    _check(_only(debs, "kubernetes_*.orig.tar.gz"), SOURCE[1])


def _unpack(scratch: Path) -> None:
    _say("Unpack 900 MB")
    for name in PACKAGES:
        _run(["dpkg-deb", "--extract", str(_only(scratch / "debs", f"{name}_*.deb")), str(scratch / "root")], scratch)
    kubernetes = scratch / _KUBERNETES
    with tarfile.open(_only(scratch / "debs", "kubernetes_*.orig.tar.gz")) as archive:
        archive.extractall(scratch / "archive", filter="tar")
    kubernetes.parent.mkdir(parents=True)
    _only(scratch / "archive", "*").rename(kubernetes)
    # What is vendored is of before Go 1.18: with a newer one, the server dies at the first custom resource.
    vendored = kubernetes / "vendor/github.com/modern-go/reflect2"
    shutil.rmtree(vendored)
    shutil.copytree(scratch / "root/usr/share/gocode/src/github.com/modern-go/reflect2", vendored)


def _compile(scratch: Path) -> None:
    kubernetes, go = scratch / _KUBERNETES, scratch / "root/usr/lib/go-1.19"
    out = scratch / "bin"
    out.mkdir()
    environment = {
        "PATH": f"{go}/bin:{os.environ['PATH']}",
        "HOME": str(scratch),
        "GOROOT": str(go),
        "GOPATH": str(scratch / "go"),
        "GOCACHE": str(scratch / "compiled"),
        # These sources are of the time before modules: all that they import is in their tree.
        "GO111MODULE": "off",
        "GOFLAGS": "-p=1",
        # One core, with the least priority: others work on this machine.
        "GOMAXPROCS": "1",
        "CGO_ENABLED": "0",
    }
    _generate_openapi(kubernetes, environment)
    for version in VERSIONS:
        _compile_one("kube-apiserver", version, out / f"kube-apiserver-{version}", kubernetes, environment)
    _compile_one("kube-controller-manager", VERSIONS[0], out / "kube-controller-manager", kubernetes, environment)
    for program in ("etcd", "kubectl"):
        shutil.copy2(scratch / "root/usr/bin" / program, out / program)


def _generate_openapi(kubernetes: Path, environment: dict[str, str]) -> None:
    """Make the one generated file that the archive lacks: the schemas of all kinds, which server-side apply needs."""
    _say("Generate the schemas")
    generator = Path(environment["HOME"]) / "openapi-gen"
    _go_build("./vendor/k8s.io/kube-openapi/cmd/openapi-gen", generator, kubernetes, environment)
    marked = sorted(
        {
            f"k8s.io/kubernetes/{file.parent.relative_to(kubernetes)}".replace("/staging/src/", "/vendor/")
            for top in ("cmd", "pkg", "staging/src/k8s.io")
            for file in (kubernetes / top).rglob("*.go")
            if b"+k8s:openapi-gen=" in file.read_bytes()
            and not {"code-generator", "sample-apiserver", "testdata"} & set(file.parts)
        }
    )
    package = "pkg/generated/openapi"
    arguments = ["--go-header-file", "hack/boilerplate/boilerplate.generatego.txt", "--input-dirs", ",".join(marked)]
    arguments += ["--output-package", f"k8s.io/kubernetes/{package}", "--output-file-base", "zz_generated.openapi"]
    arguments += ["--report-filename", str(generator.parent / "violations")]
    _run(["nice", str(generator), *arguments], kubernetes, environment)


def _compile_one(program: str, version: str, target: Path, kubernetes: Path, environment: dict[str, str]) -> None:
    _say(f"Compile {program} {version}")
    major, minor, _ = version.split(".")
    stamps = {"gitVersion": f"v{version}", "gitMajor": major, "gitMinor": minor, "gitTreeState": "clean"}
    vendor = "k8s.io/kubernetes/vendor/k8s.io"
    flags = [f"-X {vendor}/{package}.{key}={value}" for package in _STAMPED for key, value in stamps.items()]
    _go_build(f"./cmd/{program}", target, kubernetes, environment, " ".join(["-s", "-w", *flags]))


def _go_build(package: str, target: Path, kubernetes: Path, environment: dict[str, str], linker: str = "") -> None:
    # Without the clients of clouds, which no test needs, it is half as much to compile.
    command = [
        "nice",
        "go",
        "build",
        "-trimpath",
        "-tags",
        "providerless",
        "-ldflags",
        linker,
        "-o",
        str(target),
        package,
    ]
    _run(command, kubernetes, environment)


def _check(file: Path, pinned: str) -> None:
    with file.open("rb") as content:
        found = hashlib.file_digest(content, "sha256").hexdigest()
    if found != pinned:
        raise BuildRefused(f"{file.name} has the digest {found}, {pinned} is pinned.")


def _only(directory: Path, pattern: str) -> Path:
    [found] = directory.glob(pattern)
    return found


def _run(command: list[str], directory: Path, environment: dict[str, str] | None = None) -> None:
    ended = subprocess.run(command, cwd=directory, env=environment, capture_output=True, text=True, check=False)
    if ended.returncode:
        raise BuildRefused(f"{' '.join(command)[:200]} ended with {ended.returncode}:\n{ended.stderr[-4000:]}")


def _say(text: str) -> None:
    sys.stdout.write(f"{time.strftime('%H:%M:%S')} {text}\n")
    sys.stdout.flush()


if __name__ == "__main__":
    try:
        build(artefacts())
    except BuildRefused as refused:
        sys.exit(f"The servers were not built. {refused}")
