"""The address of a node and the credentials for it."""

from __future__ import annotations

import os
import pathlib
import ssl
import sys
from dataclasses import dataclass, field
from typing import Any, Union
from urllib.parse import urlsplit

from .errors import BadEndpoint

if sys.version_info >= (3, 11):
    import tomllib
else:
    import tomli as tomllib

__all__ = ["Endpoint", "Login", "PathLike"]

PathLike = Union[str, "os.PathLike[str]"]

#: Files in a node's folder: its settings, the network's root certificate, a token of its API.
CONFIG_FILE, ROOT_FILE, TOKEN_FILE = "node.toml", "root.pem", "api-token"
#: The name in every node's certificate, in addition to its party's.
SERVER_NAME = "localhost"
#: The default port.
PORT = 443
#: Maximum size of a root certificate or a token, in bytes.
FILE_BYTES_MAX = 1 << 20


@dataclass(frozen=True)
class Login:
    """A user's name and password. The client logs in when needed, and again when the login has expired."""

    user: str
    password: str = field(repr=False)
    #: The lifetime of each login, in seconds; the node's default if None.
    ttl_s: int | None = None


@dataclass(frozen=True)
class Endpoint:
    """A node's API.

    `token` is a token, and `login` a user who obtains one. Without either, only operations that need no token are available."""

    host: str
    port: int
    #: The network's root certificate, PEM.
    root_pem: str = field(repr=False)
    token: str | None = field(default=None, repr=False)
    login: Login | None = field(default=None, repr=False)
    #: The name that the node's certificate must bear.
    server_name: str = SERVER_NAME
    #: Further addresses of the same node: of its process on standby.
    others: tuple[tuple[str, int], ...] = ()

    @property
    def addresses(self) -> list[tuple[str, int]]:
        """All addresses, the first one first."""
        return [(self.host, self.port), *self.others]

    @classmethod
    def of_folder(cls, folder: PathLike) -> Endpoint:
        """Returns the node of a folder that `tally network bootstrap` made, with the token in it."""
        place = pathlib.Path(folder)
        path = place / CONFIG_FILE
        try:
            config: dict[str, Any] = tomllib.loads(_read(path))
            listen = config["api"]["listen"]
        except (tomllib.TOMLDecodeError, KeyError, TypeError) as cause:
            raise BadEndpoint(f"{path}: no api.listen can be read from it") from cause
        host, port = _host_and_port(str(listen))
        # A node that listens on all addresses is reached on this machine.
        host = {"0.0.0.0": "127.0.0.1", "::": "::1"}.get(host, host)  # noqa: S104
        return cls(host, port, _read(place / ROOT_FILE), _read(place / TOKEN_FILE).strip())

    @classmethod
    def of_url(
        cls,
        url: str,
        root: PathLike,
        *,
        token: str | None = None,
        token_file: PathLike | None = None,
        login: Login | None = None,
        server_name: str = SERVER_NAME,
    ) -> Endpoint:
        """Returns the node at `https://host:port`, or at `https://host:port,https://host2:port` if a process of it is on standby.
        `root` is the path of the network's root certificate, or its PEM text."""
        (host, port), *others = [_of_url(one.strip()) for one in url.split(",")]
        given = [one for one in (token, token_file, login) if one is not None]
        if len(given) > 1:
            raise BadEndpoint("give one of token, token_file and login")
        if token_file is not None:
            token = _read(pathlib.Path(token_file)).strip()
        root = os.fspath(root)
        pem = root if root.lstrip().startswith("-----BEGIN") else _read(pathlib.Path(root))
        return cls(host, port, pem, token, login, server_name, tuple(others))

    def tls(self) -> ssl.SSLContext:
        """A TLS context that trusts the network's root and nothing else."""
        context = ssl.SSLContext(ssl.PROTOCOL_TLS_CLIENT)
        context.minimum_version = ssl.TLSVersion.TLSv1_3
        context.set_alpn_protocols(["http/1.1"])
        try:
            context.load_verify_locations(cadata=self.root_pem)
        except (ssl.SSLError, ValueError) as cause:
            raise BadEndpoint(f"the root certificate does not parse: {cause}") from cause
        return context

    def authority(self) -> str:
        """Returns the form used in a `Host` header."""
        host = f"[{self.host}]" if ":" in self.host else self.host
        return f"{host}:{self.port}"

    def __str__(self) -> str:
        return f"https://{self.authority()}"


def _of_url(url: str) -> tuple[str, int]:
    parts = urlsplit(url)
    if parts.scheme != "https" or parts.path not in ("", "/") or parts.query or parts.username is not None:
        raise BadEndpoint(f"'{url}' is not of the form https://host:port")
    return _host_and_port(parts.netloc)


def _host_and_port(address: str) -> tuple[str, int]:
    parts = urlsplit("//" + address)
    try:
        host, port = parts.hostname, parts.port
    except ValueError as cause:
        raise BadEndpoint(f"'{address}' is not of the form host:port") from cause
    if not host:
        raise BadEndpoint(f"'{address}' names no host")
    return host, PORT if port is None else port


def _read(path: pathlib.Path) -> str:
    try:
        with path.open(encoding="utf-8") as file:
            text = file.read(FILE_BYTES_MAX + 1)
    except (OSError, UnicodeDecodeError) as cause:
        raise BadEndpoint(f"{path}: {cause}") from cause
    if len(text) > FILE_BYTES_MAX:
        raise BadEndpoint(f"{path} is too large to be what it should be")
    return text
