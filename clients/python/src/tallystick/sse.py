"""Parses server-sent events from bytes. A pure parser: it neither reads nor waits."""

from __future__ import annotations

from dataclasses import dataclass

from .errors import BadAnswer

__all__ = ["Parser", "ServerEvent"]

#: Maximum size of an event, in bytes; a vault's change with many states is the largest.
EVENT_BYTES_MAX = 64 << 20


@dataclass(frozen=True)
class ServerEvent:
    """One event. An event without a name and data only carries an id."""

    name: str
    data: str
    #: The last id so far, from this event or an earlier one.
    id: str


class Parser:
    """A parser from bytes to events."""

    def __init__(self) -> None:
        self._rest = bytearray()
        self._name = ""
        self._data: list[str] = []
        self._id = ""
        self._told = False
        self._size = 0

    def feed(self, data: bytes) -> list[ServerEvent]:
        """Returns the events that these bytes complete."""
        self._rest += data
        if len(self._rest) > EVENT_BYTES_MAX:
            raise BadAnswer("an event is larger than this client takes")
        lines = self._rest.split(b"\n")
        self._rest = lines.pop()
        found = []
        for line in lines:
            event = self._line(bytes(line.rstrip(b"\r")))
            if event is not None:
                found.append(event)
        return found

    def _line(self, line: bytes) -> ServerEvent | None:
        if not line:
            return self._end()
        if line.startswith(b":"):
            return None
        self._size += len(line)
        if self._size > EVENT_BYTES_MAX:
            raise BadAnswer("an event is larger than this client takes")
        try:
            key, _, value = line.decode("utf-8").partition(":")
        except UnicodeDecodeError as cause:
            raise BadAnswer("an event is not UTF-8") from cause
        value = value[1:] if value.startswith(" ") else value
        if key == "event":
            self._name = value
        elif key == "data":
            self._data.append(value)
        elif key == "id" and "\0" not in value:
            self._id, self._told = value, True
        return None

    def _end(self) -> ServerEvent | None:
        event = None
        if self._name or self._data or self._told:
            event = ServerEvent(self._name or "message", "\n".join(self._data), self._id)
        self._name, self._data, self._told, self._size = "", [], False, 0
        return event
