"""``make demo``: acts on a local cloud, followed on screen until their changes are applied.

The demo uses only Tidegate's external interfaces: it pushes with git, reads check runs and comments through the VCS
provider's API, clicks the check runs' buttons, announces and reports through the HTTP API, and reads the Terraform
states and the audit messages afterwards.
"""
