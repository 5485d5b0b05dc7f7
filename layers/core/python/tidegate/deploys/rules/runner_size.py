"""Runner sizes and apply time limits: what roots request, and what the installation offers.

No pydantic here: the runner imports this module, and its start is part of every deploy.
"""

from __future__ import annotations

import json
import re
from collections.abc import Mapping
from dataclasses import asdict, dataclass, replace

from tidegate.rules.errors import RunnerNotOffered

_GIB = 1024
#: MiB of memory that Fargate has for units of CPU, of which 1024 are a vCPU
#: (https://docs.aws.amazon.com/AmazonECS/latest/developerguide/fargate-tasks-services.html, "Task CPU and memory").
MEMORY: Mapping[int, tuple[int, ...]] = {
    256: (512, 1 * _GIB, 2 * _GIB),
    512: tuple(range(1 * _GIB, 4 * _GIB + 1, _GIB)),
    1024: tuple(range(2 * _GIB, 8 * _GIB + 1, _GIB)),
    2048: tuple(range(4 * _GIB, 16 * _GIB + 1, _GIB)),
    4096: tuple(range(8 * _GIB, 30 * _GIB + 1, _GIB)),
    8192: tuple(range(16 * _GIB, 60 * _GIB + 1, 4 * _GIB)),
    16384: tuple(range(32 * _GIB, 120 * _GIB + 1, 8 * _GIB)),
}
#: GiB of disk that a task may ask for (ECS API reference, EphemeralStorage).
DISK = range(21, 201)
#: Seconds of an apply. The longest is half of what a line of a log lives, so that pages show all of a running job;
#: credentials and state machines allow more.
APPLY_SECONDS = range(60, 12 * 3600 + 1)
USUAL_SECONDS = 3600
#: A runner waits so long for its job, after the state machine has begun to count (``runner.settings``).
DISPATCH_SECONDS = 300
ARCHITECTURES = ("arm64", "x86_64")
_DURATION = re.compile(r"([1-9][0-9]{0,4})([mh])")
_UNITS = {"m": 60, "h": 3600}


@dataclass(frozen=True, slots=True)
class RunnerNeeds:
    """A root's request: units of CPU, MiB of memory, GiB of disk, seconds; 0 or empty if unset."""

    cpu: int = 0
    memory: int = 0
    disk: int = 0
    architecture: str = ""
    apply_seconds: int = 0

    def over(self, outer: RunnerNeeds) -> RunnerNeeds:
        """Return these needs; ``outer`` fills what is unset."""
        said, around = asdict(self), asdict(outer)
        return RunnerNeeds(**{name: value or around[name] for name, value in said.items()})


@dataclass(frozen=True, slots=True)
class RunnerSize:
    """A runner's size: units of CPU, MiB, GiB, and the seconds that an apply may take.

    A provider of AWS takes half a GB of memory, and unpacks to 0.7 GB; a root may use several.
    """

    cpu: int = 1024
    memory: int = 2 * _GIB
    disk: int = 30
    apply_seconds: int = USUAL_SECONDS

    @property
    def engine_memory(self) -> int:
        """The MiB that each Go program of the engine collects garbage within (GOMEMLIMIT): half.

        The other half is for what is beside the largest one of them: the runner, other providers, programs of steps. A
        program that needs more takes more; it only collects more often then.
        """
        return self.memory // 2

    def __str__(self) -> str:
        return f"{cpu_text(self.cpu)} vCPU, {memory_text(self.memory)} memory, {self.disk} GB disk"


#: The largest size of Fargate, and the longest apply.
LARGEST = RunnerSize(max(MEMORY), MEMORY[max(MEMORY)][-1], DISK[-1], APPLY_SECONDS[-1])
#: The default offer of an installation: at most eight times the cost of the default runner.
USUAL_LIMITS = RunnerSize(4096, 16 * _GIB, 100, APPLY_SECONDS[-1])


@dataclass(frozen=True, slots=True)
class RunnerOffer:
    """What an installation offers: the default, the maximum, and the CPU architecture."""

    usual: RunnerSize = RunnerSize()
    most: RunnerSize = USUAL_LIMITS
    architecture: str = "arm64"


