"""The process that a `Sandbox` decodes in: `python -m imaging.sandbox_child <socket> <memory> <parent>`.

It does what comes over its socket, one job after another, until the other end closes or its parent dies.
"""

import contextlib
import ctypes
import os
import pickle
import resource
import signal
import sys
import traceback
from multiprocessing.connection import Connection

from imaging import jobs

_PR_SET_PDEATHSIG = 1


def main(socket: int, memory_bytes: int, parent: int) -> None:
    """Serve pickled jobs (function, args, kwargs).

    Says b"" when it is ready, the decoders imported; then each job is answered with (True, result) or
    (False, error, traceback).
    """
    # Ctrl-C and a supervisor's SIGTERM reach the whole group, but it is for the parent to end a job
    signal.signal(signal.SIGINT, signal.SIG_IGN)
    signal.signal(signal.SIGTERM, signal.SIG_IGN)
    if sys.platform == "linux":
        _die_with(parent)
    resource.setrlimit(resource.RLIMIT_AS, (memory_bytes, memory_bytes))
    jobs.prepare()
    connection = Connection(socket)
    with contextlib.suppress(EOFError, OSError):
        connection.send_bytes(b"")
        _hush()
        while True:
            connection.send_bytes(_answer(connection.recv_bytes()))


def _hush() -> None:
    """Let no decoder write to the owner's log: what C libraries say quotes the file, and in no form."""
    nowhere = os.open(os.devnull, os.O_WRONLY)
    for stream in (1, 2):
        os.dup2(nowhere, stream)


def _die_with(parent: int) -> None:
    """Have the kernel kill this process when its parent's thread that started it ends (prctl(2))."""
    ctypes.CDLL(None).prctl(_PR_SET_PDEATHSIG, signal.SIGKILL)
    if os.getppid() != parent:  # it died before we asked
        sys.exit(1)


def _answer(job: bytes) -> bytes:
    try:
        function, args, kwargs = pickle.loads(job)  # noqa: S301 (from our own parent)
        return pickle.dumps((True, function(*args, **kwargs)))
    except Exception as error:  # noqa: BLE001 (it is for the caller to judge)
        return _pickled_error(error, traceback.format_exc())


def _pickled_error(error: Exception, trace: str) -> bytes:
    if isinstance(error, MemoryError):  # NumPy's own would have the parent import NumPy
        error = MemoryError(str(error))
    try:
        answer = pickle.dumps((False, error, trace))
        pickle.loads(answer)  # noqa: S301 (some exceptions pickle, but don't come back)
    except Exception:  # noqa: BLE001
        return pickle.dumps((False, RuntimeError(f"{type(error).__name__}: {error}"), trace))
    return answer


if __name__ == "__main__":
    main(*map(int, sys.argv[1:]))
