"""The CDK app: what is deployed. It knows file names and the names of environment variables, nothing else.

aws-cdk-lib is JavaScript behind Python: it needs node, which comes with a Python package. It has to be
named before aws_cdk is imported, so it is named here.
"""

import os

from tidegate_cdk.node import NODE

os.environ.setdefault("JSII_NODE", str(NODE))