def size_of(needs: RunnerNeeds | None, offer: RunnerOffer) -> RunnerSize:
    """Return the size of a root's runner. Raise RunnerNotOffered if it exceeds the maximum."""
    needs = needs or RunnerNeeds()
    if needs.architecture and needs.architecture != offer.architecture:
        raise RunnerNotOffered(
            f"runner.architecture is {needs.architecture}, but the runners of this installation are "
            f"{offer.architecture}",
            "Remove the key if the root's providers have builds for both. Or ask the operators of Tidegate to set "
            f"architecture to {needs.architecture} in cdk.json and deploy it, which changes all runners",
        )
    cpu, memory = _fitting(needs.cpu, needs.memory, offer.usual)
    usual = offer.usual
    size = RunnerSize(cpu, memory, needs.disk or usual.disk, needs.apply_seconds or usual.apply_seconds)
    for key, asked, most, shown in (
        ("memory", size.memory, offer.most.memory, memory_text),
        ("cpu", size.cpu, offer.most.cpu, cpu_text),
        ("disk", size.disk, offer.most.disk, lambda each: f"{each} GB"),
        ("apply_timeout", size.apply_seconds, offer.most.apply_seconds, duration_text),
    ):
        if asked > most:
            raise RunnerNotOffered(
                f"runner.{key} of this root is {shown(asked)}, but this installation allows at most {shown(most)}",
                "Lower it in the default branch's tidegate.yaml, or ask the operators of Tidegate to raise "
                f"runner_limits.{key} in cdk.json and deploy it",
            )
    return size


def _fitting(cpu: int, memory: int, usual: RunnerSize) -> tuple[int, int]:
    """Return CPU and memory that Fargate has together, as near to what is usual as what is said allows."""
    if cpu:
        possible = MEMORY[cpu]
        return cpu, memory or next((each for each in possible if each >= usual.memory), possible[-1])
    if not memory or memory in MEMORY[usual.cpu]:
        return usual.cpu, memory or usual.memory
    return _cpu_for(memory, usual.cpu), memory


def _cpu_for(memory: int, least: int) -> int:
    """Return the smallest CPU that has this memory, not less than ``least`` if one does."""
    having = [each for each, possible in MEMORY.items() if memory in possible]
    return next((each for each in having if each >= least), having[-1])


def with_more_memory(size: RunnerSize, had: int, most: RunnerSize) -> RunnerSize:
    """Return the smallest size with more memory than the MiB that were not enough, and no less than ``size``.

    Return ``size`` if that exceeds ``most``.
    """
    if size.memory > had:
        return size
    for cpu, possible in MEMORY.items():
        memory = next((each for each in possible if each > had), most.memory + 1)
        if size.cpu <= cpu <= most.cpu and memory <= most.memory:
            return replace(size, cpu=cpu, memory=memory)
    return size


def more_memory(size: RunnerSize) -> str:
    """Return what to write under ``runner`` for the next larger memory, with CPU where it must be more, too."""
    for cpu, possible in MEMORY.items():
        larger = [each for each in possible if each > size.memory]
        if cpu >= size.cpu and larger:
            also = f", cpu: {cpu_text(cpu)}" if cpu != size.cpu else ""
            return f"memory: {larger[0] / _GIB:g}{also}"
    return ""


def out_of_memory(size: RunnerSize, *, has_root: bool = True) -> str:
    """Return that a runner ran out of memory and what to do, in sentences. A replay has no root that sets its size."""
    had = f"It ran out of memory: its runner has {memory_text(size.memory)} (runner.memory)."
    if not has_root:
        more = f"{{{more_memory(size)}}} or more" if more_memory(size) else "the largest size"
        return f"{had} Ask the operators of Tidegate to set runner: {more} in cdk.json and deploy it."
    more = more_memory(size)
    advice = (
        f"Set runner: {{{more}}} or more for this root in the default branch's tidegate.yaml"
        if more
        else "Fargate has no larger size, so split the root"
    )
    return f"{had} {advice}, or plan with less parallelism (extra_args: ['-parallelism=2'])."


