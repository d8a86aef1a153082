"""Transfers with a node that changes its answers, or lies."""

from __future__ import annotations

import hashlib
import pathlib

import pytest
from conftest import FakeNode, http, problem

from tallystick import BadAnswer, BadEndpoint, Client, Invalid, Retry, TransferFailed
from tallystick.transfer import Note, Source, Target

DATA = bytes(range(256)) * 8192  # 2 MiB: goes in parts
HASH = hashlib.sha256(DATA).hexdigest()
VIEW = {"hash": HASH, "size": len(DATA), "name": "", "media_type": "", "trusted": True, "stored_at_ms": 1, "references": 0}
UNKNOWN = problem(404, "file.unknown")
QUICK = Retry(lost=2, lost_wait_s=0.001)


def upload(offset: int) -> dict[str, object]:
    return {"upload_id": "ab", "offset": offset, "expires_at_ms": 1, "size": len(DATA)}


def content(data: bytes, status: int = 200) -> bytes:
    return http(status, "").replace("content-length: 0", f"content-length: {len(data)}").encode() + data


def asked(fake: FakeNode) -> list[str]:
    return [" ".join(request.split()[:2]) for request in fake.requests]


def test_an_upload_goes_on_from_the_offset_that_the_node_has_in_mind(fake: FakeNode) -> None:
    fake.scripts = [
        fake.answers(UNKNOWN, http(201, upload(0)), problem(409, "api.upload_offset")),
        fake.answers(http(200, upload(len(DATA))), http(201, VIEW)),
    ]
    with Client(fake.endpoint, retry=QUICK) as client:
        assert client.attachments.upload(DATA).hash == HASH
    assert asked(fake)[2:] == ["PATCH /v1/uploads/ab", "GET /v1/uploads/ab", "POST /v1/uploads/ab/complete"]


def test_an_upload_that_is_completed_while_its_answer_is_lost_is_found(fake: FakeNode) -> None:
    gone = problem(404, "api.unknown_upload")
    fake.scripts = [
        fake.answers(UNKNOWN, http(201, upload(len(DATA))), ""),
        fake.answers(gone, http(201, upload(len(DATA))), gone, http(200, VIEW)),
    ]
    with Client(fake.endpoint, retry=QUICK) as client:
        assert client.attachments.upload(DATA).hash == HASH


def test_an_upload_that_is_refused_sends_no_bytes(fake: FakeNode) -> None:
    fake.scripts = [fake.answers(UNKNOWN, http(201, upload(0)), problem(413, "file.too_large"))]
    with Client(fake.endpoint, retry=QUICK) as client, pytest.raises(Invalid) as raised:
        client.attachments.upload(DATA)
    assert raised.value.code == "file.too_large"
    assert fake.requests[2].endswith("\n\n")


def test_an_upload_that_never_gets_further_ends(fake: FakeNode) -> None:
    fake.scripts = [fake.answers(UNKNOWN, http(201, upload(0)), "")] + [fake.answers(http(200, upload(0)), "")] * 9
    with Client(fake.endpoint, retry=QUICK) as client, pytest.raises(Exception, match="client.connection_lost"):
        client.attachments.upload(DATA)
    assert asked(fake).count("PATCH /v1/uploads/ab") == 3


def test_what_the_node_has_is_not_sent(fake: FakeNode) -> None:
    fake.scripts = [fake.answers(http(200, VIEW))]
    with Client(fake.endpoint, retry=QUICK) as client:
        assert client.attachments.upload(DATA).hash == HASH
    assert len(fake.requests) == 1


def test_other_bytes_than_asked_for_are_thrown_away(fake: FakeNode, tmp_path: pathlib.Path) -> None:
    fake.scripts = [fake.answers(http(200, VIEW), content(DATA[::-1]))]
    with Client(fake.endpoint, retry=QUICK) as client, pytest.raises(TransferFailed):
        client.attachments.download(HASH, tmp_path / "out")
    assert list(tmp_path.iterdir()) == []


def test_more_bytes_than_asked_for_are_refused(fake: FakeNode, tmp_path: pathlib.Path) -> None:
    fake.scripts = [fake.answers(http(200, VIEW), content(DATA + b"more"))]
    with Client(fake.endpoint, retry=QUICK) as client, pytest.raises(BadAnswer):
        client.attachments.download(HASH, tmp_path / "out")
    assert not (tmp_path / "out").exists()


def test_a_range_that_is_not_given_is_refused(fake: FakeNode) -> None:
    fake.scripts = [fake.answers(http(200, VIEW), content(DATA, 200))]
    with Client(fake.endpoint, retry=QUICK) as client, pytest.raises(BadAnswer):
        next(client.attachments.pieces(HASH, 5, 9))


def test_a_file_that_shrinks_while_it_is_read_is_noticed(tmp_path: pathlib.Path) -> None:
    path = tmp_path / "f"
    path.write_bytes(b"123456")
    source = Source(path)
    path.write_bytes(b"12")
    with pytest.raises(TransferFailed):
        source.sha256()
    source.close()


def test_a_part_that_is_a_link_is_not_followed(tmp_path: pathlib.Path) -> None:
    (tmp_path / f".out.{HASH[:16]}.part").symlink_to(tmp_path / "elsewhere")
    with pytest.raises(BadEndpoint):
        Target(tmp_path / "out", HASH)
    assert not (tmp_path / "elsewhere").exists()


@pytest.mark.parametrize("text", ["", "{", "[]", '{"sha256":"other","upload_id":"ab"}', '{"sha256":1}', "x" * 9999])
def test_a_note_that_is_none_begins_anew(tmp_path: pathlib.Path, text: str) -> None:
    (tmp_path / "note").write_text(text)
    assert Note(tmp_path / "note").upload_of(HASH) is None


def test_a_note_is_for_the_same_bytes_only(tmp_path: pathlib.Path) -> None:
    note = Note(tmp_path / "note")
    note.write(HASH, "ab")
    assert note.upload_of(HASH) == "ab"
    assert note.upload_of("0" * 64) is None
    note.forget()
    note.forget()
    assert list(tmp_path.iterdir()) == []
