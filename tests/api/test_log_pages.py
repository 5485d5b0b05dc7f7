"""What log pages, their lines and raw logs show, and how large they may be."""

from __future__ import annotations

import gzip
import json
import random
from base64 import b64decode
from dataclasses import replace

import pytest

from tests.api.calls import REPOSITORY, prepare
from tests.api.scenario import Client
from tests.builders import any_job, any_replay_job, deployment_in
from tests.functions.wires import Context
from tidegate.config_updates.rules.queue import Replaying, ReplayReason
from tidegate.deploys.rules.job import log_key
from tidegate.deploys.rules.state import State
from tidegate.vcs.rules.headline import Headline


def log_of(wires, *lines, state=State.APPLYING, kind="plan"):
    one = wires.deployed(deployment_in(state))
    job = f"{one.id}-{kind}-1"
    wires.artifacts.put(log_key(job), "".join(f"{line}\n" for line in lines).encode())
    return job


def test_a_log_is_shown_with_colours_and_links_to_its_lines(wires, browser):
    job = log_of(wires, "plain", "\x1b[1;31mError\x1b[0m: no", "Error: this", "a < b")
    body = browser.get(f"/jobs/{job}").body
    assert 'id="L2"' in body
    assert 'href="#L2"' in body
    assert '<span class="bold fg1">Error</span>: no' in body
    assert '<span class="bold fg1">Error: this</span>' in body
    assert "a &lt; b" in body
    assert "data-ended" in body


def test_a_log_says_what_is_deployed_and_who_made_it(wires, browser):
    told = Headline("Merge #12", "developer", "", 12, "Grow it")
    one = wires.deployed(deployment_in(State.APPLYING, headline=told))
    wires.artifacts.put(log_key(f"{one.id}-plan-1"), b"a line\n")
    assert "deployment of Grow it #12 by developer : applying" in browser.get(f"/jobs/{one.id}-plan-1").text


def test_a_job_that_has_not_started_waits_for_a_runner(wires, browser):
    names = prepare(wires)
    one = wires.deployed(deployment_in(State.PLANNING, 5))
    wires.jobs.create(any_job(id=f"{one.id}-plan-1", deployment=one.id))
    assert "Waiting for a runner" in browser.get(f"/jobs/{one.id}-plan-1").text
    assert browser.get(f"/jobs/{names['id']}-plan-9").status == 404
    assert browser.get("/jobs/never-was-plan-1").status == 404


def test_the_script_asks_for_lines_from_where_it_is(wires, browser):
    job = log_of(wires, "a", "\x1b[32mb\x1b[0m")
    page = browser.get(f"/jobs/{job}/lines?after=1").json
    assert page == {"state": "ended", "start": 1, "lines": [[["b", "fg2"]]], "next": 2, "ended": True}
    assert Client(wires).get(f"/jobs/{job}/lines?after=1").json["error"]["code"] == "not_signed_in"


@pytest.mark.parametrize("after", ["-1", "x", "1e9", "", "99999999999999", "0" * 12 + "9" * 5000, "\u0661"])
def test_a_line_number_that_is_none_is_refused(wires, browser, after):
    job = log_of(wires, "a")
    assert browser.get(f"/jobs/{job}/lines?after={after}").status == 400


def test_without_scripts_a_long_log_is_read_page_by_page(wires, browser):
    names = prepare(wires)
    job = log_of(wires, *map(str, range(2500)))
    body = browser.get(f"/jobs/{job}").body
    assert (body.count('class="l"'), f'href="/jobs/{job}?after=2000"' in body) == (2000, True)
    rest = browser.get(f"/jobs/{job}?after=2000").body
    assert ('id="L2001"' in rest, 'id="L2500"' in rest) == (True, True)
    assert names


def test_a_raw_log_is_taken_away_as_a_file(wires, browser):
    job = log_of(wires, "<b>bold</b>")
    answer = browser.get(f"/jobs/{job}/raw")
    assert answer.body == "<b>bold</b>\n"
    assert answer.headers["content-type"] == "text/plain; charset=utf-8"
    assert answer.headers["content-disposition"] == f'attachment; filename="{job}.txt"'


