"""A config repository with a generator: a template, an image file for each environment, and a YAML file per service."""

from __future__ import annotations

import json
import os
import subprocess
from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any

from tests.repositories import Repository
from tests.runner.config_updates.replaying import Ran, ran
from tidegate.config.rules.config_updates import UpdateCommands
from tidegate.config_updates.rules.replay import Entry, Replay
from tidegate.config_updates.rules.trailers import Trailers

MAKEFILE = """
introduce_images:
\tcp $(IMAGE_FILE) images/staging.json
\t@sh generate.sh
generate:
\t@sh generate.sh
"""
GENERATE = r"""
rm -rf generated
for file in images/*.json; do
  environment=$(basename $file .json)
  mkdir -p generated/$environment
  for service in $(sed -n 's/^  "\(.*\)": {/\1/p' $file); do
    { cat template.yaml; grep -A1 "\"$service\": {" $file | tail -1; } > generated/$environment/$service.yaml
  done
done
"""
BEGUN = datetime(2031, 5, 6, 7, 8, 9, tzinfo=UTC)
AUTO = "refs/heads/auto"

DEFAULT = UpdateCommands()


def images(*services: str, build: int = 1) -> str:
    """The text of an image set."""
    set_ = {each: {"Digest": f"example.org/{each}@sha256:{build:064x}", "Tag": f"t:{build}"} for each in services}
    return json.dumps(set_, indent=2, sort_keys=True) + "\n"


def announced(number: int, text: str, **more: Any) -> Entry:
    """An entry with the images of the application's commit ``number``."""
    reason = "new images published"
    trailers = Trailers(f"ENTRY{number:08}", "shop", "staging", reason, app_sha=f"{number:040x}", sequence=f"{number}")
    entry = Entry(trailers, BEGUN + timedelta(minutes=number), "images/staging.json", images=text)
    return replace(entry, **more)


def promoted(
    number: int, source: str, environment: str = "internal", source_file: str = "images/staging.json"
) -> Entry:
    trailers = Trailers(f"ENTRY{number:08}", "shop", environment, "promotion", source_sha=source)
    return Entry(trailers, BEGUN + timedelta(minutes=number), f"images/{environment}.json", copied=source_file)


@dataclass
class ConfigRepository:
    """A bare repository at a forge, with a person's clone of it."""

    directory: Path
    person: Repository = field(init=False)
    _replays: int = 0

    def __post_init__(self) -> None:
        self.person = Repository(self.directory / "person")
        self.bare = self.directory / "forge.git"
        self._git("init", "--quiet", "--bare", "--initial-branch=main", str(self.bare), at=self.directory)
        self._git("config", "uploadpack.allowAnySHA1InWant", "true")
        self.commit(
            {
                "Makefile": MAKEFILE,
                "generate.sh": GENERATE,
                "template.yaml": "kind: Deployment\n",
                "images/staging.json": images("web", build=0),
                "generated/staging/web.yaml": "kind: Deployment\n" + _digest("web", 0),
            }
        )

    @property
    def url(self) -> str:
        return f"file://{self.bare}"

    @property
    def main(self) -> str:
        return self.at("refs/heads/main")

    def at(self, ref: str) -> str:
        return self._git("rev-parse", ref)

    def _git(self, *arguments: str, at: Path | None = None) -> str:
        environ = {"PATH": os.environ["PATH"], "GIT_CONFIG_GLOBAL": os.devnull, "HOME": str(self.directory)}
        argv = ["git", *arguments]
        done = subprocess.run(argv, cwd=at or self.bare, env=environ, check=True, capture_output=True)
        return done.stdout.decode().rstrip("\n")

    def forge(self, *arguments: str) -> str:
        """Run git in the bare repository."""
        return self._git(*arguments)

    def commit(self, files: Mapping[str, str | None]) -> str:
        """Let a person push a commit to the default branch."""
        sha = self.person.commit(dict(files))
        self.person.git("push", "--quiet", "--force", self.url, "HEAD:refs/heads/main")
        return sha

    def replay(
        self, *entries: Entry, base: str = "", commands: UpdateCommands = DEFAULT, **options: Any
    ) -> Ran:  # Frozen.
        """Replay entries on the default branch; what is new can be asked for by ``read`` afterwards."""
        self._replays += 1
        done = ran(Replay(base or self.main, entries, commands), self.url, self.place, **options)
        if self.bundle.exists():
            self._git("fetch", "--quiet", str(self.bundle), f"HEAD:refs/replays/{self._replays}")
        return done

    @property
    def place(self) -> Path:
        """Where the last replay worked."""
        return self.directory / f"replay-{self._replays}"

    @property
    def bundle(self) -> Path:
        return self.place / "bundle"

    def read(self, commit: str, path: str) -> str:
        return self._git("show", f"{commit}:{path}") + "\n"

    def files(self, commit: str) -> set[str]:
        return set(self._git("ls-tree", "-r", "--name-only", commit).splitlines())

    def is_freshly_generated(self, commit: str) -> bool:
        """Generate anew at a commit, and tell whether nothing changes."""
        clone = self.directory / f"check-{commit}"
        self._git("clone", "--quiet", "--no-checkout", str(self.bare), str(clone), at=self.directory)
        self._git("checkout", "--quiet", commit, at=clone)
        subprocess.run(["make", "generate"], cwd=clone, check=True, capture_output=True)
        return self._git("status", "--porcelain", at=clone) == ""

    def ids(self, tip: str) -> list[str]:
        form = "--format=%(trailers:key=Autocommit-Id,valueonly,separator=)"
        return self._git("log", "--reverse", form, f"main..{tip}").split()


def _digest(service: str, build: int) -> str:
    return f'    "Digest": "example.org/{service}@sha256:{build:064x}",\n'
