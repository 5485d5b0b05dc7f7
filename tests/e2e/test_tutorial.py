"""The tutorial does what it says: its commands and clicks in order, from an empty home directory, and they are few."""

from __future__ import annotations

import os
import re
import signal
import subprocess
from collections.abc import Iterator
from pathlib import Path

import pytest
from playwright.sync_api import Page, sync_playwright

from tests.browser.site import CHROMIUM, FLAGS
from tests.e2e.deadlines import DEADLINE, eventually
from tests.local.ports import free_ports

TOP = Path(__file__).parents[2]
TUTORIAL = (TOP / "docs/start.md").read_text(encoding="utf-8")
#: A block of commands, the output that a reader expects of it, or a page that a reader opens and a button to click.
STEP = re.compile(
    r"^```(?P<kind>sh|text)\n(?P<block>.*?)^```|<http://localhost:4750(?P<page>/\S+)>"
    r"|\*\*(?P<button>Authorize as maintainer|Approve|Create pull request|Merge pull request)\*\*",
    re.MULTILINE | re.DOTALL,
)
#: What only reads, so that it can be run until it shows what is expected.
READS = re.compile(r"\.venv/bin/tidegate (validate|stacks|status|logs) ")
START, *STEPS = [
    (str(found["kind"] or found.lastgroup), str(found["block"] or found["page"] or found["button"]))
    for found in STEP.finditer(TUTORIAL)
]
#: Commands, opened pages and clicks from `make up` to a promoted change.
ACTIONS = 25


class Reader:
    """Somebody who follows the tutorial in a shell and a browser, with a local cloud on ports that are free here."""

    def __init__(self, home: Path, page: Page) -> None:
        self.home, self.page, self.port, self.output = home, page, free_ports(), ""
        self._command, self.actions = "", 0
        caches = os.environ.get("XDG_CACHE_HOME", str(Path.home() / ".cache"))
        own = {name: value for name, value in os.environ.items() if not name.startswith(("GIT_", "TIDEGATE_"))}
        homes = {"HOME": str(home), "XDG_STATE_HOME": str(home / "state"), "XDG_CACHE_HOME": caches}
        self.environment = {**own, **homes, "COLUMNS": "200"}
        (home / ".gitconfig").write_text(
            "[user]\nname = Me\nemail = maintainer@users.noreply.forge.invalid\n", encoding="utf-8"
        )

    def start(self) -> subprocess.Popen[bytes]:
        """Start the local cloud as the tutorial does, but never install anything, and return when it is ready."""
        assert START == ("sh", "make up\n")
        self.actions += 1
        log = self.home / "up.log"
        command = ["make", "--assume-old", ".venv/.synced", "up", f"PORT={self.port}"]
        with log.open("wb") as output:
            process = subprocess.Popen(
                command, cwd=TOP, env=self.environment, stdout=output, stderr=output, start_new_session=True
            )
        try:
            eventually(lambda: "Ctrl-C ends it." in log.read_text() or process.poll() is not None, what="make up")
            assert process.poll() is None, log.read_text()
        except BaseException:
            end(process)
            raise
        return process

    def follow(self, kind: str, what: str) -> None:
        """Do a step of the tutorial."""
        if kind == "text":
            self.see([line for line in what.splitlines() if line.strip()])
            return
        self.actions += len(what.splitlines())
        if kind == "sh":
            self._command, self.output = what, self.run(what)
            if "tidegate open" in what:
                self.page.goto(self.output.strip())
        elif kind == "page":
            self.page.goto(f"http://localhost:{self.port}{what}")
        else:
            self.page.get_by_role("button", name=what, exact=True).click()

    def run(self, commands: str) -> str:
        here = commands.replace("localhost:4750", f"localhost:{self.port}")
        done = subprocess.run(
            ["bash", "-e", "-o", "pipefail", "-c", here],
            cwd=TOP,
            env=self.environment,
            capture_output=True,
            text=True,
            timeout=DEADLINE,
            check=False,
        )
        assert done.returncode == 0, f"{here}{done.stdout}{done.stderr}"
        return done.stdout

    def see(self, lines: list[str]) -> None:
        """Expect these lines in this order. What only reads is run again until it shows them."""
        shown = re.compile(".*".join(map(pattern, lines)), re.DOTALL)

        def look() -> bool:
            if shown.search(plain(self.output)):
                return True
            assert all(map(READS.match, self._command.splitlines())), f"{lines}\n{self.output}"
            self.output = self.run(self._command)
            return False

        eventually(look, what="\n".join(lines))


def plain(output: str) -> str:
    """Return output with single spaces: the width of columns follows from what they hold."""
    return re.sub(r" +", " ", output)


def pattern(line: str) -> str:
    """Return what a line of expected output looks like; ``…`` is anything within a line."""
    return r"[^\n]*".join(re.escape(part) for part in plain(line.strip()).split("…"))


def end(process: subprocess.Popen[bytes]) -> None:
    os.killpg(process.pid, signal.SIGINT)
    process.wait(DEADLINE)


@pytest.fixture
def page() -> Iterator[Page]:
    """A browser with nothing in it."""
    with sync_playwright() as playwright:
        browser = playwright.chromium.launch(executable_path=CHROMIUM, args=FLAGS)
        opened = browser.new_page()
        opened.set_default_timeout(DEADLINE * 1000)
        yield opened
        browser.close()


@pytest.mark.nightly
def test_the_tutorial_leads_from_nothing_to_a_promoted_change_in_few_actions(tmp_path, page):
    reader = Reader(tmp_path, page)
    process = reader.start()
    try:
        for kind, what in STEPS:
            reader.follow(kind, what)
    finally:
        end(process)
    assert reader.actions <= ACTIONS
