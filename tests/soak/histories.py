"""Recorded histories: a good one, and for each rule one that breaks it in one way."""

from __future__ import annotations

from dataclasses import replace

from soak.history import (
    Act,
    Audit,
    Check,
    Commit,
    Effect,
    Gated,
    History,
    Look,
    Planned,
    Pull,
    Push,
    Runner,
    StateVersion,
    Verdict,
)

ROOT = "app"
PLAN = "d1-plan-1"


def running(number, at, **more):
    fields = {
        "state": "RUNNING",
        "event": f"d{number}-apply-1:RUNNING",
        "deployment": f"d{number}",
        "root": ROOT,
        "revision": f"c{number}",
        "trigger": "merge",
        "plan": f"plan {number}",
        "approved_by": "reviewer",
        "started": float(at),
    }
    return Audit(**{**fields, **more})


def ended(number, at, state="SUCCESS", **more):
    begun = running(number, at - 2, **more)
    return replace(begun, state=state, event=f"d{number}-apply-1:{state}", ended=float(at))


def applied(number, at):
    """What an apply leaves: it begins at ``at`` and ends two seconds later."""
    return (
        (running(number, at), ended(number, at + 2)),
        (Effect(ROOT, f"m{number}", "begin", at + 0.5), Effect(ROOT, f"m{number}", "end", at + 1.5)),
        (StateVersion(ROOT, at + 1.0, "one", number, f"m{number}"),),
    )


def shown(number, conclusion="success", status="completed", run=None):
    return Check(run or number, f"c{number}", ROOT, f"d{number}", status, conclusion, "Applied")


def history(**fields):
    """Two revisions, pushed one after the other, reviewed, applied, and shown."""
    first, second = applied(1, 10), applied(2, 20)
    good = History(
        repository="acme/soak",
        writers=("maintainer", "reviewer"),
        commits={"c1": Commit("c1", (), {ROOT: "m1"}), "c2": Commit("c2", ("c1",), {ROOT: "m2"})},
        pushes=(Push(5.0, None, "c1"), Push(6.0, "c1", "c2")),
        checks=(shown(1), shown(2)),
        acts=(Act(8.0, "reviewer", "Approve", ROOT, "d1"), Act(18.0, "reviewer", "Approve", ROOT, "d2")),
        audits=first[0] + second[0],
        effects=first[1] + second[1],
        states=first[2] + second[2],
    )
    return replace(good, **fields)


GOOD = history()
FIRST, SECOND = applied(1, 10), applied(2, 20)
DIVERGED = {**GOOD.commits, "c2": Commit("c2", (), {ROOT: "m2"})}
BACKWARDS = {"c1": Commit("c1", ("c2",), {ROOT: "m1"}), "c2": Commit("c2", (), {ROOT: "m2"})}
UNKNOWN = replace(FIRST[0][1], state="UNKNOWN", event="d1-apply-1:UNKNOWN")


def promoted(*, prod_begins=20.0, **fields):
    """One commit that changes a root in dev and one in prod, which goes after it; dev's apply ends at 12."""
    marks, before = {"dev-1": "d", "prod-1": "p"}, {"prod-1": ("dev-1",)}
    commit = Commit("c1", (), marks, {"dev-1": "dev", "prod-1": "prod"}, {}, before, ("dev-1",))
    dev = {"root": "dev-1", "revision": "c1", "approved_by": None}
    prod = {"root": "prod-1", "revision": "c1"}
    good = History(
        repository="acme/soak",
        writers=("reviewer",),
        commits={"c1": commit},
        pushes=(Push(5.0, None, "c1"),),
        checks=(replace(shown(1), root="dev-1"), replace(shown(2), root="prod-1", sha="c1")),
        acts=(Act(prod_begins - 1, "reviewer", "Approve", "prod-1", "d2"),),
        audits=(
            running(1, 10, **dev),
            ended(1, 12, **dev),
            running(2, prod_begins, **prod),
            ended(2, prod_begins + 2, **prod),
        ),
        effects=(Effect("dev-1", "d", "begin", 10.5), Effect("prod-1", "p", "begin", prod_begins + 0.5)),
        states=(StateVersion("dev-1", 11.0, "one", 1, "d"), StateVersion("prod-1", prod_begins + 1, "two", 1, "p")),
        gates=(Gated(2, "c1", "prod-1", "Waiting for stack dev: 1 to add", ("dev", "dev-1")),),
    )
    return replace(good, **fields)


PROMOTED = promoted()
DEV_FAILED = (PROMOTED.audits[0], replace(PROMOTED.audits[1], state="FAILURE", event="d1-apply-1:FAILURE"))
DEV_BROKEN = promoted(
    audits=(*DEV_FAILED, *PROMOTED.audits[2:]),
    checks=(replace(PROMOTED.checks[0], conclusion="failure"), PROMOTED.checks[1]),
)
DEV_UNTOUCHED = promoted(
    audits=PROMOTED.audits[2:],
    checks=(replace(PROMOTED.checks[0], title="No changes", begun=8.0), PROMOTED.checks[1]),
    effects=PROMOTED.effects[1:],
    states=PROMOTED.states[1:],
)

