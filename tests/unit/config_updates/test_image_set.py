"""Which announcements are image sets, and what tells two of them apart."""

import pytest

from tidegate.config_updates.rules.image_set import InvalidImageSet, read_image_set

SHA = "7d1043473d55bfa90e8530d35801d4e381bc69f0"
DIGEST = "sha256:6a9ca693f6fff83215c00b653bcf2106124705ad538dc509373523fdd6cefdb4"


def _service(name: str = "docker.example.com/service1", tag: str = SHA, digest: str = DIGEST) -> dict[str, str]:
    return {"Tag": f"{name}:{tag}", "Digest": f"{name}@{digest}"}


def test_the_seeds_own_announcement_is_read():
    other = _service("localhost:5000/team/service2")
    read = read_image_set(SHA, {"Service2": other, "Service1": _service()})
    assert [image.service for image in read.images] == ["Service1", "Service2"]
    assert read.images[0].digest.endswith(DIGEST)


def test_the_same_images_have_one_digest_in_whatever_order_they_are_sent():
    one = read_image_set(SHA, {"a": _service(), "b": _service("docker.example.com/b")})
    two = read_image_set(SHA, {"b": _service("docker.example.com/b"), "a": _service()})
    assert one.digest == two.digest
    assert one.digest != read_image_set(SHA, {"a": _service()}).digest


@pytest.mark.parametrize(
    "body",
    [
        None,
        [],
        {},
        {"a": "image"},
        {"a": {"Tag": f"x:{SHA}"}},
        {"a": {**_service(), "More": ""}},
        {"a": {**_service(), "Tag": 7}},
        {"a\nAutocommit-Id: x": _service()},
        {"a": _service(tag="latest")},
        {"a": _service(digest="sha256:abc")},
        {"a": _service(digest=DIGEST.upper())},
        {"a": _service(name="x\n")},
        {"a": {"Tag": f"x:{SHA}", "Digest": f"y@{DIGEST}"}},
        {str(number): _service() for number in range(301)},
    ],
)
def test_what_names_no_images_of_the_commit_is_refused(body):
    with pytest.raises(InvalidImageSet):
        read_image_set(SHA, body)


@pytest.mark.parametrize("sha", ["", "7d10434", SHA.upper(), f"{SHA}\n", "main"])
def test_what_is_no_whole_commit_is_refused(sha):
    with pytest.raises(InvalidImageSet):
        read_image_set(sha, {"a": _service(tag=f"x{sha}")})
