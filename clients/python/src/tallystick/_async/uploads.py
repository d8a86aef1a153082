"""Uploads: small files in one request, large ones in parts that survive a broken connection."""

from __future__ import annotations

import json
from collections.abc import AsyncIterator
from typing import Any
from urllib.parse import quote

from .._models import AttachmentView, NewUpload, UploadView
from ..endpoint import PathLike
from ..errors import Conflict, ConnectionFailed, Forbidden, NotFound, Problem, TallystickError, TimedOut
from ..transfer import PIECE_BYTES, Note, Progress, ProgressTo, Source, SourceLike
from .io import call, sleep
from .operations import AsyncOperations
from .session import AsyncSession

__all__ = ["AsyncUploads"]

#: Maximum size of a file that is sent in one request, which can be repeated as a whole.
SMALL_BYTES = 1 << 20
#: Size of the parts of larger files, so that a part takes much less time than a node allows for a body.
PART_BYTES = 8 << 20


class AsyncUploads:
    """Uploads files to a node."""

    def __init__(self, session: AsyncSession, api: AsyncOperations) -> None:
        self._session = session
        self._api = api

    async def upload(
        self,
        given: SourceLike,
        name: str | None,
        media_type: str | None,
        progress: ProgressTo | None,
        resume: PathLike | None,
    ) -> AttachmentView:
        """Uploads a file; sends nothing if the node has it."""
        source: Source = await call(Source, given)
        try:
            name = source.name if name is None else name
            sha256 = await call(source.sha256)
            note = Note(resume)
            view = await self._known(sha256)
            if view is None and source.size <= SMALL_BYTES:
                view = await self._whole(source, sha256, name, media_type)
            elif view is None:
                view = await self._in_parts(source, sha256, name, media_type, progress, note)
            await call(note.forget)
            if progress is not None:
                progress(Progress(source.size, source.size))
            return view
        finally:
            source.close()

    async def _known(self, sha256: str) -> AttachmentView | None:
        try:
            return await self._api.attachment(sha256)
        except (NotFound, Forbidden):
            return None

    async def _whole(self, source: Source, sha256: str, name: str | None, media_type: str | None) -> AttachmentView:
        query = {"name": name, "media_type": media_type, "sha256": sha256}
        headers = {"content-type": "application/octet-stream"}
        content = await call(source.read, 0, source.size)
        answer = await self._session.open("POST", "/v1/attachments", query=query, headers=headers, content=content, whole=True)
        return self._session.decoded(AttachmentView.from_json, json.loads(answer.body))

    async def _in_parts(
        self, source: Source, sha256: str, name: str | None, media_type: str | None, progress: ProgressTo | None, note: Note
    ) -> AttachmentView:
        """Begins or continues an upload, and completes it. Tolerates a few failures between parts that succeed."""
        begin = NewUpload(size=source.size, sha256=sha256, name=name, media_type=media_type)
        upload = await self._begun(note, sha256)
        losses = 0
        while True:
            try:
                if upload is None:
                    upload = await self._api.begin_upload(begin)
                    await call(note.write, sha256, upload.upload_id)
                while upload.offset < source.size:
                    upload = await self._part(source, upload, progress)
                    losses = 0
                return await self._complete(upload.upload_id)
            except NotFound:
                # The node forgot the upload, or a request completed it whose answer was lost.
                view = await self._known(sha256)
                if view is not None:
                    return view
                losses, upload = losses + 1, None
                if losses > self._session.retry.lost:
                    raise
            except TallystickError as error:
                if not is_interruption(error):
                    raise
                losses += 1
                as_lost = error if isinstance(error, (ConnectionFailed, TimedOut)) else ConnectionFailed(error.message)
                wait_s = self._session.retry.wait_s(as_lost, spent_s=0.0, losses=losses, repeatable=True)
                if wait_s is None:
                    raise
                await sleep(wait_s)
                if upload is not None:
                    upload = await self._state(upload.upload_id, upload)
                    if progress is not None and upload is not None:
                        progress(Progress(upload.offset, source.size))

    async def _begun(self, note: Note, sha256: str) -> UploadView | None:
        upload_id = await call(note.upload_of, sha256)
        return None if upload_id is None else await self._state(upload_id, None)

    async def _state(self, upload_id: str, known: UploadView | None) -> UploadView | None:
        """Returns the state of an upload. If the request fails, returns the last known state; the next part shows whether it
        is right."""
        try:
            return await self._api.upload_state(upload_id)
        except NotFound:
            return None
        except (ConnectionFailed, TimedOut):
            return known

    async def _part(self, source: Source, upload: UploadView, progress: ProgressTo | None) -> UploadView:
        size = min(PART_BYTES, source.size - upload.offset)
        start = upload.offset

        async def pieces() -> AsyncIterator[bytes]:
            offset = start
            while offset < start + size:
                piece = await call(source.read, offset, min(PIECE_BYTES, start + size - offset))
                yield piece
                offset += len(piece)
                if progress is not None:
                    progress(Progress(offset, source.size))

        headers = {"upload-offset": str(start), "content-type": "application/octet-stream"}
        path = f"/v1/uploads/{quote(upload.upload_id, safe='')}"
        answer = await self._session.open("PATCH", path, headers=headers, pieces=pieces, size=size, repeatable=False, whole=True)
        said: Any = json.loads(answer.body)
        return self._session.decoded(UploadView.from_json, said)

    async def _complete(self, upload_id: str) -> AttachmentView:
        path = f"/v1/uploads/{quote(upload_id, safe='')}/complete"
        return self._session.decoded(AttachmentView.from_json, await self._session.json("POST", path, repeatable=False))


def is_interruption(error: TallystickError) -> bool:
    """Whether an upload can continue after a request for its state: the connection broke, the bytes came too slowly, the
    node has another offset, or it still writes the data of an earlier request."""
    if isinstance(error, (ConnectionFailed, TimedOut)):
        return True
    if isinstance(error, Conflict) and error.code in ("api.upload_offset", "files.busy"):
        return True
    return isinstance(error, Problem) and error.code == "api.body_timeout"