#: dev failed at first, and a commit after it corrected that before prod began.
DEV_CORRECTED = replace(
    DEV_BROKEN,
    commits={**PROMOTED.commits, "c2": replace(PROMOTED.commits["c1"], sha="c2", parents=("c1",))},
    audits=(
        *DEV_FAILED,
        *(
            replace(one, deployment="d3", event=f"d3-apply-1:{one.state}", revision="c2", started=15.0)
            for one in (PROMOTED.audits[0], replace(PROMOTED.audits[1], ended=17.0))
        ),
        *PROMOTED.audits[2:],
    ),
)

#: The second has diverged from the first, and nobody approved it.
UNAPPROVED = (*FIRST[0], *(replace(one, approved_by=None) for one in SECOND[0]))
UNREVIEWED = Commit("c2", ("c3",), {ROOT: "m2"}, unreviewed=(ROOT,))
#: It contains a third, beside the first, that says what the first does.
BESIDE = {**GOOD.commits, "c2": UNREVIEWED, "c3": Commit("c3", (), {ROOT: "m1"})}
EMPTY = Check(3, "c3", ROOT, "d3", "completed", "success", "No changes", begun=15.0)

CAREFUL = {**GOOD.commits, "c2": replace(GOOD.commits["c2"], approvals={ROOT: 2})}


def with_second(**fields):
    return {**GOOD.commits, "c2": replace(GOOD.commits["c2"], **fields)}


def by_two(*people, approved=2):
    """The second revision needs two people, and the audit names these."""
    acts = (Act(17.0, one, "Approve", ROOT, "d2") for one in people[:approved])
    audits = (replace(one, approved_by=people[0], approvals=people) for one in SECOND[0])
    return history(commits=CAREFUL, acts=(*GOOD.acts, *acts), audits=(*FIRST[0], *audits))


def pulled(check, conclusion="success", **fields):
    """An open pull request whose head said this."""
    commits = {**GOOD.commits, "c3": Commit("c3", ("c2",), {ROOT: "m3"}, **fields)}
    return history(
        commits=commits, pulls=(Pull(1, "c3", (ROOT,), open=True),), verdicts=(Verdict("c3", check, conclusion),)
    )


