"""Parameters of the local cloud, while several callers read and write them."""

from __future__ import annotations

import threading

from moto.ssm.models import SimpleSystemManagerBackend

from tidegate_local.moto import shims


def test_parameters_are_listed_while_others_are_deleted(monkeypatch):
    shims._parameters()
    backend = SimpleSystemManagerBackend("eu-west-1", "123456789012")
    for name in ("/one", "/two", "/three"):
        backend.put_parameter(name, "", "text", "String", "", "", False, [], "text", "Standard", [])
    deleting = threading.Thread(target=backend.delete_parameter, args=("/three",))

    def matches(*_: object) -> bool:
        if deleting.ident is None:
            deleting.start()
            deleting.join(0.2)
        return True

    monkeypatch.setattr(backend, "_match_filters", matches)
    assert [each.name for each in backend.describe_parameters([], [])] == ["/one", "/two", "/three"]
    deleting.join()
    assert "/three" not in backend._parameters
