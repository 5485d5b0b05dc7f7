"""What people do, at random: each is a function of the world that says what was done, None when there was nothing."""

from __future__ import annotations

import time
from collections.abc import Callable

from soak.by_api import decide_by_api, deploy_by_hand, unlock_by_api
from soak.drift import detect_drift
from soak.stacks import RULES, TIERS, configuration
from soak.world import ONLOOKERS, WRITERS, CheckRun, World, has_ended, root_of
from tidegate_local.forge.client import ForgeAnswered

Event = Callable[[World], str | None]
UNLOCK = "Unlock"
_UNLOCK = "tidegate unlock"
#: Seconds between two presses of a button of one check run.
_AGAIN = 6.0
#: How often the first of a check run's buttons is pressed in place of the last, which is Reject: most plans are
#: confirmed, and what blocks others is run again only now and then.
_FIRST = {"Confirm": 0.95, "Retry": 0.6}
#: Of 100 modules of the first tier so many fail when they are planned, and as many when they are applied.
_BROKEN_IN_DEV = 10
#: Of 100 modules in pull requests so many are refused by a policy.
_DENIED = 30


def push(world: World) -> str:
    """Push a commit that changes a root or a few."""
    roots = world.some_roots()
    world.clone.commit(world.new_modules(roots), f"Change {', '.join(roots)}")
    return f"{world.clone.push()[:7]} changes {', '.join(roots)}"


def push_several(world: World) -> str:
    """Push several commits at once."""
    for _ in range(world.chance.randint(2, 4)):
        world.clone.commit(world.new_modules(world.some_roots()), "One of several")
    return f"{world.clone.push()[:7]}, several commits"


def push_quickly(world: World) -> str:
    """Push three times in a row, always the same root."""
    root = world.chance.choice(world.roots)
    for _ in range(3):
        world.clone.commit(world.new_modules([root]), f"Again {root}")
        world.clone.push()
    return f"{world.clone.head[:7]} and the two before it change {root}"


def force_push(world: World) -> str:
    """Take commits away from the default branch, and put another one there."""
    world.clone.go_back(world.chance.randint(1, 3))
    world.clone.commit(world.new_modules(world.some_roots()), "Instead of that")
    return f"{world.clone.push(force=True)[:7]} instead of what was there"


def go_back(world: World) -> str:
    """Let the default branch be an older commit again."""
    world.clone.go_back(world.chance.randint(1, 2))
    return f"back to {world.clone.push(force=True)[:7]}"


def push_through_tiers(world: World) -> str:
    """Push a commit that changes a root or two of each of several tiers; the first tier is broken now and then."""
    tiers = world.chance.choice((TIERS, TIERS, TIERS[:2], TIERS[1:], TIERS[::2]))
    files: dict[str, str] = {}
    changed: list[str] = []
    for tier in tiers:
        roots = world.roots_of(tier)
        some = world.chance.sample(roots, min(world.chance.choice((1, 1, 2)), len(roots)))
        more = {"faults": _BROKEN_IN_DEV} if tier == TIERS[0] else {}
        files |= world.new_modules(some, **more)
        changed += some
    world.clone.commit(files, f"Promote {', '.join(changed)}")
    return f"{world.clone.push()[:7]} changes {', '.join(changed)}"


def change_rules(world: World) -> str:
    """Push another ``tidegate.yaml``: other stacks go first, others need no review."""
    number = world.chance.randrange(len(RULES))
    world.clone.commit(
        {"tidegate.yaml": configuration(world.roots, RULES[number], world.site.plans)}, f"Rules {number}"
    )
    return f"{world.clone.push()[:7]} has rules {number}"


def change_nothing(world: World) -> str:
    """Push a commit that changes no root."""
    world.marks += 1
    world.clone.commit({"README.md": f"# Soak {world.marks}\n"}, "Change no root")
    return f"{world.clone.push()[:7]} changes no root"


def confirm(world: World) -> str | None:
    """Confirm a plan."""
    return _press(world, "Confirm", world.chance.choice(WRITERS))


