"""Help about commands in comments, short and long, in Markdown."""

from __future__ import annotations


def usage(prefix: str = "tidegate") -> str:
    """Return the short list of commands, in Markdown."""
    return (
        f"```\n{prefix} plan [-p ROOT]... [-d DIR]... [-- OPTION...]\n{prefix} plan [TAG QUERY] [-- OPTION...]\n"
        f"{prefix} apply [-p ROOT]...\n{prefix} deploy [-p ROOT]... [-d DIR]... [--force]\n"
        f"{prefix} deploy [TAG QUERY] [--force]\n"
        f"{prefix} destroy -p ROOT...\n"
        f"{prefix} lock [-p ROOT | --stack STACK | --all] [--for 2h] [--reason TEXT]\n"
        f"{prefix} unlock [-p ROOT | --stack STACK | --all]\n"
        f"{prefix} approve [--yes] [ROOT | STACK | DIGEST] [REASON]\n"
        f"{prefix} reject [ROOT | STACK | DIGEST] [REASON]\n{prefix} cancel [-p ROOT]... [--apply]\n"
        f"{prefix} help\n```\n`{prefix} help` explains them."
    )


def help_text(prefix: str = "tidegate") -> str:
    """Return what the commands do, in Markdown."""
    return f"""### Tidegate commands

| Comment | What it does |
|---|---|
| `{prefix} plan` | Plans again, merged with the current base branch. |
| `{prefix} plan -p ROOT` | Plans only this root, even if it is not planned automatically. Repeat `-p` for more roots. |
| `{prefix} plan -d DIR` | Plans the changed roots in this directory. |
| `{prefix} plan TAG QUERY` | Plans the changed roots that match a tag query, such as `prod and not dir:live/**`. |
| `{prefix} plan -- -target=ADDRESS` | Passes options to the engine, as allowed by `pull_requests.allowed_plan_args`. |
| `{prefix} apply` | Applies the plans before the merge, where that is configured. |
| `{prefix} apply -p ROOT` | Applies the plan of this root only. |
| `{prefix} deploy` | Deploys the head to every root that it changes, before the merge, and locks their queues. |
| `{prefix} deploy -p ROOT` | Deploys it to this root only. Repeat `-p` for more roots. |
| `{prefix} deploy -d DIR` | Deploys it to the changed roots in this directory. |
| `{prefix} deploy TAG QUERY` | Deploys it to the changed roots that match a tag query, such as `stack_name:prod`. |
| `{prefix} deploy --force` | Bypasses missing approvals, conflicts and failing checks. Recorded in the audit log. |
| `{prefix} destroy -p ROOT` | After the merge: destroys the resources of a removed root. Always needs a review. |
| `{prefix} lock --reason TEXT` | Locks the queues of the changed roots: merges wait. |
| `{prefix} lock -p ROOT` | Locks the queue of this root only. |
| `{prefix} lock --stack STACK` | Locks all roots of a stack (`--all`: of the repository); `--for 2h` sets an end. |
| `{prefix} unlock` | Unlocks the queues of the changed roots: merges deploy again. |
| `{prefix} unlock -p ROOT` | Unlocks the queue of this root only. |
| `{prefix} unlock --stack STACK` | Removes the lock of a stack (`--all`: of the repository). |
| `{prefix} approve` | Lists the waiting plans, each with its comment. |
| `{prefix} approve ROOT REASON` | Approves the waiting plan of this root. The reason is optional. |
| `{prefix} approve STACK` | Approves all waiting plans of a stack. |
| `{prefix} approve STACK --yes` | Confirms what they destroy in a protected stack. |
| `{prefix} approve DIGEST` | Approves the plan whose SHA-256 starts with it. |
| `{prefix} reject ROOT REASON` | Rejects the waiting deployment of this root, or all of a stack: nothing is applied. |
| `{prefix} cancel` | Cancels unfinished plans, and deployments that wait or plan. |
| `{prefix} cancel -p ROOT` | Cancels the deployments of this root only. |
| `{prefix} cancel --apply` | Interrupts their applies as well: the state may be partly changed. |
| `{prefix} help` | Shows this. |

A manual deployment runs before waiting merges, and shows its plan as a check on the head. \
The plan waits there for **Approve** or **Reject**; if `plan_review: never` or `auto_apply` turns reviews \
off, it is applied immediately. It locks the queues of its roots: merges wait \
until somebody unlocks them, so that no merge silently undoes what was tried here.

Needs write access to this repository. A command must be one line; edits of comments are ignored."""
