"""What webhooks tell that anybody could have sent: only what the forge itself has acts, and the rest is audited."""

from __future__ import annotations

from dataclasses import replace
from datetime import timedelta

import pytest

from tests.fakes import MemoryWebhookVerifier
from tests.fakes.ports import memory_ports
from tests.instants import utc
from tests.unit.comments.events_scenario import AT, NUMBER, REPOSITORY, EventsScenario
from tidegate.discovery.confirm_webhook import confirm_push
from tidegate.ports import Pushed, WrittenComment
from tidegate.rules.errors import ForgeUnavailable
from tidegate.vcs.rules.push import Push

COMMENT, TEXT = 70, "tidegate deploy --force"
WRITTEN = WrittenComment("maintainer", TEXT, AT, AT)
BEFORE, AFTER = "b" * 40, "c" * 40


class TestComments:
    @pytest.fixture
    def verifier(self):
        return MemoryWebhookVerifier({(NUMBER, COMMENT): WRITTEN})

    @pytest.fixture
    def scenario(self, verifier):
        return EventsScenario(webhook_verifier=verifier)

    @pytest.fixture
    def told(self, scenario):
        """Return what tells of the comment by a webhook, as often as one likes."""
        return lambda text=TEXT, delivery=None: scenario.comment(text, "maintainer", delivery)

    def test_one_that_the_forge_has_acts_after_one_call(self, scenario, verifier, told):
        assert told().startswith("Enqueued: live/app")
        assert (scenario.names, verifier.asked) == (["live/app"], 1)
        assert not [each for each in scenario.audit.published if each.state == "UNCONFIRMED"]

    def test_one_that_was_answered_is_not_asked_for_again(self, scenario, verifier, told):
        told(delivery="one")
        told(delivery="one")
        assert verifier.asked == 1

    @pytest.mark.parametrize("text", [TEXT, "tidegate help", "tidegate unlock", "tidegate nonsense"])
    def test_one_that_nobody_wrote_does_nothing_and_is_audited(self, scenario, verifier, told, text):
        verifier.comments.clear()
        assert told(text=text) == "Refused: The comment does not exist."
        assert (scenario.names, scenario.forge.comments, scenario.forge.reactions) == ([], [], [])
        (heard,) = scenario.audit.published
        body = heard.body
        assert (body["state"], body["repository"], body["root"]) == ("UNCONFIRMED", REPOSITORY, None)
        assert (body["initiating_user"], body["reason"]) == ("maintainer", "The comment does not exist.")

    @pytest.mark.parametrize(
        ("written", "doubt"),
        [
            (replace(WRITTEN, author="developer"), "The author in the event is not"),
            (replace(WRITTEN, text="Looks good to me."), "is not the text"),
            (replace(WRITTEN, edited_at=AT + timedelta(minutes=1)), "edited"),
            (replace(WRITTEN, written_at=utc("2026-02-01T08:00"), edited_at=utc("2026-02-01T08:00")), "a day"),
        ],
    )
    def test_one_that_is_not_what_was_told_is_refused_where_it_stands(self, scenario, verifier, told, written, doubt):
        verifier.comments[NUMBER, COMMENT] = written
        assert told().startswith("Refused: **Nothing was done**")
        assert scenario.names == []
        assert doubt in scenario.reply
        assert scenario.forge.reactions == [(COMMENT, "confused")]
        assert [each.state for each in scenario.audit.published] == ["UNCONFIRMED"]

    def test_a_forge_that_does_not_answer_is_asked_again(self, scenario, verifier, told):
        verifier.failure = ForgeUnavailable("no answer")
        with pytest.raises(ForgeUnavailable):
            told(delivery="one")
        verifier.failure = None
        assert told(delivery="one").startswith("Enqueued")


class TestPushes:
    PUSH = Push("delivery-1", REPOSITORY, BEFORE, AFTER, "main", AT, "owner", forced=None, project=7)

    def confirmed(self, *pushed):
        """Return what the push is confirmed as, where the forge knows it as ``pushed``, and the audit log."""
        pushes = {("main", AFTER): Pushed(*pushed)} if pushed else {}
        ports = memory_ports(webhook_verifier=MemoryWebhookVerifier(pushes=pushes))
        return confirm_push(ports, self.PUSH), ports.audit.published

    def test_one_that_the_branch_has_is_by_whom_the_forge_names(self):
        confirmed, heard = self.confirmed("developer")
        assert (confirmed.sender, confirmed.sender_known) == ("developer", True)
        assert (confirmed.before, confirmed.after) == (BEFORE, AFTER)
        assert heard == []

    def test_one_goes_from_where_the_forge_says_that_the_branch_was(self):
        confirmed, _ = self.confirmed("developer", "a" * 40)
        assert confirmed.before == "a" * 40

    def test_one_of_nobody_knows_whom_is_by_nobody(self):
        confirmed, _ = self.confirmed(None)
        assert (confirmed.sender, confirmed.sender_known) == ("tidegate", False)

    def test_one_that_the_branch_does_not_have_is_none_and_audited(self):
        confirmed, (heard,) = self.confirmed()
        assert confirmed is None
        assert (heard.state, heard.body["initiating_user"], heard.group) == ("UNCONFIRMED", "owner", "delivery-1")
        assert AFTER in heard.body["reason"]
