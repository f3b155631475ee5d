"""Running decoders where they can do no harm: in child processes with a time limit and a memory limit.

Each child has a socket of its own and does one job at a time, so the death of one, at whatever moment,
concerns no other. They are started by exec, never by a bare fork, so the owner may have threads.
"""

import multiprocessing
import os
import pickle
import queue
import signal
import subprocess
import sys
import threading
import time
from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager
from multiprocessing.connection import Connection
from typing import TypeVar, cast

from imaging.errors import DecoderCrashed, DecoderOutOfMemory, DecoderTimeout

T = TypeVar("T")

_START_LIMIT_S = 60
# how long an exception that another thread raises in the caller may have to wait
_GLANCE_S = 0.5
# How a decoder's glibc goes about bitmaps. What one picture freed is kept for the next: to get it from the
# kernel and give it back costs 15 to 40 ms a photo. Its pages are big ones, where the kernel lets them be.
_TUNABLES = ":".join(
    f"glibc.malloc.{name}={value}"
    for name, value in {
        "mmap_threshold": 256 << 20,
        "trim_threshold": 512 << 20,
        "top_pad": 64 << 20,
        "hugetlb": 1,
    }.items()
)


class DecoderTraceback(Exception):
    """The cause of an error that came out of a child: the traceback there, as text."""

    def __str__(self) -> str:
        return f'\n"""\n{self.args[0]}"""'


class Sandbox:
    """A pool of decoder processes, started when first needed.

    Args:
        processes: how many jobs run at once; further callers wait for a free process.
        memory_bytes: how much address space (RLIMIT_AS) a process may have, its code's 0.2 GB included.
        jobs_per_process: after how many jobs a process is replaced, so that leaks stay small.
    """

    def __init__(self, processes: int, memory_bytes: int, *, jobs_per_process: int = 500) -> None:
        self._memory_bytes = memory_bytes
        self._jobs_per_process = jobs_per_process
        self._slots: queue.LifoQueue[_Child | None] = queue.LifoQueue()
        for _ in range(processes):
            self._slots.put(None)
        self._children: set[_Child] = set()
        self._lock = threading.Lock()
        self._starter: ThreadPoolExecutor | None = None
        self._closed = False

    def call(self, function: Callable[..., T], *args: object, time_limit_s: float, **kwargs: object) -> T:
        """Wait for a free process, and run a function there: see `Slot.call`."""
        with self.slot() as slot:
            return slot.call(function, *args, time_limit_s=time_limit_s, **kwargs)

    @contextmanager
    def slot(self) -> Iterator["Slot"]:
        """Wait for a free process, and have it for the block, or until it is released."""
        slot = Slot(self)
        try:
            yield slot
        finally:
            slot.release()

    def close(self) -> None:
        """Kill all processes; calls under way raise DecoderCrashed."""
        with self._lock:
            self._closed = True
            children, starter = list(self._children), self._starter
        for child in children:
            self._retire(child)  # its connection closes when the last thread that reads it is done
        if starter:
            starter.shutdown()

    def _start(self) -> "_Child":
        with self._lock:
            if self._closed:
                raise DecoderCrashed("the decoder is shut down")
            # the kernel kills a child when the thread that started it ends, so one that stays starts them all
            self._starter = self._starter or ThreadPoolExecutor(1, "sandbox-starter")
            starting = self._starter.submit(_Child, self._memory_bytes)
        child = starting.result()
        with self._lock:
            self._children.add(child)
            closed = self._closed
        if closed:
            self._retire(child)
        return child

    def _retire(self, child: "_Child | None") -> None:
        if child:
            with self._lock:
                self._children.discard(child)
            child.kill()


