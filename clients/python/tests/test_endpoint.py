"""Addresses of nodes."""

from __future__ import annotations

import dataclasses
import pathlib

import pytest

from tallystick import BadEndpoint, Client, Endpoint, Login, models


def write(folder: pathlib.Path, listen: str) -> pathlib.Path:
    (folder / "node.toml").write_text(f'[api]\nlisten = "{listen}"\n')
    (folder / "root.pem").write_text("-----BEGIN CERTIFICATE-----\n")
    (folder / "api-token").write_text("abc\n")
    return folder


@pytest.mark.parametrize(
    ("listen", "reached"),
    [
        ("127.0.0.1:7200", "https://127.0.0.1:7200"),
        ("0.0.0.0:7200", "https://127.0.0.1:7200"),
        ("[::]:7200", "https://[::1]:7200"),
        ("node.example:7200", "https://node.example:7200"),
    ],
)
def test_a_folder_says_where_its_node_is(tmp_path: pathlib.Path, listen: str, reached: str) -> None:
    found = Endpoint.of_folder(write(tmp_path, listen))
    assert str(found) == reached
    assert found.token == "abc"


@pytest.mark.parametrize(
    ("url", "addresses"),
    [
        ("https://a:1", [("a", 1)]),
        ("https://a:1,https://b:2", [("a", 1), ("b", 2)]),
        ("https://a:1, https://b", [("a", 1), ("b", 443)]),
    ],
)
def test_a_node_with_a_process_on_standby_has_several_addresses(url: str, addresses: list[tuple[str, int]]) -> None:
    assert Endpoint.of_url(url, "-----BEGIN CERTIFICATE-----", token="t").addresses == addresses


@pytest.mark.parametrize(
    "url",
    [
        "https://a:1,",
        "https://a:1,http://b:2",
        "https://a:1,b:2",
        "http://node:1",
        "https://",
        "https://u@node",
        "https://node:99999",
        "https://node/v1",
        "node",
    ],
)
def test_an_address_that_makes_no_sense_is_refused(tmp_path: pathlib.Path, url: str) -> None:
    with pytest.raises(BadEndpoint):
        Client(url, root=write(tmp_path, "x:1") / "root.pem")


def test_a_folder_without_a_node_is_refused(tmp_path: pathlib.Path) -> None:
    with pytest.raises(BadEndpoint, match=r"node\.toml"):
        Client(tmp_path)


@pytest.mark.parametrize(
    "holder",
    [
        Endpoint("h", 1, "pem", "hush"),
        Endpoint("h", 1, "pem", login=Login("ann", "hush")),
        Login("ann", "hush"),
        models.Login(user="ann", password="hush"),
        models.LoggedIn(token="hush", expires_ms=1),
        models.NewUser(name="ann", password="hush"),
        models.UserChange(password="hush"),
    ],
)
def test_secrets_are_not_shown(holder: object) -> None:
    assert "hush" not in repr(holder)


def test_no_model_shows_a_field_named_like_a_secret() -> None:
    records = [record for record in vars(models).values() if dataclasses.is_dataclass(record)]
    fields = [one for record in records for one in dataclasses.fields(record)]
    named = [one for one in fields if one.name in ("password", "passphrase", "secret", "seed") and "str" in str(one.type)]
    assert len(named) >= 3
    assert [one.name for one in named if one.repr] == []


def test_a_client_with_a_token_does_not_show_it(folders: pathlib.Path) -> None:
    with Client("https://127.0.0.1:1", root=folders / "bank-a" / "root.pem", token="hush") as client:
        assert "hush" not in repr(client) + repr(client.endpoint)


def test_a_root_that_is_no_certificate_is_refused(folders: pathlib.Path) -> None:
    with pytest.raises(BadEndpoint, match="root certificate"):
        Client("https://127.0.0.1:1", root="-----BEGIN CERTIFICATE-----\nnonsense", token="t")


def test_one_way_in_is_enough(folders: pathlib.Path) -> None:
    with pytest.raises(BadEndpoint, match="one of"):
        Client("https://127.0.0.1:1", root=folders / "bank-a" / "root.pem", token="t", login=Login("a", "b"))


def test_a_token_cannot_smuggle_a_header(folders: pathlib.Path) -> None:
    with pytest.raises(BadEndpoint, match="token"):
        Client("https://127.0.0.1:1", root=folders / "bank-a" / "root.pem", token="t\r\nx: y")
