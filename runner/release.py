"""Download an engine's release, and accept it only with the vendor's signature."""

from __future__ import annotations

import base64
import hashlib
import os
import re
import shutil
import subprocess
import tempfile
import urllib.error
import urllib.request
import zipfile
from dataclasses import dataclass
from pathlib import Path

from runner.faults import EngineMissing, RunnerFault
from tidegate.roots.rules.root import EngineName

VERSION = re.compile(r"\d{1,4}\.\d{1,4}\.\d{1,4}(-[0-9A-Za-z.]{1,40})?")
TIMEOUT_SECONDS = 60
#: Checksum files have some 2 KB, archives some 30 MB, engines some 100 MB: room for growth, not for a bomb.
LARGEST_SUMS = 1024 * 1024
LARGEST_ARCHIVE = 300 * 1024 * 1024
LARGEST_ENGINE = 600 * 1024 * 1024
_BLOCK = 1024 * 1024
_MACHINES = {"x86_64": "amd64", "aarch64": "arm64", "arm64": "arm64"}
_NOT_FOUND, _FORBIDDEN = 404, 403
_ADVICE = "Set a released version in `tidegate.yaml`."
_AGAIN = (
    "Request the plan again. If that fails too, ask an operator to let runners reach this URL, or to configure a "
    "mirror."
)


class ReleaseRefused(RunnerFault):
    """A release that must not be used: it is missing, or not what the vendor signed."""


class _NotThere(ReleaseRefused):
    """The site reports that a file does not exist."""


@dataclass(frozen=True, slots=True)
class Vendor:
    """A vendor's release site, and the key that signs releases (its primary key's fingerprint)."""

    site: str
    folder: str
    signature: str
    fingerprint: str
    key_file: str


VENDORS = {
    EngineName.TERRAFORM: Vendor(
        site="https://releases.hashicorp.com",
        folder="/terraform/{version}",
        signature=".sig",
        fingerprint="C874011F0AB405110D02105534365D9472D7468F",
        key_file="terraform.asc",
    ),
    EngineName.TOFU: Vendor(
        site="https://github.com",
        folder="/opentofu/opentofu/releases/download/v{version}",
        signature=".gpgsig",
        fingerprint="E3E6E43D84CB852EADB0051D0C0AF313E5FD9F80",
        key_file="tofu.asc",
    ),
}


def install_release(engine: EngineName, version: str, target: Path, mirror: str | None, keys: Path) -> None:
    """Put the engine's program at ``target``, all or nothing. Raise ReleaseRefused.

    Raise EngineMissing when this version was not released, or not for this machine.

    ``mirror`` replaces the vendor's site and has its layout. ``keys`` holds the vendors' public keys; a file
    ``terraform.fingerprint`` (``tofu.fingerprint``) beside a key replaces the fingerprint that is expected of it, for a
    mirror that signs with its own key.
    """
    if not VERSION.fullmatch(version):
        raise ReleaseRefused(f"{version!r} is not a version of {engine}.")
    vendor = VENDORS[engine]
    base = (mirror or vendor.site).rstrip("/") + vendor.folder.format(version=version)
    sums_name = f"{engine}_{version}_SHA256SUMS"
    archive_name = f"{engine}_{version}_{_platform()}.zip"
    target.parent.mkdir(parents=True, exist_ok=True, mode=0o700)
    with tempfile.TemporaryDirectory(dir=target.parent, prefix=".incoming-") as name:
        incoming = Path(name)
        sums, signature = incoming / "sums", incoming / "sums.sig"
        try:
            _download(f"{base}/{sums_name}", sums, LARGEST_SUMS)
        except _NotThere as error:
            raise EngineMissing(f"There is no {engine} {version}: {error} {_ADVICE}") from error
        _download(f"{base}/{sums_name}{vendor.signature}", signature, LARGEST_SUMS)
        verify_signature(sums, signature, keys / vendor.key_file, _fingerprint(vendor, keys))
        expected = _checksum(sums, archive_name)
        if expected is None:
            raise EngineMissing(
                f"There is no {engine} {version} for {_platform()}: {base}/{sums_name} does not list it. {_ADVICE}"
            )
        archive = incoming / "archive.zip"
        if _download(f"{base}/{archive_name}", archive, LARGEST_ARCHIVE) != expected:
            raise ReleaseRefused(
                f"{archive_name} does not have the SHA-256 that the vendor signed. The runner did not use it."
            )
        program = _extract(archive, str(engine), incoming / "program")
        program.replace(target)