def took_too_long(seconds: int) -> str:
    """Return that an apply exceeded its time limit and what to do, in sentences."""
    longest = APPLY_SECONDS[-1]
    more = min(-(-seconds // 3600) + 1, longest // 3600)
    advice = (
        f"Set runner: {{apply_timeout: {more}h}} or more for this root in the default branch's tidegate.yaml"
        if seconds < longest
        else "No apply may take longer, so split the root"
    )
    return f"The apply exceeded its time limit of {duration_text(seconds)} (runner.apply_timeout). {advice}."


def size_problem(needs: RunnerNeeds) -> tuple[str, str] | None:
    """Return why Fargate has no such runner, and what it has; None if it has one."""
    if needs.cpu and needs.cpu not in MEMORY:
        allowed = ", ".join(map(cpu_text, MEMORY))
        return f"{cpu_text(needs.cpu)} vCPU (cpu) is not a Fargate size", f"Use one of {allowed}"
    every = MEMORY[needs.cpu] if needs.cpu else tuple(sorted({each for some in MEMORY.values() for each in some}))
    if needs.memory and needs.memory not in every:
        of_cpu = f" for {cpu_text(needs.cpu)} vCPU" if needs.cpu else ""
        return f"{memory_text(needs.memory)} (memory) is not a Fargate size{of_cpu}", f"Use one of {_sizes(every)}"
    if needs.disk and needs.disk not in DISK:
        return f"{needs.disk} GB (disk) is not a Fargate size", f"Use {DISK[0]} to {DISK[-1]}"
    if needs.architecture and needs.architecture not in ARCHITECTURES:
        return f"{needs.architecture!a} is not a supported architecture", f"Use {' or '.join(ARCHITECTURES)}"
    return None


def _sizes(every: tuple[int, ...]) -> str:
    """Return sizes of memory, in GB: the first four, and the last one."""
    texts = [f"{each / _GIB:g}" for each in every]
    shown = texts if len(texts) <= 5 else [*texts[:4], "…", texts[-1]]  # noqa: PLR2004  # As said above.
    return f"{', '.join(shown)} GB"


def cpu_units(cpus: float) -> int:
    """Return units of CPU for so many vCPUs."""
    return round(cpus * 1024)


def memory_mib(gigabytes: float) -> int:
    """Return MiB for so many GB, as Fargate calls its GiB."""
    return round(gigabytes * _GIB)


def cpu_text(units: int) -> str:
    return f"{units / 1024:.3g}"


def memory_text(mib: int) -> str:
    return f"{mib / _GIB:g} GB"


def duration(text: str) -> int:
    """Return the seconds of a text such as ``90m`` or ``6h``. Raise ValueError for one that an apply may not take."""
    found = _DURATION.fullmatch(text)
    seconds = int(found[1]) * _UNITS[found[2]] if found else 0
    if seconds not in APPLY_SECONDS:
        raise ValueError(f"{text!a} is not a valid time limit for an apply")
    return seconds


def duration_text(seconds: int) -> str:
    """Return seconds as people read them: ``90 minutes``, ``6 hours``."""
    hours, rest = divmod(seconds, 3600)
    if rest or hours == 1:
        return f"{seconds // 60} minutes"
    return f"{hours} hours"


def to_text(offer: RunnerOffer) -> str:
    """Return an offer as JSON, which ``from_text`` reads."""
    return json.dumps(asdict(offer), separators=(",", ":"))


def from_text(text: str) -> RunnerOffer:
    """Return the offer that ``to_text`` wrote; that of an empty text is the usual one. Raise ValueError for another."""
    if not text:
        return RunnerOffer()
    try:
        said = json.loads(text)
        return RunnerOffer(RunnerSize(**said["usual"]), RunnerSize(**said["most"]), str(said["architecture"]))
    except (KeyError, TypeError) as error:
        raise ValueError(f"invalid runner settings: {text!r}") from error
