"""What the API's processes share, and how they read bodies."""

from __future__ import annotations

import socket
import subprocess
import sys
from contextlib import closing

from gunicorn.http.unreader import SocketUnreader

import api.server  # noqa: F401 - which sets it
from api.patience import PIECE_BYTES
from tests.stack import ROOT

_IMPORT = """
import os, threading
import app, storage.bucket
descriptors = [os.readlink(f"/proc/self/fd/{fd}") for fd in os.listdir("/proc/self/fd") if int(fd) > 2
               and os.path.exists(f"/proc/self/fd/{fd}")]
print(threading.active_count(), len(os.listdir("/proc/self/task")), descriptors)
"""


def test_the_master_may_import_the_app_before_it_forks() -> None:
    ran = subprocess.run(
        [sys.executable, "-c", _IMPORT], cwd=ROOT, capture_output=True, text=True, check=True, timeout=60
    )
    assert ran.stdout.strip() == "1 1 []"


def test_no_more_of_a_body_is_read_at_once_than_is_taken_at_once() -> None:
    ours, theirs = socket.socketpair()
    with closing(ours), closing(theirs):
        theirs.setsockopt(socket.SOL_SOCKET, socket.SO_SNDBUF, 8 * PIECE_BYTES)
        theirs.setblocking(False)
        assert theirs.send(bytes(2 * PIECE_BYTES)) > PIECE_BYTES
        assert len(SocketUnreader(ours).chunk(1 << 20)) == PIECE_BYTES
