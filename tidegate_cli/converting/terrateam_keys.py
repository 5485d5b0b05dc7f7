"""Keys of Terrateam, and kinds of its steps, that Tidegate does not have: why, and what there is in their place."""

from __future__ import annotations

from typing import Any

_ALL_AT_ONCE = "roots that do not wait for each other run at once"
_TOLD = "deployments are told on the event bus"
_SHOWN = "what programs print is in the log"
_CHECKS = "checks of plans and applies are always there"
_GRANTS_LESS = "nobody gets more rights without it"
_WHOLE = "roots are judged one by one: those that somebody may not touch stay as they are"
#: Why keys and kinds of steps are not needed: nothing is granted, and nothing less is deployed, without them.
HARMLESS = {
    "apply_autoapprove": _GRANTS_LESS,
    "apply_require_all_dirspace_access": _WHOLE,
    "apply_with_superapproval": _GRANTS_LESS,
    "autoplan_draft_pr": "pull_requests: {drafts: false} leaves drafts alone, of all roots",
    "batch_runs": _ALL_AT_ONCE,
    "capture_output": _SHOWN,
    "cost_estimation": "run the program by a step run",
    "create_completed_apply_check_on_noop": _CHECKS,
    "create_if_missing": "the first deploy of a root makes its workspace",
    "create_pending_apply_check": _CHECKS,
    "default_branch_overrides": "what grants something is always read from the default branch",
    "definitions": "what stands there is where it is used",
    "delete_branch": "set on the forge that head branches are deleted once they are merged",
    "drift_create_issue": "drift is reported by an issue anyway",
    "format": _SHOWN,
    "indexer": "local modules that a root uses are found without it, and followed",
    "lock_branch_target": "a root has one lock, whatever the branch",
    "lock_policy": "the queues of roots are locked from tidegate apply until the merge",
    "mode": "the reviewed plan is what is applied",
    "notifications": _TOLD,
    "parallel_runs": _ALL_AT_ONCE,
    "plan_require_all_dirspace_access": _WHOLE,
    "prune_on_no_change": "a root that depends on one that changes is planned as well",
    "require_explicit_apply": "a pull request is merged once all of it is applied",
    "retain_pr_title": "the forge's own settings count",
    "retry": "an apply is never tried again by itself",
    "runs_on": "each job has a Fargate task of its own",
    "slack": _TOLD,
    "storage": "plans are kept in Tidegate's bucket",
    "superapproval": _GRANTS_LESS,
    "visible_on": _SHOWN,
}
_RIGHTS = "runners have the engine's role; let the provider assume another one, or set what it reads by a step env"
_AS_A_PROGRAM = "run the program by a step run"
_JUDGED = "policy_sets, or a step run, judge plans"
_WHO_CHANGES = "let the forge require reviews of code owners for the files that say it"
#: What there is in place of keys and kinds of steps without which more is allowed, or less deployed.
INSTEAD = {
    "apply_after_merge": "it holds for all roots: apply: on_merge, which is written where all checks have it",
    "apply_force": "--force needs the right apply, and is audited",
    "autoapply": "it holds for all roots: apply: on_merge, which is written where the whole file has it",
    "checkov": _AS_A_PROGRAM,
    "ci_config_update": _WHO_CHANGES,
    "config_builder": "write the file out that the program makes",
    "conftest": _JUDGED,
    "create_and_select_workspace": "the root's workspace is always selected",
    "files": _WHO_CHANGES,
    "gate": "gates are reviews, policies and stacks",
    "gates": "gates are reviews, policies and stacks",
    "integrations": "policies, or a step run, judge plans",
    "oidc": _RIGHTS,
    "opa": _JUDGED,
    "require_completed_reviews": "name those who must approve under all_of",
    "require_ready_for_review_pr": "drafts may be applied; pull_requests: {drafts: false} leaves them unplanned",
    "terrateam_config_update": _WHO_CHANGES,
    "tree_builder": "write the directories out that the program makes",
}
#: Values of keys that say no more than what is so without them.
NOTHING_SAID: dict[str, tuple[Any, ...]] = {
    "apply_after_merge": ({"enabled": "false"},),
    "autoapply": ("false",),
    "autoplan_draft_pr": ("true",),
    "ci_config_update": (["*"],),
    "create_and_select_workspace": ("true",),
    "config_builder": ({"enabled": "false"},),
    "files": ({},),
    "require_completed_reviews": ("false",),
    "require_ready_for_review_pr": ("false",),
    "terrateam_config_update": (["*"],),
    "tree_builder": ({"enabled": "false"},),
}
