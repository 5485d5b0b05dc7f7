"""The ways through the machine that promotes an image set."""

from __future__ import annotations

from typing import Any

from tests.stepfunctions.way import REFUSED, TIMEOUT, TWICE, Way, moved, stumbling

BEGUN = ("Begin the promotion", "Remember the chain of environments", "Wait for the required checks")
CHECKED = (*BEGUN, "What follows?")
TARGETS = (*CHECKED, "Wait for the targets")
LATE = (*TARGETS, "Record that the environment is stalled", "Wait for the late targets")
THERE = (*TARGETS, "What follows?")
SOAKED = ("Soak", "End the soak", "What follows?")
FIRST = ("Wait for what comes first", "What follows?")
PROMOTION_ASKED = ("Promote to the next environment", "Is the queue full?")
PROMOTED = (*PROMOTION_ASKED, "Image set promoted")
ENDED = ("Promotion ended",)
LATER = ("To be continued",)
FAULT = ("Record an internal error", "Internal error")


def _promotion(name: str, states: tuple[str, ...], records: str | None = None, **more: Any) -> Way:
    return Way("promotion", name, states, records=records, **more)


PROMOTION = [
    _promotion("goes to the next environment", (*THERE, *FIRST, *PROMOTED)),
    _promotion(
        "everything stumbles",
        (*LATE, "What follows?", *SOAKED, *FIRST, *PROMOTED),
        answers={
            **stumbling(
                "promotion",
                "Remember the chain of environments",
                "Wait for the required checks",
                "Record that the environment is stalled",
                "End the soak",
                "Wait for what comes first",
                "Promote to the next environment",
            ),
            "Wait for the targets": [*TWICE, TIMEOUT],
            "Wait for the late targets": [*TWICE, moved("soak", 1)],
        },
    ),
    *(
        _promotion(
            f"goes on, started again, with: {following}",
            (*CHECKED, *states),
            answers={"Wait for the required checks": moved(following)},
        )
        for following, states in (
            ("soak", (*SOAKED, *FIRST, *PROMOTED)),
            ("after", (*FIRST, *PROMOTED)),
            ("promote", PROMOTED),
            ("ended", ENDED),
        )
    ),
    *(
        _promotion(
            f"has all targets, and then: {following}",
            (*THERE, *states),
            answers={"Wait for the targets": moved(following)},
        )
        for following, states in (("promote", PROMOTED), ("ended", ENDED))
    ),
    _promotion(
        "was replaced while it soaked",
        (*THERE, *SOAKED, *ENDED),
        answers={"Wait for the targets": moved("soak", 1), "End the soak": moved("ended")},
    ),
    _promotion(
        "was replaced while it waited for what comes first",
        (*THERE, *FIRST, *ENDED),
        answers={"Wait for what comes first": moved("ended")},
    ),
    _promotion(
        "finds the queue full, and waits on",
        (*THERE, *FIRST, *PROMOTION_ASKED, *FIRST, *PROMOTED),
        answers={"Promote to the next environment": [{"full": True, "reason": ""}, {"full": False, "reason": ""}]},
    ),
    _promotion("waits too long for its checks", (*BEGUN, *LATER), answers={"Wait for the required checks": TIMEOUT}),
    _promotion(
        "waits too long for its targets",
        (*LATE, *LATER),
        answers={"Wait for the targets": TIMEOUT, "Wait for the late targets": TIMEOUT},
    ),
    _promotion(
        "waits too long for what comes first",
        (*THERE, FIRST[0], *LATER),
        answers={"Wait for what comes first": TIMEOUT},
    ),
    *(
        _promotion(
            f"{states[-1]} is refused",
            (*states, *FAULT),
            REFUSED.error,
            answers={
                "Wait for the targets": TIMEOUT if "stalled" in str(states) else moved("soak", 1),
                states[-1]: REFUSED,
            },
        )
        for states in (
            BEGUN[:2],
            BEGUN,
            TARGETS,
            LATE[:-1],
            LATE,
            (*THERE, *SOAKED[:2]),
            (*THERE, *SOAKED, FIRST[0]),
            (*THERE, *SOAKED, *FIRST, PROMOTED[0]),
        )
    ),
    _promotion(
        "cannot begin, and that cannot be recorded",
        (*BEGUN[:2], *FAULT),
        REFUSED.error,
        answers={"Remember the chain of environments": REFUSED, "Record an internal error": REFUSED},
    ),
    _promotion(
        "cannot begin, and stumbles when it records that",
        (*BEGUN[:2], *FAULT),
        REFUSED.error,
        answers={
            "Remember the chain of environments": REFUSED,
            **stumbling("promotion", "Record an internal error"),
        },
    ),
]
