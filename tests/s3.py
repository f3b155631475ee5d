"""A real S3 server on loopback (`rclone serve s3`), and a proxy before it that makes its faults."""

from __future__ import annotations

import http.client
import subprocess
import sys
import threading
from collections.abc import Iterator
from contextlib import closing, contextmanager, suppress
from dataclasses import dataclass
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from typing import Any
from uuid import uuid4

from embedded import ports, processes

BUCKET = "photos"
KEY, SECRET = "access-key-id", "secret-access-key"
_RCLONE = Path(sys.executable).parent / "rclone"
_SLOW_DOWN = b"<Error><Code>SlowDown</Code><Message>Reduce your request rate.</Message></Error>"


@dataclass(frozen=True)
class Asked:
    """One request that went through the proxy, and what came of it; 0: nothing."""

    method: str
    path: str
    range: str | None
    status: int
    size_bytes: int


@dataclass(frozen=True)
class Fault:
    """What happens to a request: `away` (the line is cut at once), `cut` (in the middle of the body),
    `slow-down` (503), `hangs` (nothing is answered).
    """

    kind: str
    method: str
    times: int


class Proxy(ThreadingHTTPServer):
    """Passes requests on to S3, and writes them down; `fail` has some of them go wrong."""

    def __init__(self, port: int, folder: Path, host: str) -> None:
        super().__init__((host, 0), _Handler)
        self.s3_port = port
        self.host = host
        self.prefix = uuid4().hex
        self._folder = folder / BUCKET / self.prefix
        self.asked: list[Asked] = []
        self.released = threading.Event()
        self._lock = threading.Lock()
        self._fault: Fault | None = None
        self._left = 0

    @property
    def url(self) -> str:
        """A store of this proxy's own."""
        return f"s3://{BUCKET}/{self.prefix}"

    @property
    def environment(self) -> dict[str, str]:
        """The variables by which the store is found."""
        return {
            "AWS_ENDPOINT_URL": f"http://{self.host}:{self.server_port}",
            "AWS_REGION": "us-east-1",
            "AWS_ACCESS_KEY_ID": KEY,
            "AWS_SECRET_ACCESS_KEY": SECRET,
        }

    def fail(self, kind: str, *, method: str = "", times: int = 1_000_000) -> None:
        """Have the next requests (of a method) go wrong, so many times."""
        with self._lock:
            self._fault, self._left = Fault(kind, method, times), times

    def mend(self) -> None:
        """All is well again."""
        with self._lock:
            self._left = 0

    def fault_of(self, method: str) -> str:
        """What is to happen to a request now."""
        with self._lock:
            if self._fault is None or not self._left or self._fault.method not in ("", method):
                return ""
            self._left -= 1
            return self._fault.kind

    def files(self) -> list[str]:
        """Every object below `url`."""
        found = (path for path in self._folder.rglob("*") if path.is_file())
        return sorted(str(path.relative_to(self._folder)) for path in found)

    def handle_error(self, request: Any, client_address: Any) -> None:
        """A client that hangs up is no news."""


class _Handler(BaseHTTPRequestHandler):
    protocol_version = "HTTP/1.1"
    server: Proxy

    def _pass_on(self) -> None:
        kind = self.server.fault_of(self.command)
        length = int(self.headers.get("Content-Length") or 0)
        if kind in ("away", "cut"):
            self.rfile.read(length // 2 if kind == "cut" else 0)
            self._note(0, 0)
            self.close_connection = True
            return
        body = self.rfile.read(length)
        if kind == "hangs":
            self.server.released.wait(60)
            self.close_connection = True
            return
        status, headers, answer = (503, {}, _SLOW_DOWN) if kind else self._answer_of_s3(body)
        self._note(status, len(answer))
        self.send_response_only(status)
        for name, value in headers.items():
            if name.lower() not in ("connection", "transfer-encoding", "content-length"):
                self.send_header(name, value)
        if status not in (204, 304):
            size = headers.get("Content-Length", "0") if self.command == "HEAD" else str(len(answer))
            self.send_header("Content-Length", size)
        self.send_header("Connection", "close")
        self.end_headers()
        self.wfile.write(answer)

    def _answer_of_s3(self, body: bytes) -> tuple[int, dict[str, str], bytes]:
        line = http.client.HTTPConnection("127.0.0.1", self.server.s3_port, timeout=30)
        with closing(line), suppress(OSError):
            line.request(self.command, self.path, body=body, headers=dict(self.headers.items()))
            answer = line.getresponse()
            headers = dict(answer.getheaders())
            # rclone 1.75 says 200 of a part (mended in the gofakes3 that it is made of); S3 says 206.
            status = 206 if answer.status == 200 and "Content-Range" in headers else answer.status
            return status, headers, answer.read()
        return 502, {}, b""

    def _note(self, status: int, size_bytes: int) -> None:
        asked = Asked(self.command, self.path, self.headers.get("Range"), status, size_bytes)
        self.server.asked.append(asked)

    do_GET = do_HEAD = do_PUT = do_POST = do_DELETE = _pass_on

    def log_message(self, *_: object) -> None:
        """Say nothing."""


@contextmanager
def served(folder: Path) -> Iterator[int]:
    """S3 over a folder, in which each bucket is one more; there is `BUCKET`. Gives its port."""
    (folder / BUCKET).mkdir(parents=True)
    port = ports.any_free_port()
    command = [*processes.tied("KILL"), str(_RCLONE), "serve", "s3", "--auth-key", f"{KEY},{SECRET}"]
    command += ["--addr", f"127.0.0.1:{port}", "--config", "/dev/null", str(folder)]
    with (folder / "log").open("wb") as log:
        process = subprocess.Popen(command, stdout=log, stderr=log)
    try:
        assert processes.settles(lambda: _listens(port), timeout_s=30), (folder / "log").read_text()
        yield port
    finally:
        process.kill()
        process.wait()


@contextmanager
def proxied(port: int, folder: Path, host: str = "127.0.0.1") -> Iterator[Proxy]:
    """A proxy before S3, at an address of this machine."""
    with Proxy(port, folder, host) as proxy:
        thread = threading.Thread(target=proxy.serve_forever, kwargs={"poll_interval": 0.05})
        thread.start()
        try:
            yield proxy
        finally:
            proxy.released.set()
            proxy.shutdown()
            thread.join()


def _listens(port: int) -> bool:
    line = http.client.HTTPConnection("127.0.0.1", port, timeout=2)
    try:
        line.request("GET", "/")
        line.getresponse().read()
    except OSError:
        return False
    finally:
        line.close()
    return True