def test_a_large_raw_log_is_compressed_or_refused_with_what_to_do(wires, browser):
    job = log_of(wires, *["all the same"] * 500_000)
    packed = browser.get(f"/jobs/{job}/raw", accept_encoding="gzip, br")
    assert packed.headers["content-encoding"] == "gzip"
    assert gzip.decompress(b64decode(packed.body)).count(b"all the same\n") == 500_000
    assert len(packed.body) < 6_000_000
    plain = browser.get(f"/jobs/{job}/raw")
    assert (plain.status, "curl --compressed" in plain.text) == (413, True)


def test_a_raw_log_that_does_not_fit_even_compressed_is_refused_with_where_to_read_it(wires, browser):
    chosen = random.Random(1)
    job = log_of(wires, *(chosen.randbytes(60).hex() for _ in range(80_000)))
    refused = browser.get(f"/jobs/{job}/raw", accept_encoding="gzip")
    shown = gzip.decompress(b64decode(refused.body)).decode()
    assert (refused.status, f"tidegate logs {job}" in shown) == (413, True)


#: Lines that grow when they are escaped: once for the page or its script, once more for the function's answer.
GROWING = {
    "letters beyond ASCII": "\u6f22" * 500,
    "beyond the basic plane": "\U0001f30a" * 500,
    "quotes": '"\\' * 250,
    "markup": "<&>" * 170,
    "colours": "".join(f"\x1b[1;2;3;4;9;3{number % 8}m." for number in range(60)),
}


@pytest.mark.parametrize("line", GROWING.values(), ids=GROWING)
@pytest.mark.parametrize(
    ("path", "lines"),
    [("/jobs/{}", 3000), ("/jobs/{}/lines", 3000), ("/jobs/{}/raw", 20_000), ("/api/v1/jobs/{}/log", 3000)],
    ids=["page", "lines", "raw", "API"],
)
def test_no_log_makes_an_answer_that_is_larger_than_a_function_may_give(wires, browser, reviewer, path, lines, line):
    job = log_of(wires, *[line] * lines)
    client = reviewer if path.startswith("/api") else browser
    event = client.event("GET", path.format(job), None, {"accept-encoding": "gzip"})
    answer = wires.web.answer(event, Context())
    assert (answer["statusCode"], len(json.dumps(answer)) < 6_291_556) == (200, True)


def test_all_lines_of_a_log_are_shown_however_they_grow(wires, browser):
    lines = [line for line in GROWING.values() for _ in range(500)]
    job, after, shown, ended = log_of(wires, *lines), 0, 0, False
    while not ended:
        page = browser.get(f"/jobs/{job}/lines?after={after}").json
        assert page["start"] == after
        after, shown, ended = page["next"], shown + len(page["lines"]), page["ended"]
    assert (after, shown) == (2500, 2500)


def test_a_ten_megabyte_log_stays_small_on_the_wire(wires, browser):
    chosen = random.Random(1)
    job = log_of(wires, *(f"{chosen.random()} <&> \x1b[31mred\x1b[0m" for _ in range(250_000)))
    first = browser.get(f"/jobs/{job}")
    lines = browser.get(f"/jobs/{job}/lines?after=200000")
    assert len(first.body) < 1_000_000
    assert len(json.dumps(lines.json)) < 1_000_000
    assert lines.json["next"] == 202_000


def test_the_log_of_a_replay_is_for_those_who_may_read_the_config_repository(wires, browser):
    job = any_replay_job(REPOSITORY)
    wires.jobs.create(job)
    wires.artifacts.put(log_key(job.id), b"chore\n")
    page = browser.get(f"/jobs/{job.id}")
    assert "Replay <" in page.body
    assert "The commands of a config update" in page.body
    assert "chore" in page.body
    assert (browser.get(f"/jobs/{job.id}/lines").json["state"]) == "ended"
    assert Client(wires).sign_in("stranger").get(f"/jobs/{job.id}").status == 404


def test_the_log_of_a_replay_in_progress_is_followed(wires, browser):
    job = any_replay_job(REPOSITORY)
    wires.jobs.create(job)
    head = wires.ports.config_updates.head(REPOSITORY)
    replaying = Replaying(job.id, ReplayReason.APPLY, job.sha, job.sha, job.sha, ("entry",))
    wires.ports.config_updates.commit(head, replace(head, replaying=replaying))
    assert "Waiting for a runner" in browser.get(f"/jobs/{job.id}").text
