"""Start a local cloud, play an act of the demo on it, and stop it: ``tidegate local demo``."""

from __future__ import annotations

import argparse
import sys
import time

from rich.console import Console

from tidegate_local.caches import cache_directory
from tidegate_local.client import LocalCloud, LocalCloudFailed
from tidegate_local.demo.acts import ACTS, CHANGES, play
from tidegate_local.demo.stage import DemoFailed

#: The local cloud's own log goes here, so that the screen shows only the deploys.
LOG = cache_directory() / "demo.log"


def main(act: str = CHANGES) -> int:
    """Start a local cloud, play the act, stop the cloud. Return the exit code."""
    console = Console()
    LOG.parent.mkdir(parents=True, exist_ok=True)
    cloud = LocalCloud(log=LOG)
    began = time.monotonic()
    try:
        with console.status("Starting the local cloud: synthesizing and deploying the CDK app …"):
            cloud.start()
        console.print(f"The local cloud is running: {cloud.info['forge_url']} ({time.monotonic() - began:.0f} s)")
        play(cloud, console, act)
    except (DemoFailed, LocalCloudFailed) as failure:
        said = f"The demo failed: {failure}\nThe local cloud's own log: {LOG}"
        Console(stderr=True).print(said, style="red", markup=False)
        return 1
    except KeyboardInterrupt:
        return 130
    finally:
        cloud.stop()
    console.print(f"[bold green]{ACTS[act].ended}[/] It took {time.monotonic() - began:.0f} s in total.")
    for name, other in ACTS.items():
        if name != act:
            more = f"Another act: [bold]make demo ACT={name}[/], in which {other.shows}."
            console.print(more, soft_wrap=True, highlight=False)
    ending = "The demo's local cloud is stopped, and its addresses with it. To use one yourself, follow docs/start.md."
    console.print(ending, soft_wrap=True)
    return 0


if __name__ == "__main__":
    parser = argparse.ArgumentParser(prog="python -m tidegate_local.demo", description=__doc__)
    parser.add_argument("--act", choices=ACTS, default=CHANGES, help="what to play (default: %(default)s)")
    sys.exit(main(parser.parse_args().act))
