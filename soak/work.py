"""What people do, at random: each is a function of the harness that says what was done, None when there was nothing."""

from __future__ import annotations

import time
from collections.abc import Callable

from soak.by_api import decide_by_api, deploy_by_hand, unlock_by_api
from soak.drift import detect_drift
from soak.harness import ONLOOKERS, WRITERS, CheckRun, Harness, has_ended, root_of
from soak.stacks import RULES, TIERS, configuration
from tidegate_local.forge.client import ForgeAnswered

Event = Callable[[Harness], str | None]
UNLOCK = "Unlock"
_UNLOCK = "tidegate unlock"
#: Seconds between two clicks of a button of one check run.
_AGAIN = 6.0
#: How often the first of a check run's buttons is clicked in place of the last, which is Reject: most plans are
#: approved, and what blocks others is run again only now and then.
_FIRST = {"Approve": 0.95, "Retry": 0.6}
#: Of 100 modules of the first tier so many fail when they are planned, and as many when they are applied.
_BROKEN_IN_DEV = 10
#: Of 100 modules in pull requests so many are refused by a policy.
_DENIED = 30


def push(harness: Harness) -> str:
    """Push a commit that changes a root or a few."""
    roots = harness.some_roots()
    harness.clone.commit(harness.new_modules(roots), f"Change {', '.join(roots)}")
    return f"{harness.clone.push()[:7]} changes {', '.join(roots)}"


def push_several(harness: Harness) -> str:
    """Push several commits at once."""
    for _ in range(harness.chance.randint(2, 4)):
        harness.clone.commit(harness.new_modules(harness.some_roots()), "One of several")
    return f"{harness.clone.push()[:7]}, several commits"


def push_quickly(harness: Harness) -> str:
    """Push three times in a row, always the same root."""
    root = harness.chance.choice(harness.roots)
    for _ in range(3):
        harness.clone.commit(harness.new_modules([root]), f"Again {root}")
        harness.clone.push()
    return f"{harness.clone.head[:7]} and the two before it change {root}"


def force_push(harness: Harness) -> str:
    """Take commits away from the default branch, and put another one there."""
    harness.clone.go_back(harness.chance.randint(1, 3))
    harness.clone.commit(harness.new_modules(harness.some_roots()), "Instead of that")
    return f"{harness.clone.push(force=True)[:7]} instead of what was there"


def go_back(harness: Harness) -> str:
    """Let the default branch be an older commit again."""
    harness.clone.go_back(harness.chance.randint(1, 2))
    return f"back to {harness.clone.push(force=True)[:7]}"


def push_through_tiers(harness: Harness) -> str:
    """Push a commit that changes a root or two of each of several tiers; the first tier is broken now and then."""
    tiers = harness.chance.choice((TIERS, TIERS, TIERS[:2], TIERS[1:], TIERS[::2]))
    files: dict[str, str] = {}
    changed: list[str] = []
    for tier in tiers:
        roots = harness.roots_of(tier)
        some = harness.chance.sample(roots, min(harness.chance.choice((1, 1, 2)), len(roots)))
        more = {"faults": _BROKEN_IN_DEV} if tier == TIERS[0] else {}
        files |= harness.new_modules(some, **more)
        changed += some
    harness.clone.commit(files, f"Promote {', '.join(changed)}")
    return f"{harness.clone.push()[:7]} changes {', '.join(changed)}"


def change_rules(harness: Harness) -> str:
    """Push another ``tidegate.yaml``: other stacks go first, others need no review."""
    number = harness.chance.randrange(len(RULES))
    harness.clone.commit(
        {"tidegate.yaml": configuration(harness.roots, RULES[number], harness.site.plans)}, f"Rules {number}"
    )
    return f"{harness.clone.push()[:7]} has rules {number}"


def change_nothing(harness: Harness) -> str:
    """Push a commit that changes no root."""
    harness.marks += 1
    harness.clone.commit({"README.md": f"# Soak {harness.marks}\n"}, "Change no root")
    return f"{harness.clone.push()[:7]} changes no root"


