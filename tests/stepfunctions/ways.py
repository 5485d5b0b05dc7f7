"""The states that a deployment goes through, by their names."""

from __future__ import annotations

WAITING = "Wait for a revision or an unlock"

CLAIMED = (
    "Claim the next deployment",
    "What to do next?",
    "Compare with the revision deployed last",
    "May it be deployed?",
)

RAN = (*CLAIMED, "Plan, review and apply", "Record the outcome")
RESTED = ("Claim the next deployment", "What to do next?", WAITING)
BEGAN = "Begin to work on the queue"
DEPLOYED = (BEGAN, *RAN, *RESTED)
PLANNING = ("Begin the plan", "Start a runner for the plan", "Plan")
SLOT = ("Wait for a concurrency slot", "What was the slot for?")
AGAIN = ("May the plan be tried again?", "Wait before planning again")
JUDGED = ("Record the plan", "What does the plan need?")
HELD = ("Evaluate the policies", "Decide by the results of the policies", "What does the plan need?")
BEGUN = ("Begin the deployment", "What comes first?")
BEFORE_PLAN = ("Wait for what this depends on",)
BEFORE_APPLY = ("Wait for the stacks before this one",)
OPENED = ("What follows from the gate?",)
PLANNED = (*BEGUN, *PLANNING, *JUDGED)
PLANNED_AFTER_OTHERS = (*BEGUN, *BEFORE_PLAN, *OPENED, *PLANNING, *JUDGED)
GATED = (*PLANNED, *BEFORE_APPLY, *OPENED)
PLANNED_AGAIN = ("Begin another plan", *PLANNING, *JUDGED, *BEFORE_APPLY, *OPENED)
LACKING = ("Begin the apply", "Wait for its requirements")
EXPIRED = ("Record that the gate expired", "Gate expired")
REPLANNED = (*BEGUN, *PLANNING, *AGAIN, *PLANNING, *JUDGED)
REVIEWED = (*PLANNED, "Wait for the plan review", "Was the plan approved?")
APPLY = ("Begin the apply", "What applies it?", "Start a runner for the apply", "Apply")
APPLYING = (*PLANNED, *APPLY)
APPLIED = (*APPLYING, "Record that it was applied", "Applied")
CLUSTER = (*PLANNED, "Begin the apply", "What applies it?", "Run the cluster workflow")
WORKFLOW_FAILED = ("Did the workflow apply it?", "Take the workflow's error", "Is it known what was applied?")
MODULE = (*BEGUN, "Start a runner for the apply")
FAULTED = ("Record an internal error", "How did it end?", "Internal error")
UNKNOWN = ("Record that the outcome is unknown", "How did it end?", "Outcome unknown")
