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
        f"{prefix} confirm [-p ROOT]... DIGEST\n{prefix} reject [-p ROOT]...\n{prefix} cancel [-p ROOT]... [--apply]\n"
        f"{prefix} help\n```\n`{prefix} help` explains them."
    )


def help_text(prefix: str = "tidegate") -> str:
    """Return what the commands do, in Markdown."""
    return f"""### What you can ask Tidegate for

| Comment | What it does |
|---|---|
| `{prefix} plan` | Plans again, merged with the current base branch. |
| `{prefix} plan -p ROOT` | Plans this root only, also one that is not planned by itself. Several need several `-p`. |
| `{prefix} plan -d DIR` | Plans the changed roots in this directory. |
| `{prefix} plan TAG QUERY` | Plans the changed roots that a tag query means, such as `prod and not dir:live/**`. |
| `{prefix} plan -- -target=ADDRESS` | Gives options to the engine: those of `pull_requests.allowed_plan_args`. |
| `{prefix} apply` | Applies the plans before the merge, where that is configured. |
| `{prefix} apply -p ROOT` | Applies the plan of this root only. |
| `{prefix} deploy` | Deploys the head to every root that it changes, before the merge. |
| `{prefix} deploy -p ROOT` | Deploys it to this root only. Name several with several `-p`. |
| `{prefix} deploy -d DIR` | Deploys it to the changed roots in this directory. |
| `{prefix} deploy TAG QUERY` | Deploys it to the changed roots that a tag query means, such as `stack_name:prod`. |
| `{prefix} deploy --force` | Passes over missing approvals, conflicts and failing checks. Recorded in the audit log. |
| `{prefix} destroy -p ROOT` | Once this is merged: destroys what a root made that is gone. Always reviewed. |
| `{prefix} lock --reason TEXT` | Locks the queues of the changed roots: merges wait. |
| `{prefix} lock -p ROOT` | Locks the queue of this root only. |
| `{prefix} lock --stack STACK` | Locks all roots of a stack, `--all` those of the repository; `--for 2h` for so long. |
| `{prefix} unlock` | Unlocks the queues of the changed roots: merges deploy again. |
| `{prefix} unlock -p ROOT` | Unlocks the queue of this root only. |
| `{prefix} unlock --stack STACK` | Takes the lock of a stack away, `--all` that of the repository. |
| `{prefix} confirm DIGEST` | Confirms the plan whose SHA-256 begins so; `{prefix} confirm` names those that wait. |
| `{prefix} reject -p ROOT` | Rejects the deployment of this root that waits: nothing is applied. |
| `{prefix} cancel` | Cancels unfinished plans, and deployments that wait or plan. |
| `{prefix} cancel -p ROOT` | Cancels the deployments of this root only. |
| `{prefix} cancel --apply` | Interrupts their applies as well: the state may be partly changed. |
| `{prefix} help` | Shows this. |

A deploy by hand goes before merges that wait, and shows its plan as a check on the head. \
The plan waits there for **Confirm** or **Reject**; where `plan_review: never` or `auto_apply` says that plans wait \
for nobody, it is applied at once. It locks the queues of its roots: merges wait \
until somebody unlocks them, so that none undoes unseen what was tried here.

Who may write to this repository may ask. Comments must have one line; edits are not read."""
