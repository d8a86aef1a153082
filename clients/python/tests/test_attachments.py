"""Transfers of files over lines that break, with real nodes."""

from __future__ import annotations

import asyncio
import hashlib
import io
import pathlib
import random
from collections.abc import Iterator

import pytest
from conftest import Network
from line import Break, Line

from tallystick import (
    AsyncClient,
    Client,
    Conflict,
    Endpoint,
    Forbidden,
    Invalid,
    NotFound,
    Progress,
    Retry,
    TransferFailed,
    models,
)
from tallystick.errors import Problem

BANK_B = "O=Bank B, L=New York, C=US"
MIB = 1 << 20
PATIENT = Retry(lost=6, lost_wait_s=0.01)


def some_bytes(seed: int, size: int) -> bytes:
    return random.Random(seed).randbytes(size)


def sha256(data: bytes) -> str:
    return hashlib.sha256(data).hexdigest()


@pytest.fixture
def line(network: Network) -> Iterator[Line]:
    found = Line(Endpoint.of_folder(network.bank_a))
    yield found
    found.close()


@pytest.mark.parametrize("size", [0, 1, 70_000, MIB, MIB + 1, 20 * MIB + 7])
def test_a_file_comes_back_as_it_went(network: Network, tmp_path: pathlib.Path, size: int) -> None:
    data = some_bytes(size, size)
    (tmp_path / "in.bin").write_bytes(data)
    seen: list[Progress] = []
    with Client(network.bank_a) as bank:
        view = bank.attachments.upload(tmp_path / "in.bin", media_type="application/octet-stream", progress=seen.append)
        assert (view.hash, view.size, view.name, view.trusted) == (sha256(data), size, "in.bin", True)
        assert seen[-1] == Progress(size, size)
        assert seen == sorted(seen, key=lambda one: one.done)
        again = bank.attachments.upload(io.BytesIO(data), name="other.bin")
        assert again.hash == view.hash
        place = bank.attachments.download(view.hash, tmp_path, progress=seen.append)
        assert place.name == view.hash
        assert place.read_bytes() == data
        assert seen[-1].done == size
        assert bank.attachments.read(view.hash) == data
        if size > 9:
            assert b"".join(bank.attachments.pieces(view.hash, 3, 9)) == data[3:9]
        assert [path.name for path in tmp_path.iterdir()].count("in.bin") == 1
        assert not list(tmp_path.glob(".*.part"))
        bank.attachments.remove(view.hash)
        with pytest.raises(NotFound):
            bank.attachments.get(view.hash)


def test_a_file_comes_back_asynchronously(network: Network, tmp_path: pathlib.Path) -> None:
    files = [some_bytes(seed, 3 * MIB + seed) for seed in range(4)]

    async def there_and_back() -> list[bytes]:
        async with AsyncClient(network.bank_a) as bank:
            views = await asyncio.gather(*(bank.attachments.upload(data) for data in files))
            return list(await asyncio.gather(*(bank.attachments.read(view.hash) for view in views)))

    assert asyncio.run(there_and_back()) == files


def test_an_upload_goes_on_where_the_line_broke(line: Line, tmp_path: pathlib.Path) -> None:
    data = some_bytes(1, 30 * MIB)
    line.breaks = [Break(up=11 * MIB), Break(up=9 * MIB), Break(down=6000)]
    with Client(line.endpoint, retry=PATIENT) as bank:
        view = bank.attachments.upload(data, name="broken.bin", resume=tmp_path / "note")
        assert view.hash == sha256(data)
        assert line.bytes_up < len(data) + 12 * MIB
        assert line.connections >= 3
        assert not (tmp_path / "note").exists()
        bank.attachments.remove(view.hash)


def test_a_download_goes_on_where_the_line_broke(line: Line, tmp_path: pathlib.Path) -> None:
    data = some_bytes(2, 30 * MIB)
    with Client(line.endpoint, retry=PATIENT) as bank:
        view = bank.attachments.upload(data)
        before = line.bytes_down
        bank._session.pool.close()
        line.breaks = [Break(down=11 * MIB), Break(down=9 * MIB), Break(down=100)]
        bank.attachments.download(view.hash, tmp_path / "out.bin")
        assert (tmp_path / "out.bin").read_bytes() == data
        assert line.bytes_down - before < len(data) + 4 * MIB
        bank.attachments.remove(view.hash)


def test_another_run_of_the_program_goes_on_with_an_upload(network: Network, line: Line, tmp_path: pathlib.Path) -> None:
    data = some_bytes(3, 24 * MIB)
    line.breaks = [Break(up=13 * MIB)]
    with Client(line.endpoint, retry=Retry(lost=0)) as bank, pytest.raises(Exception, match=r"client\."):
        bank.attachments.upload(data, resume=tmp_path / "note")
    assert (tmp_path / "note").exists()
    fresh = Line(Endpoint.of_folder(network.bank_a))
    with Client(fresh.endpoint) as bank:
        assert bank.attachments.upload(data, resume=tmp_path / "note").hash == sha256(data)
        bank.attachments.remove(sha256(data))
    fresh.close()
    assert fresh.bytes_up < 13 * MIB
    assert not (tmp_path / "note").exists()


