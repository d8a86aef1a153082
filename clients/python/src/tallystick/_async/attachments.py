"""Attachments: files that transactions refer to by the SHA-256 of their bytes."""

from __future__ import annotations

import hashlib
import pathlib
from collections.abc import AsyncGenerator

from .._models import AttachmentChange, AttachmentView
from ..endpoint import PathLike
from ..errors import BadAnswer, ConnectionFailed, TimedOut, TransferFailed
from ..transfer import Progress, ProgressTo, SourceLike, Target, attachment_hash
from .io import call, sleep
from .operations import AsyncOperations
from .session import AsyncSession
from .uploads import AsyncUploads

__all__ = ["AsyncAttachments"]

#: Attachments on a page.
PAGE = 1000
#: Default size limit of `read`, in bytes.
READ_BYTES_MAX = 64 << 20


class AsyncAttachments:
    """The complete files of a node."""

    def __init__(self, session: AsyncSession, api: AsyncOperations) -> None:
        self._session = session
        self._api = api

    async def upload(
        self,
        source: SourceLike,
        *,
        name: str | None = None,
        media_type: str | None = None,
        progress: ProgressTo | None = None,
        resume: PathLike | None = None,
    ) -> AttachmentView:
        """Uploads a file, unless the node has it: a path, bytes, or an open seekable binary file.

        A lost connection does not abort the upload: it continues from the node's offset. With `resume`, the path of a small
        file that is written and removed here, it also continues after a restart of the program. `progress` is called with a
        `Progress` as bytes are sent. `name` (by default the path's own) and `media_type` are unchecked hints."""
        return await AsyncUploads(self._session, self._api).upload(source, name, media_type, progress, resume)

    async def download(self, sha256: str, to: PathLike, *, progress: ProgressTo | None = None) -> pathlib.Path:
        """Downloads a file to a path, or into a folder under its hash. After a failure the partial file stays next to the
        target, and the next try, also in another run of the program, continues from it. The file is moved to its target only
        when it is complete and its hash is right."""
        view = await self.get(sha256)
        target = await call(Target, to, view.hash)
        try:
            done = await call(target.resume, view.size)
            if progress is not None:
                progress(Progress(done, view.size))
            async for piece in self._ranges(view, done, view.size):
                await call(target.write, piece)
                if progress is not None:
                    progress(Progress(target.size, view.size))
            return await call(target.finish)
        finally:
            target.close()

    async def pieces(self, sha256: str, start: int = 0, stop: int | None = None) -> AsyncGenerator[bytes, None]:
        """Yields a file's bytes, or those from `start` up to `stop`, as they arrive. Continues automatically after a lost
        connection. Checks the hash of a whole file at its end and raises `TransferFailed` if it is wrong."""
        view = await self.get(sha256)
        stop = view.size if stop is None else min(stop, view.size)
        start = max(start, 0)
        digest = hashlib.sha256()
        async for piece in self._ranges(view, start, stop):
            digest.update(piece)
            yield piece
        if (start, stop) == (0, view.size) and digest.hexdigest() != view.hash:
            raise TransferFailed(f"the bytes that came are not those of {view.hash}")

    async def read(self, sha256: str, bytes_max: int = READ_BYTES_MAX) -> bytes:
        """Returns a whole file, which may not be larger than `bytes_max`."""
        found: list[bytes] = []
        size = 0
        async for piece in self.pieces(sha256):
            size += len(piece)
            if size > bytes_max:
                raise TransferFailed(f"the file is larger than {bytes_max} bytes", hint="Download it to a path.")
            found.append(piece)
        return b"".join(found)

    async def get(self, sha256: str) -> AttachmentView:
        """Returns the metadata of a file. Raises `NotFound`."""
        return await self._api.attachment(attachment_hash(sha256))

    async def find(
        self,
        *,
        name: str | None = None,
        media_type: str | None = None,
        trusted: bool | None = None,
        unreferenced: bool | None = None,
    ) -> AsyncGenerator[AttachmentView, None]:
        """Yields all files of the node, in order of hash. Filters: text in the name, the beginning of the media type,
        trusted or not, referenced by a recorded transaction or not."""
        after: str | None = None
        while True:
            page = await self._api.attachments(
                after=after, limit=PAGE, name=name, media_type=media_type, trusted=trusted, unreferenced=unreferenced
            )
            for one in page.attachments:
                yield one
            after = page.next
            if after is None:
                return

    async def trust(self, sha256: str, trusted: bool = True) -> AttachmentView:
        """Sets whether a user of this node vouches for a file."""
        return await self._api.trust_attachment(attachment_hash(sha256), AttachmentChange(trusted=trusted))

    async def remove(self, sha256: str) -> None:
        """Removes a file that no recorded transaction refers to."""
        await self._api.remove_attachment(attachment_hash(sha256))

    async def _ranges(self, view: AttachmentView, start: int, stop: int) -> AsyncGenerator[bytes, None]:
        """Yields the bytes from `start` up to `stop`; requests the rest again after an interruption."""
        losses = 0
        while start < stop:
            try:
                async for piece in self._range(view, start, stop):
                    losses = 0
                    start += len(piece)
                    yield piece
            except (ConnectionFailed, TimedOut) as error:
                losses += 1
                wait_s = self._session.retry.wait_s(error, spent_s=0.0, losses=losses, repeatable=True)
                if wait_s is None:
                    raise
                await sleep(wait_s)

    async def _range(self, view: AttachmentView, start: int, stop: int) -> AsyncGenerator[bytes, None]:
        whole = (start, stop) == (0, view.size)
        headers = {} if whole else {"range": f"bytes={start}-{stop - 1}", "if-range": f'"{view.hash}"'}
        path = f"/v1/attachments/{view.hash}/content"
        async with await self._session.open("GET", path, headers=headers) as answer:
            if answer.status != (200 if whole else 206):
                raise BadAnswer(f"a range was answered with {answer.status}")
            left = stop - start
            async for piece in answer.pieces():
                left -= len(piece)
                if left < 0:
                    raise BadAnswer("more bytes came than were asked for")
                yield piece
            if left:
                raise ConnectionFailed("fewer bytes came than were asked for")
