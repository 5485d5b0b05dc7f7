"""The ways through all state machines."""

from __future__ import annotations

from tests.stepfunctions.cluster_walks import CLUSTER_ERROR, CLUSTER_TASK
from tests.stepfunctions.deploy_walks import DEPLOY
from tests.stepfunctions.drift_walks import DRIFT
from tests.stepfunctions.promotion_walks import PROMOTION
from tests.stepfunctions.pull_walks import PULL_REQUEST
from tests.stepfunctions.terraform_walks import TERRAFORM
from tests.stepfunctions.update_walks import CONFIG_UPDATE

WAYS = [*TERRAFORM, *DEPLOY, *PULL_REQUEST, *DRIFT, *CONFIG_UPDATE, *PROMOTION, *CLUSTER_TASK, *CLUSTER_ERROR]