def test_another_run_of_the_program_goes_on_with_a_download(network: Network, line: Line, tmp_path: pathlib.Path) -> None:
    data = some_bytes(4, 24 * MIB)
    with Client(network.bank_a) as bank:
        view = bank.attachments.upload(data)
    line.breaks = [Break(down=13 * MIB)]
    with Client(line.endpoint, retry=Retry(lost=0)) as bank, pytest.raises(Exception, match=r"client\."):
        bank.attachments.download(view.hash, tmp_path / "out.bin")
    assert not (tmp_path / "out.bin").exists()
    fresh = Line(Endpoint.of_folder(network.bank_a))
    with Client(fresh.endpoint) as bank:
        bank.attachments.download(view.hash, tmp_path / "out.bin")
        bank.attachments.remove(view.hash)
    fresh.close()
    assert fresh.bytes_down < 13 * MIB
    assert (tmp_path / "out.bin").read_bytes() == data


def test_a_part_that_was_tampered_with_is_thrown_away(network: Network, tmp_path: pathlib.Path) -> None:
    data = some_bytes(5, 2 * MIB)
    with Client(network.bank_a) as bank:
        view = bank.attachments.upload(data)
        part = tmp_path / f".out.bin.{view.hash[:16]}.part"
        part.write_bytes(b"something else")
        with pytest.raises(TransferFailed):
            bank.attachments.download(view.hash, tmp_path / "out.bin")
        assert list(tmp_path.iterdir()) == []
        bank.attachments.download(view.hash, tmp_path / "out.bin")
        bank.attachments.remove(view.hash)


def test_an_upload_survives_the_death_of_the_node(network: Network, line: Line) -> None:
    data = some_bytes(6, 24 * MIB)
    killed: list[int] = []

    def kill(progress: Progress) -> None:
        if progress.done > 12 * MIB and not killed:
            killed.append(progress.done)
            network.restart("bank-a")

    with Client(network.bank_a, retry=Retry(lost=100, wait_s_max=0.2)) as bank:
        assert bank.attachments.upload(data, progress=kill).hash == sha256(data)
        assert killed
        bank.attachments.remove(sha256(data))


def test_a_shared_document_arrives_with_its_file(network: Network, tmp_path: pathlib.Path) -> None:
    data = some_bytes(7, 5 * MIB)
    with Client(network.bank_a) as a, Client(network.bank_b) as b:
        view = a.attachments.upload(data, name="deed.pdf", media_type="application/pdf")
        args = {"to": BANK_B, "attachment": view.hash, "title": "a deed"}
        shared = a.run("document.share", args, wait="delivered", timeout_s=120)
        assert shared.status == "delivered"
        got = b.attachments.get(view.hash)
        assert (got.size, got.name, got.media_type, got.trusted) == (len(data), "deed.pdf", "application/pdf", False)
        assert b.attachments.read(view.hash) == data
        assert [one.hash for one in b.attachments.find(name="DEED", trusted=False)] == [view.hash]
        assert b.attachments.trust(view.hash).trusted
        assert [one.hash for one in b.attachments.find(name="deed", trusted=False)] == []
        with pytest.raises(Conflict) as raised:
            b.attachments.remove(view.hash)
        assert raised.value.code == "file.referenced"


def test_who_may_not_upload_is_told(network: Network) -> None:
    with Client(network.bank_a) as admin:
        admin.api.add_user(models.NewUser(name="carl", permissions=["attachments.read"]))
        token = admin.api.add_token("carl", models.NewToken(days=1)).token
        address = str(admin.endpoint)
    with Client(address, root=network.bank_a / "root.pem", token=token) as carl:
        with pytest.raises(Forbidden):
            carl.attachments.upload(b"x")
        with pytest.raises(Forbidden):
            carl.attachments.upload(bytes(3 * MIB))
        with pytest.raises(NotFound):
            carl.attachments.get("0" * 64)


@pytest.mark.parametrize("name", ["../x", "a/b", "", "a\nb", "n" * 256])
def test_names_that_lead_somewhere_are_refused(network: Network, name: str) -> None:
    with Client(network.bank_a) as bank, pytest.raises((Invalid, Problem)):
        bank.attachments.upload(b"a file with a bad name", name=name)


def test_a_hash_that_is_none_asks_nothing(network: Network, tmp_path: pathlib.Path) -> None:
    with Client(network.bank_a) as bank:
        for word in ("", "../../etc/passwd", "A" * 64, "0" * 63):
            with pytest.raises(TransferFailed):
                bank.attachments.download(word, tmp_path / "x")
    assert list(tmp_path.iterdir()) == []
