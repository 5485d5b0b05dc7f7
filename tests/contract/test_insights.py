"""What every store of figures does."""

from __future__ import annotations

from dataclasses import replace

import pytest

from tests.builders import NOW, REPOSITORY, any_deployment
from tidegate.aws.records import pack, to_item
from tidegate.deploys.rules.provider_time import ProviderTime
from tidegate.insights.adapters.days import DynamoInsights
from tidegate.insights.rules.day import Day, DriftSeen, with_drift, with_ended
from tidegate.insights.rules.ended import Ended, Result
from tidegate.rules.errors import Conflict

DATE = "2026-03-02"
AWS = ProviderTime("hashicorp/aws", 2, 90, 86)


def a_day(date=DATE, repository=REPOSITORY, **fields):
    one = Ended(NOW, "network", "prod", "sre", Result.APPLIED, 600, 5, None, 60.5, 1234, (AWS,))
    day = with_drift(with_ended(Day(repository, date), one), "nightly", [DriftSeen("nightly", "prod", 2, 99)])
    return replace(day, **fields)


def test_a_day_without_figures_is_empty(stores):
    assert stores.insights.get(REPOSITORY, DATE) == Day(REPOSITORY, DATE)


def test_a_day_is_read_as_it_was_saved(stores):
    stores.insights.save(a_day())
    assert stores.insights.get(REPOSITORY, DATE) == a_day(version=1)


def test_whoever_read_an_older_version_does_not_write_over_a_newer_one(stores):
    stores.insights.save(a_day())
    stores.queues.enqueue(any_deployment())
    for older in (a_day(), a_day(version=9)):
        with pytest.raises(Conflict):
            stores.insights.save(older)
        with pytest.raises(Conflict):
            stores.insights.count(older, any_deployment().id)
    assert stores.insights.count(a_day(version=1), any_deployment().id)


def test_a_deployment_counts_once(stores):
    deployment = any_deployment()
    stores.queues.enqueue(deployment)
    assert stores.insights.count(a_day(), deployment.id)
    stores.deployments.save(deployment)
    assert not stores.insights.count(a_day(version=1), deployment.id)
    assert stores.insights.get(REPOSITORY, DATE).version == 1
    assert stores.deployments.get(deployment.id) == replace(deployment, version=1)


def test_a_deployment_without_a_record_does_not_count(stores):
    assert not stores.insights.count(a_day(), "gone")
    assert stores.insights.get(REPOSITORY, DATE).version == 0


def test_days_since_a_date_are_read_newest_first(stores):
    for date in ("2026-02-27", "2026-03-01", "2026-02-28"):
        stores.insights.save(a_day(date))
    stores.insights.save(a_day(repository="acme/infra-2"))
    days, reads, is_complete = stores.insights.read(REPOSITORY, "2026-02-28", 3)
    assert ([day.date for day in days], reads, is_complete) == (["2026-03-01", "2026-02-28"], 1, True)


class PagedClient:
    """DynamoDB that has more than a page of days."""

    def query(self, **_):
        item = to_item({**pack(a_day()), "pk": f"insights#{REPOSITORY}", "sk": DATE})
        return {"Items": [item], "LastEvaluatedKey": {"pk": item["pk"], "sk": item["sk"]}}


def test_no_more_is_read_than_allowed_and_the_reader_knows():
    days, reads, is_complete = DynamoInsights(PagedClient(), "tidegate").read(REPOSITORY, DATE, 3)
    assert (len(days), reads, is_complete) == (3, 3, False)
