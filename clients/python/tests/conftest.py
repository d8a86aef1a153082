"""A network of real processes, and a fake node that misbehaves."""

from __future__ import annotations

import contextlib
import json
import os
import pathlib
import socket
import ssl
import subprocess
import threading
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field

import pytest

from tallystick import Endpoint

ROOT = pathlib.Path(__file__).resolve().parents[3]
TALLY = pathlib.Path(os.environ.get("TALLY", ROOT / "target" / "release" / "tally"))
#: Maximum time for a node to start, in seconds.
START_S = 120


@dataclass
class Network:
    """The folders of a notary and two banks, and their running processes."""

    folder: pathlib.Path
    processes: dict[str, subprocess.Popen[str]] = field(default_factory=dict)

    @property
    def bank_a(self) -> pathlib.Path:
        return self.folder / "bank-a"

    @property
    def bank_b(self) -> pathlib.Path:
        return self.folder / "bank-b"

    def start(self, name: str) -> None:
        folder = self.folder / name
        with (folder / "log.txt").open("ab") as log:
            node = subprocess.Popen([TALLY, "node", "run", folder], stdout=subprocess.PIPE, stderr=log, text=True)
        self.processes[name] = node
        assert node.stdout is not None
        killer = threading.Timer(START_S, node.kill)
        killer.start()
        line = node.stdout.readline()
        killer.cancel()
        assert line, (folder / "log.txt").read_text()
        json.loads(line)

    def kill(self, name: str) -> None:
        node = self.processes.pop(name)
        node.kill()
        node.wait()
        assert node.stdout is not None
        node.stdout.close()

    def restart(self, name: str) -> None:
        self.kill(name)
        self.start(name)

    def tally(self, *words: str | pathlib.Path, **more: str) -> str:
        done = subprocess.run([TALLY, *words], check=True, capture_output=True, text=True, input=more.get("input"))
        return done.stdout


@pytest.fixture(scope="session")
def folders(tmp_path_factory: pytest.TempPathFactory) -> pathlib.Path:
    """Folders of nodes that are not running."""
    if not TALLY.exists():
        pytest.fail(f"{TALLY} is missing: `cargo build --release`, or name the program in TALLY")
    folder = tmp_path_factory.mktemp("network") / "net"
    description = ROOT / "examples" / "network.toml"
    subprocess.run([TALLY, "network", "bootstrap", description, "--out", folder], check=True, capture_output=True)
    return folder


@pytest.fixture(scope="session")
def network(folders: pathlib.Path) -> Iterator[Network]:
    """A running network."""
    net = Network(folders)
    try:
        for name in ("notary", "bank-b", "bank-a"):
            net.start(name)
        yield net
    finally:
        for name in list(net.processes):
            net.kill(name)


#: A script that answers a connection to the fake node: it gets the connection, and may read and write.
Script = Callable[[ssl.SSLSocket], None]


class FakeNode:
    """Shows a real node's certificate and executes a test's scripts, one script per connection."""

    def __init__(self, folder: pathlib.Path) -> None:
        self._tls = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
        self._tls.load_cert_chain(folder / "tls.pem", folder / "tls.key.pem")
        self._listener = socket.create_server(("127.0.0.1", 0))
        self.scripts: list[Script] = []
        self.requests: list[str] = []
        port = self._listener.getsockname()[1]
        self.endpoint = Endpoint("127.0.0.1", port, (folder / "root.pem").read_text(), "secret")
        self._thread = threading.Thread(target=self._serve, daemon=True)
        self._thread.start()

    def _serve(self) -> None:
        while True:
            try:
                plain, _ = self._listener.accept()
            except OSError:
                return
            with plain:
                try:
                    connection = self._tls.wrap_socket(plain, server_side=True)
                except OSError:
                    continue
                with connection:
                    connection.settimeout(20)
                    with contextlib.suppress(OSError, IndexError):
                        self.scripts.pop(0)(connection)

    def head(self, connection: ssl.SSLSocket) -> str:
        """Reads a request with its body, by its length."""
        data = b""
        while b"\r\n\r\n" not in data:
            more = connection.recv(65536)
            if not more:
                raise OSError("gone")
            data += more
        head, _, body = data.partition(b"\r\n\r\n")
        text = head.decode().lower()
        length = int(text.partition("content-length: ")[2].partition("\r\n")[0] or 0)
        while len(body) < length and "expect:" not in text:
            body += connection.recv(65536)
        self.requests.append(head.decode() + "\n\n" + body.decode("utf-8", "replace"))
        return self.requests[-1]

    def answers(self, *answers: str | bytes) -> Script:
        """A connection that answers this many requests and is then closed."""

        def script(connection: ssl.SSLSocket) -> None:
            for answer in answers:
                self.head(connection)
                connection.sendall(answer if isinstance(answer, bytes) else answer.encode())

        return script

    def close(self) -> None:
        with contextlib.suppress(OSError):
            self._listener.shutdown(socket.SHUT_RDWR)
        self._listener.close()
        self._thread.join()


def http(status: int, body: object, *headers: str) -> str:
    """Returns an HTTP answer."""
    text = body if isinstance(body, str) else json.dumps(body)
    lines = [f"HTTP/1.1 {status} Said", "content-type: application/json", f"content-length: {len(text.encode())}", *headers]
    return "\r\n".join(lines) + "\r\n\r\n" + text


def problem(status: int, code: str, retry_after_ms: int | None = None) -> str:
    """Returns an answer that is a problem."""
    body = {"type": f"urn:tally:error:{code}", "title": "t", "status": status, "detail": "d", "code": code, "hint": "h"}
    return http(status, body if retry_after_ms is None else {**body, "retry_after_ms": retry_after_ms})


@pytest.fixture
def fake(folders: pathlib.Path) -> Iterator[FakeNode]:
    node = FakeNode(folders / "bank-a")
    yield node
    node.close()
