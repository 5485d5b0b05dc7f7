"""Start a local cloud, run the demo on it, and stop it: ``tidegate local demo``."""

from __future__ import annotations

import sys
import time

from rich.console import Console

from tidegate_local.caches import cache_directory
from tidegate_local.client import LocalCloud, LocalCloudFailed
from tidegate_local.demo.acts import play
from tidegate_local.demo.stage import DemoFailed

#: The local cloud's own log goes here, so that the screen shows only the deploys.
LOG = cache_directory() / "demo.log"


def main() -> int:
    """Start a local cloud, run the demo, stop the cloud. Return the exit code."""
    console = Console()
    LOG.parent.mkdir(parents=True, exist_ok=True)
    cloud = LocalCloud(log=LOG)
    began = time.monotonic()
    try:
        with console.status("Starting the local cloud: synthesizing and deploying the CDK app …"):
            cloud.start()
        console.print(f"The local cloud is running: {cloud.info['forge_url']} ({time.monotonic() - began:.0f} s)")
        play(cloud, console)
    except (DemoFailed, LocalCloudFailed) as failure:
        said = f"The demo failed: {failure}\nThe local cloud's own log: {LOG}"
        Console(stderr=True).print(said, style="red", markup=False)
        return 1
    except KeyboardInterrupt:
        return 130
    finally:
        cloud.stop()
    console.print(f"[bold green]Everything is applied.[/] It took {time.monotonic() - began:.0f} s in total.")
    console.print("The demo's local cloud is stopped. To use one yourself, follow docs/start.md.")
    return 0


if __name__ == "__main__":
    sys.exit(main())
