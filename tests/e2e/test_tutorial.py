"""The tutorial does what it says: its blocks of commands run in order, from an empty home directory."""

from __future__ import annotations

import os
import re
import signal
import subprocess
from pathlib import Path

import httpx
import pytest

from tests.e2e.deadlines import DEADLINE, eventually
from tests.e2e.pages import SECONDS, click
from tests.local.ports import free_ports
from tidegate_local.forge.pages.visit import COOKIE

TOP = Path(__file__).parents[2]
TUTORIAL = (TOP / "docs/start.md").read_text(encoding="utf-8")
#: A block of commands, the output that a reader expects of it, or a button that a reader clicks in the browser.
STEP = re.compile(
    r"^```(?P<kind>sh|text)\n(?P<block>.*?)^```|\*\*(?P<button>Create|Merge) pull request\*\*", re.MULTILINE | re.DOTALL
)
#: What only reads, so that it can be run until it shows what is expected.
READS = re.compile(r"\.venv/bin/tidegate (validate|stacks|status|pulls|logs) ")
START, *STEPS = [(found["kind"] or found["button"], found["block"]) for found in STEP.finditer(TUTORIAL)]


class Reader:
    """Somebody who follows the tutorial in a shell and a browser, with a local cloud on ports that are free here."""

    def __init__(self, home: Path) -> None:
        self.home, self.port, self.output = home, free_ports(), ""
        self._command = ""
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

    def follow(self, kind: str, block: str | None) -> None:
        """Do a step of the tutorial."""
        if kind == "sh":
            self._command = str(block)
            self.output = self.run(self._command)
        elif kind == "text":
            self.see([line for line in str(block).splitlines() if line.strip()])
        else:
            self.click(kind)

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

    def click(self, button: str) -> None:
        """Click a button of the forge's pages, as the maintainer."""
        forge = f"http://localhost:{self.port}"
        with httpx.Client(base_url=forge, follow_redirects=True, trust_env=False, timeout=SECONDS) as browser:
            browser.cookies.set(COOKIE, "maintainer")
            if button == "Create":
                [address] = re.findall(r"<http://localhost:4750(/\S+compare\S+)>", TUTORIAL)
                click(browser, browser.get(address), "/pulls", title="Welcome people", body="")
            else:
                click(browser, browser.get("/acme/live/pull/1"), "/merge", method="merge")


def plain(output: str) -> str:
    """Return output with single spaces: the width of columns follows from what they hold."""
    return re.sub(r" +", " ", output)


def pattern(line: str) -> str:
    """Return what a line of expected output looks like; ``…`` is anything within a line."""
    return r"[^\n]*".join(re.escape(part) for part in plain(line.strip()).split("…"))


def end(process: subprocess.Popen[bytes]) -> None:
    os.killpg(process.pid, signal.SIGINT)
    process.wait(DEADLINE)


@pytest.mark.nightly
def test_the_tutorial_leads_from_nothing_to_a_promoted_change(tmp_path):
    reader = Reader(tmp_path)
    process = reader.start()
    try:
        for kind, block in STEPS:
            reader.follow(kind, block)
    finally:
        end(process)
    assert [kind for kind, _ in STEPS].count("sh") >= 10
