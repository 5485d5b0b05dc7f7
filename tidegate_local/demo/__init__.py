"""``make demo``: two acts on a local cloud, followed on screen until what they changed is applied.

The demo looks at Tidegate from outside only: it pushes with git, reads check runs and comments through the forge's API,
presses the check runs' own buttons, and reads the Terraform states and the audit messages afterwards.
"""
