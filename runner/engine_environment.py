"""The engine's environment: an allow list of variables, and the endpoint of its role's credentials."""

from __future__ import annotations

from collections.abc import Collection, Mapping
from pathlib import Path

from tidegate.deploys.rules.runner_size import RunnerSize

_PASSED = frozenset(
    {
        "AWS_CA_BUNDLE",
        "AWS_DEFAULT_REGION",
        "AWS_REGION",
        "AWS_S3_US_EAST_1_REGIONAL_ENDPOINT",
        "AWS_STS_REGIONAL_ENDPOINTS",
        "GOGC",
        "GOMEMLIMIT",
        "HTTPS_PROXY",
        "HTTP_PROXY",
        "LANG",
        "LC_ALL",
        "NO_PROXY",
        "PATH",
        "SSL_CERT_DIR",
        "SSL_CERT_FILE",
        "TF_CLI_CONFIG_FILE",
        "TF_PLUGIN_CACHE_DIR",
        "TF_PLUGIN_CACHE_MAY_BREAK_DEPENDENCY_LOCK_FILE",
        "TF_REGISTRY_CLIENT_TIMEOUT",
        "TF_REGISTRY_DISCOVERY_RETRY",
        "TZ",
    }
)
#: Providers listen on a socket in the temporary directory, and a socket's path has 107 bytes at most.
_LONGEST_TEMPORARY = 80
_PASSED_PREFIXES = ("AWS_ENDPOINT_URL", "TF_VAR_")
#: The engine and its providers are Go programs that run for seconds: collecting garbage half as often saves a seventh
#: of their CPU (docs/performance.md). Above ``RunnerSize.engine_memory`` they collect as needed.
_GARBAGE_COLLECTION = "200"


def engine_environment(
    environ: Mapping[str, str], home: Path, identity: Mapping[str, str], size: RunnerSize, more: Collection[str] = ()
) -> dict[str, str]:
    """Return the engine's environment; ``more`` are the names of variables that the installation has for it.

    ``identity`` are the variables that say who it is to the clouds, ``size`` is that of the runner.

    The runner's own credentials and tokens are not in it. ``TF_CLI_ARGS`` is left out too: it would
    change what the runner asks the engine to do.
    """
    passed = {name: value for name, value in environ.items() if _is_passed(name) or name in more}
    return {
        "GOGC": _GARBAGE_COLLECTION,
        "GOMEMLIMIT": f"{size.engine_memory}MiB",
        **passed,
        "HOME": str(home),
        "TMPDIR": _temporary(environ),
        "TF_IN_AUTOMATION": "1",
        "TF_INPUT": "0",
        "CHECKPOINT_DISABLE": "1",
        "AWS_EC2_METADATA_DISABLED": "true",
        **identity,
    }


def _is_passed(name: str) -> bool:
    return name in _PASSED or name.startswith(_PASSED_PREFIXES)


def _temporary(environ: Mapping[str, str]) -> str:
    directory = environ.get("TMPDIR") or "/tmp"  # noqa: S108  # Of the container alone.
    return directory if len(directory.encode()) <= _LONGEST_TEMPORARY else "/tmp"  # noqa: S108  # Of the container alone.