def approve(harness: Harness) -> str | None:
    """Approve a plan."""
    return _click(harness, "Approve", harness.chance.choice(WRITERS))


def decide_all(harness: Harness) -> str | None:
    """Click a button of every check run that has one, or say it, after freeing what dead runners left locked."""
    for root in harness.roots:
        harness.free_state(root)
    told = [_decide(harness, run) for run in list(harness.board.values()) if run["buttons"] and _is_due(harness, run)]
    return f"{', '.join(told)}" if told else None


def _is_due(harness: Harness, run: CheckRun) -> bool:
    """Tell whether nobody clicked a button of a check run just now; from now on somebody did."""
    now = time.monotonic()
    if now - harness.clicked.get(run["id"], -_AGAIN) < _AGAIN:
        return False
    harness.clicked[run["id"]] = now
    return True


def _decide(harness: Harness, run: CheckRun) -> str:
    """Click Reject where a forced push took the commit away, since Approve is refused then."""
    first = run["buttons"][0]
    is_first = harness.chance.random() < _FIRST.get(first, 1.0) and not harness.clone.has_lost(run["head_sha"])
    button = first if is_first else run["buttons"][-1]
    if button == UNLOCK and harness.chance.choice((True, False)):
        unlock_by_comment(harness)
    else:
        harness.click(run, button, harness.chance.choice(WRITERS))
    return f"{button} {root_of(run)}"


def reject(harness: Harness) -> str | None:
    """Reject a plan."""
    return _click(harness, "Reject", harness.chance.choice(WRITERS))


def decide_both(harness: Harness) -> str | None:
    """Approve and reject one plan, at almost the same time."""
    waiting = harness.with_button("Approve")
    if not waiting:
        return None
    run = harness.chance.choice(waiting)
    clicks = [("Approve", "reviewer"), ("Reject", "maintainer"), ("Approve", "developer")]
    harness.chance.shuffle(clicks)
    told = [button for button, by in clicks if harness.click(run, button, by)]
    return f"{', '.join(told)} on check run {run['id']}" if told else None


def retry(harness: Harness) -> str | None:
    """Run again what blocks a deployment."""
    return _click(harness, "Retry", harness.chance.choice(WRITERS))


def reject_blocked(harness: Harness) -> str | None:
    """Reject a deployment that is blocked by others."""
    blocked = harness.with_button("Retry")
    return (
        _click_on(harness, harness.chance.choice(blocked), "Reject", harness.chance.choice(WRITERS))
        if blocked
        else None
    )


def retry_and_reject(harness: Harness) -> str | None:
    """Run again what blocks a deployment, and reject the deployment, at almost the same time."""
    blocked = harness.with_button("Retry")
    if not blocked:
        return None
    run, buttons = harness.chance.choice(blocked), ["Retry", "Reject"]
    harness.chance.shuffle(buttons)
    told = [button for button in buttons if harness.click(run, button, harness.chance.choice(WRITERS))]
    return f"{', '.join(told)} on check run {run['id']}" if told else None


def unlock(harness: Harness) -> str | None:
    """Unlock a queue, after a look at the state's own lock."""
    locked = harness.with_button(UNLOCK)
    if not locked:
        return None
    run = harness.chance.choice(locked)
    harness.free_state(root_of(run))
    return _click_on(harness, run, UNLOCK, harness.chance.choice(WRITERS))


def click_as_onlooker(harness: Harness) -> str | None:
    """Click a button that one may not click: Approve, if there is one."""
    shown = [button for button in ("Approve", "Reject", UNLOCK, "Retry") if harness.with_button(button)]
    return _click(harness, shown[0], harness.chance.choice(ONLOOKERS)) if shown else None


def rerun(harness: Harness) -> str | None:
    """Run one check again, ended or not."""
    if not harness.board:
        return None
    run = harness.chance.choice(list(harness.board.values()))
    harness.person(harness.chance.choice(WRITERS)).rerun(harness.repository, run["id"])
    return f"check run {run['id']} ({run['output']['title']})"