#: name → (rule, history): each broken in one way.
BROKEN = {
    "an apply begins before the last one ended": (
        "1 one apply",
        history(audits=(FIRST[0][0], SECOND[0][0], FIRST[0][1], SECOND[0][1])),
    ),
    "the engine works twice at once": (
        "1 one apply",
        history(effects=(FIRST[1][0], SECOND[1][0], FIRST[1][1], SECOND[1][1])),
    ),
    "a push has no check run": ("2, 3", history(checks=(shown(1),), audits=FIRST[0])),
    "a check run waits for ever": ("2, 3", history(checks=(shown(1), shown(2, None, "in_progress")))),
    "a review is never answered": ("2, 3", history(checks=(shown(1), shown(2), shown(2, "action_required", run=3)))),
    "an older revision is applied later": ("4 never backwards", history(commits=BACKWARDS)),
    "a diverged revision is applied without approval": (
        "4 never backwards",
        history(commits=DIVERGED, audits=UNAPPROVED),
    ),
    "what had nothing to change came only later": (
        "4 never backwards",
        history(commits=BESIDE, audits=UNAPPROVED, checks=(*GOOD.checks, replace(EMPTY, begun=25.0))),
    ),
    "what had nothing to change says something else": (
        "4 never backwards",
        history(
            commits={**BESIDE, "c3": Commit("c3", (), {ROOT: "m3"})},
            audits=UNAPPROVED,
            checks=(*GOOD.checks, EMPTY),
        ),
    ),
    "a deployment applies twice": ("5 an apply", history(audits=(*FIRST[0], *FIRST[0], *SECOND[0]))),
    "the engine applies a second time unheard": ("5 an apply", history(effects=(*FIRST[1], *FIRST[1], *SECOND[1]))),
    "a merge is applied while the queue is locked": ("5 the lock", history(audits=(FIRST[0][0], UNKNOWN, *SECOND[0]))),
    "a merge follows a manual deploy that locked": (
        "5 the lock",
        history(audits=(*(replace(one, trigger="manual") for one in FIRST[0]), *SECOND[0])),
    ),
    "nobody approved": ("6 the reviewed", history(audits=(replace(FIRST[0][0], approved_by=None), FIRST[0][1]))),
    "somebody approved who may not": (
        "6 the reviewed",
        history(audits=(replace(FIRST[0][0], approved_by="visitor"), FIRST[0][1])),
    ),
    "the approver approved only later": (
        "6 the reviewed",
        history(acts=(Act(11.0, "reviewer", "Approve", ROOT, "d1"), GOOD.acts[1])),
    ),
    "another plan is applied": (
        "6 the reviewed",
        history(audits=(FIRST[0][0], replace(FIRST[0][1], plan="another"), *SECOND[0])),
    ),
    "the state is not what the revision says": (
        "6 the reviewed",
        history(states=(*FIRST[2], replace(SECOND[2][0], mark="m1"))),
    ),
    "the states came in another order": (
        "6 the reviewed",
        history(states=(*SECOND[2], *FIRST[2])),
    ),
    "the engine works unheard": ("7 no apply", history(audits=FIRST[0])),
    "the engine works before the topic hears": (
        "7 no apply",
        history(effects=(Effect(ROOT, "m1", "begin", 9.0), *GOOD.effects[1:])),
    ),
    "a state is stored unheard": (
        "7 no apply",
        history(states=(*GOOD.states, StateVersion(ROOT, 30.0, "one", 3, "m3"))),
    ),
    "an end is audited twice": ("7 audited", history(audits=(*FIRST[0], FIRST[0][1], *SECOND[0]))),
    "an end is not audited": ("7 audited", history(audits=(FIRST[0][0], *SECOND[0]))),
    "only the end is audited of what began": ("7 audited", history(audits=(FIRST[0][1], *SECOND[0]))),
    "only the end is audited, and the engine worked": (
        "7 no apply",
        history(
            audits=(replace(FIRST[0][1], state="FAILURE", started=None), *SECOND[0]),
            checks=(shown(1, "failure"), shown(2)),
        ),
    ),
    "an end is audited before its beginning": ("7 audited", history(audits=(FIRST[0][1], FIRST[0][0], *SECOND[0]))),
    "the check run says something else": ("7 audited", history(checks=(shown(1, "failure"), shown(2)))),
    "prod is applied while dev is": ("gates: no apply", promoted(prod_begins=11.0)),
    "prod is applied before dev": ("gates: no apply", promoted(prod_begins=3.0)),
    "prod is applied after dev failed": ("gates: no apply", DEV_BROKEN),
    "prod is run again before dev": (
        "gates: no apply",
        replace(DEV_BROKEN, audits=(*DEV_FAILED, *(replace(one, trigger="rerun") for one in PROMOTED.audits[2:]))),
    ),
    "prod is applied although dev is planned only later": (
        "gates: no apply",
        replace(DEV_UNTOUCHED, checks=(replace(DEV_UNTOUCHED.checks[0], begun=21.0), DEV_UNTOUCHED.checks[1])),
    ),
    "prod is applied before what the change only pulls into dev": (
        "gates: no apply",
        promoted(
            commits={
                "c1": replace(
                    PROMOTED.commits["c1"],
                    depends={"dev-2": ("dev-1",)},
                    before={"prod-1": ("dev-1", "dev-2")},
                )
            }
        ),
    ),
    "a gate names nothing": (
        "gates: each names its dependency",
        promoted(gates=(replace(PROMOTED.gates[0], named=()),)),
    ),
    "a gate names what does not go first": (
        "gates: each names its dependency",
        promoted(gates=(replace(PROMOTED.gates[0], named=("prod-2", "staging")),)),
    ),
    "a root is applied unreviewed that is automatic at another commit only": (
        "6 the reviewed",
        promoted(
            commits={
                "c0": PROMOTED.commits["c1"],
                "c1": replace(PROMOTED.commits["c1"], unreviewed=()),
            }
        ),
    ),
    "a commit is applied that a forced push took away": (
        "4 what was forced off",
        history(
            commits={**GOOD.commits, "c3": Commit("c3", ("c1",), {ROOT: "m1"})},
            pushes=(*GOOD.pushes, Push(15.0, "c2", "c3")),
        ),
    ),
    "one approved where two must": ("6 the reviewed", history(commits=CAREFUL)),
    "an author is one of two who approved": ("6 the reviewed", by_two("reviewer", "developer")),
    "one of two only says that they approved": ("6 the reviewed", by_two("reviewer", "maintainer", approved=1)),
    "what cannot be planned is green": ("9 what failed", history(commits=with_second(broken=(ROOT,)))),
    "a pull request is green that cannot be planned": ("9 what failed", pulled("tidegate/plan", broken=(ROOT,))),
    "a pull request is green that a policy refuses": ("9 what failed", pulled("tidegate/plan", denied=(ROOT,))),
    "a policy is green that refuses": ("9 what failed", pulled("tidegate/policy: words", denied=(ROOT,))),
    "an open pull request has no verdict": ("2, 3", pulled("tidegate/policy: words", "failure")),
    "drift is green": ("9 drift", history(looks=(Look("tidegate/drift: all", "success", (ROOT,)),))),
    "a log holds a secret": ("8 secrets", history(leaks=("object logs/d1.txt",))),
    "two runners plan the same job": (
        "1 one runner",
        history(plans=(Planned(ROOT, PLAN, 7.0), Planned(ROOT, PLAN, 8.0))),
    ),
    "an apply is given to Lambda": ("5 applies run", history(runners=(Runner("d1-apply-1", "lambda", 9.0),))),
    "a plan fails as it is too large for Lambda": (
        "2 lost plans",
        history(checks=(shown(1), replace(shown(2, "failure"), summary="The plan is too large for Lambda."))),
    ),
    "an unlock is audited that nobody did": (
        "7 decisions",
        history(audits=(*GOOD.audits, Audit("UNLOCKED", "u", "d1", ROOT))),
    ),
}