def decide_all(world: World) -> str | None:
    """Press a button of every check run that has one, or say it, after freeing what dead runners left locked."""
    for root in world.roots:
        world.free_state(root)
    told = [_decide(world, run) for run in list(world.board.values()) if run["buttons"] and _is_due(world, run)]
    return f"{', '.join(told)}" if told else None


def _is_due(world: World, run: CheckRun) -> bool:
    """Tell whether nobody pressed a button of a check run just now; from now on somebody did."""
    now = time.monotonic()
    if now - world.pressed.get(run["id"], -_AGAIN) < _AGAIN:
        return False
    world.pressed[run["id"]] = now
    return True


def _decide(world: World, run: CheckRun) -> str:
    """Press Reject where a forced push took the commit away, since Confirm is refused then."""
    first = run["buttons"][0]
    is_first = world.chance.random() < _FIRST.get(first, 1.0) and not world.clone.has_lost(run["head_sha"])
    button = first if is_first else run["buttons"][-1]
    if button == UNLOCK and world.chance.choice((True, False)):
        unlock_by_comment(world)
    else:
        world.press(run, button, world.chance.choice(WRITERS))
    return f"{button} {root_of(run)}"


def reject(world: World) -> str | None:
    """Reject a plan."""
    return _press(world, "Reject", world.chance.choice(WRITERS))


def decide_both(world: World) -> str | None:
    """Confirm and reject one plan, at almost the same time."""
    waiting = world.with_button("Confirm")
    if not waiting:
        return None
    run = world.chance.choice(waiting)
    presses = [("Confirm", "reviewer"), ("Reject", "maintainer"), ("Confirm", "developer")]
    world.chance.shuffle(presses)
    told = [button for button, by in presses if world.press(run, button, by)]
    return f"{', '.join(told)} on check run {run['id']}" if told else None


def retry(world: World) -> str | None:
    """Run again what blocks a deployment."""
    return _press(world, "Retry", world.chance.choice(WRITERS))


def reject_blocked(world: World) -> str | None:
    """Reject a deployment that is blocked by others."""
    blocked = world.with_button("Retry")
    return _press_on(world, world.chance.choice(blocked), "Reject", world.chance.choice(WRITERS)) if blocked else None


def retry_and_reject(world: World) -> str | None:
    """Run again what blocks a deployment, and reject the deployment, at almost the same time."""
    blocked = world.with_button("Retry")
    if not blocked:
        return None
    run, buttons = world.chance.choice(blocked), ["Retry", "Reject"]
    world.chance.shuffle(buttons)
    told = [button for button in buttons if world.press(run, button, world.chance.choice(WRITERS))]
    return f"{', '.join(told)} on check run {run['id']}" if told else None


def unlock(world: World) -> str | None:
    """Unlock a queue, after a look at the state's own lock."""
    locked = world.with_button(UNLOCK)
    if not locked:
        return None
    run = world.chance.choice(locked)
    world.free_state(root_of(run))
    return _press_on(world, run, UNLOCK, world.chance.choice(WRITERS))


def press_as_onlooker(world: World) -> str | None:
    """Press a button that one may not press: Confirm, if there is one."""
    shown = [button for button in ("Confirm", "Reject", UNLOCK, "Retry") if world.with_button(button)]
    return _press(world, shown[0], world.chance.choice(ONLOOKERS)) if shown else None


def rerun(world: World) -> str | None:
    """Run one check again, ended or not."""
    if not world.board:
        return None
    run = world.chance.choice(list(world.board.values()))
    world.person(world.chance.choice(WRITERS)).rerun(world.repository, run["id"])
    return f"check run {run['id']} ({run['output']['title']})"


def rerun_failed(world: World) -> str | None:
    """Run the failed checks of a commit again."""
    failed = [run for run in world.board.values() if has_ended(run) and run["conclusion"] != "success"]
    if not failed:
        return None
    sha = world.chance.choice(failed)["head_sha"]
    world.maintainer.rerun_failed(world.repository, sha)
    return f"of {sha[:7]}"