def verify_signature(signed: Path, signature: Path, key_file: Path, fingerprint: str) -> None:
    """Raise ReleaseRefused unless ``signature`` is a detached signature of ``signed`` by exactly this key."""
    if not key_file.is_file():
        raise ReleaseRefused(
            f"{key_file.name}, the key to verify signatures, is missing. Put the vendor's public key into the "
            "directory in TIDEGATE_RELEASE_KEYS."
        )
    keyring = signed.parent / "keyring.gpg"
    keyring.write_bytes(_unarmored(key_file.read_text(encoding="ascii", errors="replace")))
    result = subprocess.run(
        [
            "gpgv",
            "--homedir",
            str(signed.parent),
            "--status-fd",
            "1",
            "--keyring",
            str(keyring),
            "--",
            str(signature),
            str(signed),
        ],
        stdin=subprocess.DEVNULL,
        capture_output=True,
        timeout=TIMEOUT_SECONDS,
        check=False,
    )
    statuses = [line.split() for line in result.stdout.decode("utf-8", "replace").splitlines()]
    good = any(words[1:2] == ["GOODSIG"] for words in statuses)
    # VALIDSIG ends with the fingerprint of the primary key, whichever subkey signed.
    by_key = any(words[1:2] == ["VALIDSIG"] and words[-1] == fingerprint for words in statuses)
    if result.returncode or not good or not by_key:
        raise ReleaseRefused("The checksum file is not signed by the vendor's key. The runner did not use it.")


def _fingerprint(vendor: Vendor, keys: Path) -> str:
    pinned = (keys / vendor.key_file).with_suffix(".fingerprint")
    return pinned.read_text(encoding="ascii").strip().upper() if pinned.is_file() else vendor.fingerprint


def _unarmored(armored: str) -> bytes:
    """Return the binary form of an armored key, which is what gpgv reads."""
    block = armored.partition("-----BEGIN PGP PUBLIC KEY BLOCK-----")[2].partition("-----END")[0]
    lines = [line.strip() for line in block.partition("\n\n")[2].splitlines()]
    try:
        return base64.b64decode("".join(line for line in lines if line and not line.startswith("=")), validate=True)
    except ValueError as error:
        raise ReleaseRefused("The vendor's public key is not an armored key.") from error


def _platform() -> str:
    system = os.uname()
    machine = _MACHINES.get(system.machine)
    if machine is None:
        raise ReleaseRefused(f"The engine is not available for {system.machine}.")
    return f"{system.sysname.lower()}_{machine}"


def _download(url: str, target: Path, limit: int) -> str:
    """Write what ``url`` gives to ``target`` and return its SHA-256."""
    if not url.startswith(("https://", "http://")):
        raise ReleaseRefused(f"Releases must have an HTTP URL, not {url}.")
    digest = hashlib.sha256()
    size = 0
    try:
        with urllib.request.urlopen(url, timeout=TIMEOUT_SECONDS) as response, target.open("wb") as file:  # noqa: S310  # The scheme was checked.
            while block := response.read(_BLOCK):
                size += len(block)
                if size > limit:
                    raise ReleaseRefused(f"{url} is too large for a release.")
                digest.update(block)
                file.write(block)
    except urllib.error.HTTPError as error:
        error.close()
        if error.code == _NOT_FOUND:
            raise _NotThere(f"{url} does not exist.") from error
        if error.code == _FORBIDDEN:  # A bucket says so of what it does not have, and a proxy of what it has.
            raise ReleaseRefused(f"{url} does not exist, or access is denied. Check the version.") from error
        raise RunnerFault(f"{url} returned HTTP {error.code}. {_AGAIN}") from error
    except OSError as error:
        why = getattr(error, "reason", error)
        raise RunnerFault(f"Downloading the engine's release {url} failed: {why}. {_AGAIN}") from error
    return digest.hexdigest()


def _checksum(sums: Path, archive: str) -> str | None:
    for line in sums.read_text(encoding="utf-8", errors="replace").splitlines():
        digest, _, name = line.partition("  ")
        if name.strip() == archive:
            return digest.strip().lower()
    return None


def _extract(archive: Path, member: str, target: Path) -> Path:
    """Extract the one file ``member``; where the archive would put it does not matter."""
    try:
        with zipfile.ZipFile(archive) as files:
            if any(name.startswith("/") or "\\" in name or ".." in name.split("/") for name in files.namelist()):
                raise ReleaseRefused("The archive writes outside of its folder. The runner did not use it.")
            if member not in files.namelist() or files.getinfo(member).file_size > LARGEST_ENGINE:
                raise ReleaseRefused(f"The archive does not contain {member}.")
            with files.open(member) as source, target.open("wb") as program:
                shutil.copyfileobj(source, program, _BLOCK)
    except zipfile.BadZipFile as error:
        raise ReleaseRefused("The archive is not a ZIP file.") from error
    target.chmod(0o755)
    return target
