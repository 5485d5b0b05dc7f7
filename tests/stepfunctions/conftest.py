"""One local cloud for the paths of both state machines, on which several roots are deployed at a time."""

from __future__ import annotations

from collections.abc import Sequence
from concurrent.futures import Future, ThreadPoolExecutor, wait
from pathlib import Path
from typing import Any

import pytest

from tests.stepfunctions import plays, scripted_runner
from tests.stepfunctions.limits import PLANS, ROUNDS, limits
from tests.stepfunctions.world import World
from tidegate_local.client import LocalCloud

#: Most of the time a deployment waits for something: so others go on meanwhile.
_AT_ONCE = 4


@pytest.fixture(scope="session")
def world(tmp_path_factory):
    directory = tmp_path_factory.mktemp("paths")
    notes = directory / "notes"
    notes.mkdir()
    with LocalCloud(
        log=directory / "cloud.log",
        clock=False,
        limits=limits(),
        context={"rounds_per_execution": str(ROUNDS), "pull_request_plans": str(PLANS)},
        runner=("python", str(Path(scripted_runner.__file__).resolve())),
        environment={scripted_runner.NOTES: str(notes)},
    ) as cloud:
        yield World(cloud)


class Stage:
    """Plays each case and story once, several at a time, in the order in which they are asked for first.

    What is played alone begins when all before it have ended, and nothing after it begins until it has ended.
    """

    def __init__(self, world: World, pool: ThreadPoolExecutor) -> None:
        self.world = world
        self._pool = pool
        self._playing: dict[str, Future[Any]] = {}
        self._alone: list[Future[Any]] = []

    def start(self, play: plays.Play) -> Future[Any]:
        if play.name not in self._playing:
            before = list(self._playing.values()) if play.alone else list(self._alone)
            self._playing[play.name] = self._pool.submit(self._play, play, before)
            if play.alone:
                self._alone.append(self._playing[play.name])
        return self._playing[play.name]

    def _play(self, play: plays.Play, before: Sequence[Future[Any]]) -> Any:
        wait(before)
        return play.on(self.world)


@pytest.fixture(scope="session")
def stage(world, request):
    """Start all plays whose tests were selected; a test waits for its own."""
    assert world.commits
    with ThreadPoolExecutor(_AT_ONCE) as pool:
        stage = Stage(world, pool)
        asked = [getattr(item, "callspec", None) and item.callspec.params.get("play") for item in request.session.items]
        wanted = [play for play in asked if isinstance(play, plays.Play)]
        for play in sorted(wanted, key=lambda play: play.alone):  # Last, as the stage has to be empty for these.
            stage.start(play)
        yield stage
        pool.shutdown(cancel_futures=True)
