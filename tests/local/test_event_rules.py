"""Rules of the local cloud's event bus, with several events at the same moment."""

from __future__ import annotations

from typing import Any

from moto.events.models import Rule

from tidegate_local.moto import shims
from tidegate_local.moto.hub import HUB


def test_events_at_the_same_moment_reach_every_target_of_their_rule(monkeypatch):
    sent: list[str] = []
    first, second = {"id": "first", "source": "one"}, {"id": "second", "source": "one"}
    rule = Rule("one", "123456789012", "eu-west-1", None, '{"source": ["one"]}', None, "", "default", "ENABLED")
    rule.targets = [{"Arn": "arn:aws:lambda:eu-west-1:123456789012:function:one"}]

    def send(_: Rule, event: Any, *_more: Any) -> None:
        if event is first:
            rule.send_to_targets(second)

    monkeypatch.setattr(Rule, "send_to_targets", send)
    shims._rule_targets()
    monkeypatch.setattr(HUB, "invoke_target", lambda _target, event: sent.append(event["id"]))
    rule.send_to_targets(first)
    assert sent == ["first", "second"]
