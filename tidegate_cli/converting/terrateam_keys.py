"""Keys of Terrateam, and kinds of its steps, that Tidegate does not have: why, and what there is in their place."""

from __future__ import annotations

from typing import Any

_ALL_AT_ONCE = "Tidegate always does this: roots that do not wait for each other run concurrently"
_TOLD = "Tidegate publishes deployments on the event bus"
_SHOWN = "the log has the output of programs"
_CHECKS = "Tidegate always sets checks for plans and applies"
_GRANTS_LESS = "nobody gets more permissions without it"
_WHOLE = "Tidegate checks each root on its own: the others go on"
#: Why keys and kinds of steps are not needed: nothing is granted, and nothing less is deployed, without them.
HARMLESS = {
    "apply_autoapprove": _GRANTS_LESS,
    "apply_require_all_dirspace_access": _WHOLE,
    "apply_with_superapproval": _GRANTS_LESS,
    "autoplan_draft_pr": "use pull_requests: {drafts: false}, for all roots",
    "batch_runs": _ALL_AT_ONCE,
    "capture_output": _SHOWN,
    "cost_estimation": "run Infracost in a step of the workflow (docs/workflows.md, Show what a plan costs)",
    "create_completed_apply_check_on_noop": _CHECKS,
    "create_if_missing": "the first deploy of a root creates its workspace",
    "create_pending_apply_check": _CHECKS,
    "default_branch_overrides": "Tidegate always reads permissions from the default branch",
    "definitions": "each value stands where it is used",
    "delete_branch": "enable the deletion of merged branches on GitHub",
    "drift_create_issue": "Tidegate always reports drift in an issue",
    "format": _SHOWN,
    "indexer": "Tidegate finds and follows the local modules of a root",
    "lock_branch_target": "a root has one lock for all branches",
    "lock_policy": "Tidegate locks the queues of roots from tidegate apply until the merge",
    "mode": "Tidegate applies the reviewed plan",
    "notifications": _TOLD,
    "parallel_runs": _ALL_AT_ONCE,
    "plan_require_all_dirspace_access": _WHOLE,
    "prune_on_no_change": "Tidegate also plans roots that depend on changed ones",
    "require_explicit_apply": "Tidegate merges a pull request when all of it is applied",
    "retain_pr_title": "the settings on GitHub apply",
    "retry": "Tidegate never retries an apply",
    "runs_on": "each job runs in its own Fargate task",
    "slack": _TOLD,
    "storage": "Tidegate stores plans in its bucket",
    "superapproval": _GRANTS_LESS,
    "visible_on": _SHOWN,
}
_RIGHTS = "runners have the engine's role: let the provider assume another one, or set its variables in an env step"
_AS_A_PROGRAM = "run the program in a run step"
_JUDGED = "policy_sets or a run step check plans"
_WHO_CHANGES = "require reviews of code owners for these files on GitHub"
#: What there is in place of keys and kinds of steps without which more is allowed, or less deployed.
INSTEAD = {
    "apply_after_merge": "it applies to all roots: apply: on_merge, set if all checks have it",
    "apply_force": "--force needs the permission apply, and is audited",
    "autoapply": "it applies to all roots: apply: on_merge, set if the whole file has it",
    "checkov": _AS_A_PROGRAM,
    "ci_config_update": _WHO_CHANGES,
    "config_builder": "write out the file that the program generates",
    "conftest": _JUDGED,
    "create_and_select_workspace": "Tidegate always selects the root's workspace",
    "files": _WHO_CHANGES,
    "gate": "gates are reviews, policies and stacks",
    "gates": "gates are reviews, policies and stacks",
    "integrations": "policies or a run step check plans",
    "oidc": _RIGHTS,
    "opa": _JUDGED,
    "require_completed_reviews": "list those who must approve under all_of",
    "require_ready_for_review_pr": "drafts may be applied. To exclude them, set pull_requests: {drafts: false}",
    "terrateam_config_update": _WHO_CHANGES,
    "tree_builder": "write out the directories that the program generates",
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