def rerun_failed(harness: Harness) -> str | None:
    """Run the failed checks of a commit again."""
    failed = [run for run in harness.board.values() if has_ended(run) and run["conclusion"] != "success"]
    if not failed:
        return None
    sha = harness.chance.choice(failed)["head_sha"]
    harness.maintainer.rerun_failed(harness.repository, sha)
    return f"of {sha[:7]}"


def rerun_all(harness: Harness) -> str | None:
    """Run all checks of the newest commit again."""
    sha = harness.clone.head
    if not any(run["head_sha"] == sha for run in harness.board.values()):
        return None
    harness.maintainer.rerun_all(harness.repository, sha)
    return f"of {sha[:7]}"


def open_pull_request(harness: Harness) -> str:
    """Open a pull request that changes a root."""
    harness.marks += 1
    name = f"change-{harness.marks}"
    roots = harness.some_roots()
    sha = harness.clone.branch(name, harness.new_modules(roots, denied=_DENIED), f"Propose {name}")
    number = harness.person("developer").open_pull_request(harness.repository, name, title=f"Propose {name}")
    harness.pulls.append((number, sha))
    harness.every_pull.append((number, sha, roots))
    return f"#{number} at {sha[:7]}"


def merge(harness: Harness) -> str | None:
    """Merge a pull request."""
    if not harness.pulls:
        return None
    number, _ = harness.pulls.pop(harness.chance.randrange(len(harness.pulls)))
    try:
        harness.clone.merged(harness.person("maintainer").merge_pull_request(harness.repository, number))
    except ForgeAnswered as refused:
        return f"#{number} cannot be merged: {refused.status}"
    return f"#{number}"


def comment(harness: Harness) -> str | None:
    """Ask for a deploy of a pull request by hand, or for an unlock, in a comment."""
    if not harness.pulls:
        return None
    number, _ = harness.chance.choice(harness.pulls)
    root = harness.chance.choice(harness.roots)
    texts = (
        "tidegate deploy",
        f"tidegate deploy -p {root}",
        f"tidegate deploy -p {root} --force",
        f"{_UNLOCK} -p {root}",
    )
    text, by = harness.chance.choice(texts), harness.chance.choice((*WRITERS, *ONLOOKERS))
    if text.startswith(_UNLOCK):
        harness.note(by, UNLOCK, [root])
    else:
        harness.note(by, "Deploy", [root] if root in text else harness.roots)
    return _say(harness, by, number, text)


def unlock_by_comment(harness: Harness) -> str | None:
    """Unlock a queue by a comment, after a look at the state's own lock."""
    locked = harness.with_button(UNLOCK)
    if not locked:
        return None
    root, by = root_of(harness.chance.choice(locked)), harness.chance.choice(WRITERS)
    if not harness.pulls:
        open_pull_request(harness)
    harness.free_state(root)
    harness.note(by, UNLOCK, [root])
    return _say(harness, by, harness.chance.choice(harness.pulls)[0], f"{_UNLOCK} -p {root}")


def _say(harness: Harness, by: str, number: int, text: str) -> str:
    harness.person(by).call("POST", f"/repos/{harness.repository}/issues/{number}/comments", {"body": text})
    return f"#{number}: {text}"


def _click(harness: Harness, button: str, by: str) -> str | None:
    shown = harness.with_button(button)
    return _click_on(harness, harness.chance.choice(shown), button, by) if shown else None


def _click_on(harness: Harness, run: CheckRun, button: str, by: str) -> str | None:
    return f"{by} on check run {run['id']}" if harness.click(run, button, by) else None


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
    (approve, 10),
    (decide_all, 20),
    (reject, 2),
    (decide_both, 2),
    (retry, 5),
    (reject_blocked, 2),
    (retry_and_reject, 1),
    (unlock, 8),
    (unlock_by_comment, 3),
    (click_as_onlooker, 4),
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