class Slot:
    """One of a sandbox's processes, for one caller at a time."""

    def __init__(self, sandbox: Sandbox) -> None:
        self._sandbox = sandbox
        self._child = sandbox._slots.get()
        self._held = True

    def call(self, function: Callable[..., T], *args: object, time_limit_s: float, **kwargs: object) -> T:
        """Run a function of an importable module in the process, and wait for what it returns.

        Args:
            function: it and its arguments and result must be picklable.
            time_limit_s: from the moment the process has the job.

        Raises:
            DecoderTimeout: the limit ran out; the process is dead.
            DecoderCrashed: the process died by itself, or the sandbox was closed meanwhile.
            DecoderOutOfMemory: the memory limit was reached.
            Exception: whatever the function raised, caused by a DecoderTraceback.
        """
        sandbox = self._sandbox
        try:
            if self._child is None or not self._child.can_work(sandbox._jobs_per_process):
                sandbox._retire(self._child)
                self._child = None
                self._child = sandbox._start()
            return cast(T, self._child.do(function, args, kwargs, time_limit_s))
        except BaseException as error:
            # one whose job didn't end in an answer is of no further use; nor is one that ran out of memory
            if not isinstance(error.__cause__, DecoderTraceback) or isinstance(error, DecoderOutOfMemory):
                sandbox._retire(self._child)
                self._child = None
            raise

    def release(self) -> None:
        """Let the next caller have the process."""
        if self._held:
            self._held = False
            self._sandbox._slots.put(self._child)


class _Child:
    """One decoder process and the socket to it."""

    def __init__(self, memory_bytes: int) -> None:
        self._connection, theirs = multiprocessing.Pipe()
        self._jobs = 0
        try:
            self._process = self._exec(theirs, memory_bytes)
        finally:
            theirs.close()
        try:
            self._receive(time.monotonic() + _START_LIMIT_S)
        except BaseException:
            self.kill()
            raise

    @staticmethod
    def _exec(socket: Connection, memory_bytes: int) -> subprocess.Popen[bytes]:
        number = socket.fileno()
        arguments = map(str, (number, memory_bytes, os.getpid()))
        tunables = ":".join(filter(None, [os.environ.get("GLIBC_TUNABLES"), _TUNABLES]))
        path = os.pathsep.join(entry or os.getcwd() for entry in sys.path)  # noqa: PTH109
        return subprocess.Popen(  # noqa: S603 (nothing of it comes from outside)
            [sys.executable, "-m", "imaging.sandbox_child", *arguments],
            pass_fds=[number],
            stdin=subprocess.DEVNULL,
            env={**os.environ, "PYTHONPATH": path, "GLIBC_TUNABLES": tunables, "OPENBLAS_NUM_THREADS": "1"},
        )

    def can_work(self, jobs_per_process: int) -> bool:
        return self._jobs < jobs_per_process and self._process.poll() is None

    def kill(self) -> None:
        self._process.kill()
        self._process.wait()

    def do(
        self, function: Callable[..., object], args: object, kwargs: object, time_limit_s: float
    ) -> object:
        """Have one job done; raises as `Sandbox.call` says, and kills nothing itself."""
        deadline = time.monotonic() + time_limit_s
        self._jobs += 1
        job = pickle.dumps((function, args, kwargs))
        try:
            self._connection.send_bytes(job)
        except OSError as error:
            raise self._crashed() from error
        ok, *answer = pickle.loads(self._receive(deadline))  # noqa: S301 (from our own child)
        if ok:
            return answer[0]
        raised, trace = answer
        if isinstance(raised, MemoryError):
            raised = DecoderOutOfMemory("the picture needs more memory than a decoder may take")
        raise raised from DecoderTraceback(trace)

    def _receive(self, deadline: float) -> bytes:
        try:
            while not self._connection.poll(min(_GLANCE_S, max(0, deadline - time.monotonic()))):
                if time.monotonic() >= deadline:
                    raise DecoderTimeout("decoding took longer than its time limit")
            return self._connection.recv_bytes()
        except (EOFError, OSError) as error:
            raise self._crashed() from error

    def _crashed(self) -> DecoderCrashed:
        """Say how the process died, which its closed socket shows first."""
        try:
            code = self._process.wait(timeout=1)
        except subprocess.TimeoutExpired:
            return DecoderCrashed("the decoder process hung up")
        how = signal.Signals(-code).name if code < 0 else f"exit code {code}"
        return DecoderCrashed(f"the decoder process died ({how})")
