"""Server-sent events from bytes."""

from __future__ import annotations

import pytest

from tallystick import BadAnswer
from tallystick.sse import EVENT_BYTES_MAX, Parser, ServerEvent

STREAM = (
    b': heartbeat\n\nevent: state\ndata: {"a":1}\n\nevent: step\r\nid: 7\r\ndata: {"b":\r\ndata: 2}\r\n\r\n'
    b"id: 9\n\nfield-that-nobody-knows\nretry: 5\ndata:x\n\n"
)
EVENTS = [
    ServerEvent("state", '{"a":1}', ""),
    ServerEvent("step", '{"b":\n2}', "7"),
    ServerEvent("message", "", "9"),
    ServerEvent("message", "x", "9"),
]


@pytest.mark.parametrize("size", [1, 2, 3, 7, 1000])
def test_events_are_the_same_however_their_bytes_arrive(size: int) -> None:
    parser = Parser()
    found = [event for at in range(0, len(STREAM), size) for event in parser.feed(STREAM[at : at + size])]
    assert found == EVENTS


def test_an_event_that_was_not_ended_is_none() -> None:
    assert Parser().feed(b"event: end\ndata: 1\n") == []


def test_what_is_not_text_is_refused() -> None:
    with pytest.raises(BadAnswer):
        Parser().feed(b"data: \xff\n\n")


def test_an_event_without_end_is_refused_and_not_kept() -> None:
    parser = Parser()
    with pytest.raises(BadAnswer):
        parser.feed(b"data: " + bytes(EVENT_BYTES_MAX))
