"""What Python compiles for the local cloud is kept, also for somebody whose Python keeps nothing."""

from __future__ import annotations

import os
import subprocess
import sys

from tidegate_local.caches import keeping_compiled


def test_a_module_is_compiled_once_where_python_is_told_to_keep_nothing(tmp_path, monkeypatch):
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path / "cache"))
    monkeypatch.setenv("PYTHONDONTWRITEBYTECODE", "1")
    (tmp_path / "once.py").write_text("")
    subprocess.run([sys.executable, "-c", "import once"], cwd=tmp_path, env=keeping_compiled(os.environ), check=True)
    assert len(list((tmp_path / "cache" / "tidegate").rglob("once.*.pyc"))) == 1
    assert not list(tmp_path.glob("__pycache__"))
