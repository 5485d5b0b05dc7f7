"""The command of kubeconfigs for EKS: print a token for the cluster with this ARN.

Its credentials come by one variable: the others may be the runner's own.
"""

from __future__ import annotations

import json
import os
import sys

from runner.clusters.eks import ENVIRONMENT, credential
from runner.faults import JobFault


def main() -> int:
    try:
        sys.stdout.write(credential(sys.argv[1], json.loads(os.environ[ENVIRONMENT])))
    except JobFault as fault:
        sys.stderr.write(f"{fault}\n")
        return 1
    return 0


if __name__ == "__main__":
    sys.exit(main())
