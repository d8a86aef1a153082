"""Shared logic of both clients about files: the sources and targets of bytes. It blocks on disks, never on networks."""

from __future__ import annotations

import hashlib
import io
import json
import os
import pathlib
import re
import threading
from collections.abc import Callable
from dataclasses import dataclass
from typing import IO, Union

from .endpoint import PathLike
from .errors import BadEndpoint, TransferFailed

__all__ = ["Note", "Progress", "ProgressTo", "Source", "SourceLike", "Target", "attachment_hash"]

#: Size of the pieces read from disk, in bytes.
PIECE_BYTES = 1 << 20
#: Maximum size of an upload's note, in bytes.
NOTE_BYTES_MAX = 4096

#: A path, the bytes themselves, or an open seekable binary file.
SourceLike = Union[PathLike, bytes, bytearray, memoryview, IO[bytes]]


@dataclass(frozen=True)
class Progress:
    """The progress of a transfer."""

    #: Bytes transferred, including those of an earlier try.
    done: int
    total: int

    @property
    def share(self) -> float:
        """The share of the bytes, from 0 to 1."""
        return self.done / self.total if self.total else 1.0


ProgressTo = Callable[[Progress], object]


def attachment_hash(text: str) -> str:
    """Returns the hash of an attachment: 64 lower-case hexadecimal digits."""
    if not re.fullmatch("[0-9a-f]{64}", text):
        raise TransferFailed(
            f"'{text[:80]}' is no hash of an attachment",
            code="api.bad_parameter",
            hint="Give 64 hexadecimal digits, small letters.",
        )
    return text


class Source:
    """A file to upload. Its bytes must not change meanwhile; the node detects a change."""

    def __init__(self, given: SourceLike) -> None:
        self._owned = False
        self.name: str | None = None
        self._lock = threading.Lock()
        if isinstance(given, (bytes, bytearray, memoryview)):
            self._file: IO[bytes] = io.BytesIO(given)
        elif isinstance(given, (str, os.PathLike)):
            path = pathlib.Path(given)
            self._file = path.open("rb")
            self._owned, self.name = True, path.name
        else:
            self._file = given
        self._start = self._file.tell()
        self.size = self._file.seek(0, os.SEEK_END) - self._start

    def read(self, offset: int, length: int) -> bytes:
        """Returns bytes from an offset on; fewer only at the end."""
        with self._lock:
            self._file.seek(self._start + offset)
            data = self._file.read(min(length, self.size - offset))
        if not data and offset < self.size:
            raise TransferFailed(
                f"the file ended at byte {offset} of {self.size}", hint="Do not change a file while it is uploaded."
            )
        return data

    def sha256(self) -> str:
        """Returns the hash of the whole file."""
        digest, offset = hashlib.sha256(), 0
        while offset < self.size:
            piece = self.read(offset, PIECE_BYTES)
            digest.update(piece)
            offset += len(piece)
        return digest.hexdigest()

    def close(self) -> None:
        """Closes the file if it was opened here."""
        if self._owned:
            self._file.close()


class Note:
    """A small file that remembers an upload across restarts of the program."""

    def __init__(self, path: PathLike | None) -> None:
        self._path = None if path is None else pathlib.Path(path)

    def upload_of(self, sha256: str) -> str | None:
        """Returns the id of the upload that was begun for these bytes, if there is one."""
        if self._path is None:
            return None
        try:
            with self._path.open(encoding="utf-8") as file:
                said = json.loads(file.read(NOTE_BYTES_MAX))
            same = said["sha256"] == sha256
            return str(said["upload_id"]) if same else None
        except (OSError, ValueError, KeyError, TypeError):
            return None

    def write(self, sha256: str, upload_id: str) -> None:
        """Remembers an upload."""
        if self._path is not None:
            fresh = self._path.with_name(self._path.name + ".new")
            fresh.write_text(json.dumps({"sha256": sha256, "upload_id": upload_id}), encoding="utf-8")
            os.replace(fresh, self._path)

    def forget(self) -> None:
        """Deletes the note when the upload is over."""
        if self._path is not None:
            self._path.unlink(missing_ok=True)


class Target:
    """A file to download. The partial file stays next to the target until it is complete and has the right hash."""

    def __init__(self, place: PathLike, sha256: str) -> None:
        path = pathlib.Path(place)
        self.path = path / sha256 if path.is_dir() else path
        self._sha256 = sha256
        self._part = self.path.with_name(f".{self.path.name[:100]}.{sha256[:16]}.part")
        try:
            # Opened without following links. An existing partial file is from an earlier try.
            flags = os.O_RDWR | os.O_CREAT | getattr(os, "O_NOFOLLOW", 0) | getattr(os, "O_BINARY", 0)
            self._file = os.fdopen(os.open(self._part, flags, 0o666), "r+b")
        except OSError as cause:
            raise BadEndpoint(f"{self._part}: {cause}", code="client.file", hint="Name a place that can be written.") from cause
        self._digest = hashlib.sha256()
        self.size = 0

    def resume(self, size: int) -> int:
        """Takes over the partial file of an earlier try, for a file of `size` bytes, and returns its length."""
        self._file.seek(0)
        while self.size < size:
            piece = self._file.read(min(PIECE_BYTES, size - self.size))
            if not piece:
                break
            self._digest.update(piece)
            self.size += len(piece)
        self._file.truncate(self.size)
        return self.size

    def write(self, data: bytes) -> None:
        """Appends bytes."""
        self._file.write(data)
        self._digest.update(data)
        self.size += len(data)

    def finish(self) -> pathlib.Path:
        """Moves the file to its target if its hash is right."""
        if self._digest.hexdigest() != self._sha256:
            self._file.close()
            self._part.unlink(missing_ok=True)
            raise TransferFailed(f"the bytes that came are not those of {self._sha256}")
        self._file.flush()
        os.fsync(self._file.fileno())
        self._file.close()
        os.replace(self._part, self.path)
        return self.path

    def close(self) -> None:
        """Keeps the partial file for the next try."""
        self._file.close()