def rerun_all(world: World) -> str | None:
    """Run all checks of the newest commit again."""
    sha = world.clone.head
    if not any(run["head_sha"] == sha for run in world.board.values()):
        return None
    world.maintainer.rerun_all(world.repository, sha)
    return f"of {sha[:7]}"


def open_pull_request(world: World) -> str:
    """Open a pull request that changes a root."""
    world.marks += 1
    name = f"change-{world.marks}"
    roots = world.some_roots()
    sha = world.clone.branch(name, world.new_modules(roots, denied=_DENIED), f"Propose {name}")
    number = world.person("developer").open_pull_request(world.repository, name, title=f"Propose {name}")
    world.pulls.append((number, sha))
    world.every_pull.append((number, sha, roots))
    return f"#{number} at {sha[:7]}"


def merge(world: World) -> str | None:
    """Merge a pull request."""
    if not world.pulls:
        return None
    number, _ = world.pulls.pop(world.chance.randrange(len(world.pulls)))
    try:
        world.clone.merged(world.person("maintainer").merge_pull_request(world.repository, number))
    except ForgeAnswered as refused:
        return f"#{number} cannot be merged: {refused.status}"
    return f"#{number}"


def comment(world: World) -> str | None:
    """Ask for a deploy of a pull request by hand, or for an unlock, in a comment."""
    if not world.pulls:
        return None
    number, _ = world.chance.choice(world.pulls)
    root = world.chance.choice(world.roots)
    texts = (
        "tidegate deploy",
        f"tidegate deploy -p {root}",
        f"tidegate deploy -p {root} --force",
        f"{_UNLOCK} -p {root}",
    )
    text, by = world.chance.choice(texts), world.chance.choice((*WRITERS, *ONLOOKERS))
    if text.startswith(_UNLOCK):
        world.note(by, UNLOCK, [root])
    else:
        world.note(by, "Deploy", [root] if root in text else world.roots)
    return _say(world, by, number, text)


def unlock_by_comment(world: World) -> str | None:
    """Unlock a queue by a comment, after a look at the state's own lock."""
    locked = world.with_button(UNLOCK)
    if not locked:
        return None
    root, by = root_of(world.chance.choice(locked)), world.chance.choice(WRITERS)
    if not world.pulls:
        open_pull_request(world)
    world.free_state(root)
    world.note(by, UNLOCK, [root])
    return _say(world, by, world.chance.choice(world.pulls)[0], f"{_UNLOCK} -p {root}")


def _say(world: World, by: str, number: int, text: str) -> str:
    world.person(by).call("POST", f"/repos/{world.repository}/issues/{number}/comments", {"body": text})
    return f"#{number}: {text}"


def _press(world: World, button: str, by: str) -> str | None:
    shown = world.with_button(button)
    return _press_on(world, world.chance.choice(shown), button, by) if shown else None


def _press_on(world: World, run: object, button: str, by: str) -> str | None:
    return f"{by} on check run {run['id']}" if world.press(run, button, by) else None  # type: ignore[index,arg-type]


#: What makes new deployments.
PUSHES: tuple[Event, ...] = (
    push,
    push_several,
    push_quickly,
    push_through_tiers,
    change_rules,
    force_push,
    go_back,
    rerun,
    rerun_failed,
    rerun_all,
    merge,
)
#: What people do and how often, against each other.
WORK: tuple[tuple[Event, int], ...] = (
    (push, 10),
    (push_several, 3),
    (push_quickly, 2),
    (push_through_tiers, 9),
    (change_rules, 1),
    (force_push, 4),
    (go_back, 1),
    (change_nothing, 1),
    (confirm, 10),
    (decide_all, 20),
    (reject, 2),
    (decide_both, 2),
    (retry, 5),
    (reject_blocked, 2),
    (retry_and_reject, 1),
    (unlock, 8),
    (unlock_by_comment, 3),
    (press_as_onlooker, 4),
    (rerun, 2),
    (rerun_failed, 4),
    (rerun_all, 1),
    (open_pull_request, 2),
    (merge, 3),
    (comment, 2),
    (deploy_by_hand, 2),
    (decide_by_api, 4),
    (unlock_by_api, 2),
    (detect_drift, 1),
)
