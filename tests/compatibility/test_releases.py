"""What a release stored and sent is still read: its records, the messages on their way, its API and its events.

`python -m tests.compatibility VERSION` adds the corpus of a release. What is in a corpus never changes.
"""

from __future__ import annotations

import pytest

from tests.compatibility.filled import filled_message, filled_record, messages, stored_records, words
from tests.compatibility.releases import RELEASES, corpus, lost, offered_api, offered_events
from tidegate.aws.records import pack, unpack

pytestmark = pytest.mark.parametrize("release", RELEASES)


def test_stored_records_are_read_whole(release: str):
    for name, data in corpus(release, "records").items():
        kind = stored_records()[name]
        assert list(lost(data, pack(unpack(kind, data)), name)) == []


def test_messages_on_their_way_are_read_whole(release: str):
    for name, data in corpus(release, "messages").items():
        read = messages()[name].model_validate(data).model_dump(mode="json")
        assert list(lost(data, read, name)) == []


def test_all_that_enumerations_said_is_still_understood(release: str):
    now = words()
    gone = {name: set(said) - set(now[name]) for name, said in corpus(release, "words").items()}
    assert {name: missing for name, missing in gone.items() if missing} == {}


def test_the_api_still_offers_everything(release: str):
    assert list(lost(corpus(release, "api"), offered_api())) == []


def test_events_and_audit_messages_still_have_their_fields(release: str):
    assert list(lost(corpus(release, "events"), offered_events())) == []


def test_each_kind_of_record_and_message_can_be_filled_for_the_next_corpus(release: str):
    assert corpus(release, "records").keys() <= stored_records().keys()
    for kind in stored_records().values():
        assert filled_record(kind)
    for message in messages().values():
        message.model_validate(filled_message(message))
