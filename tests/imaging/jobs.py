"""What the sandbox's tests have done in a child: well, badly and not at all."""

import ctypes
import os
import signal
import sys
import time
from pathlib import Path

from imaging.errors import CorruptImage


def pid() -> int:
    return os.getpid()


def imported() -> set[str]:
    return {name.partition(".")[0] for name in sys.modules}


def double(number: int, *, plus: int = 0) -> int:
    return 2 * number + plus


def hang_in_c() -> None:
    """Run inside one C call that never looks at signals, with the GIL held."""
    sum(range(10**13))


def announce_and_hang(path: Path) -> None:
    path.write_text(str(os.getpid()))
    hang_in_c()


def crash() -> None:
    ctypes.string_at(0)


def be_killed() -> None:
    os.kill(os.getpid(), signal.SIGKILL)


def die_while_answering(delay_s: float) -> bytes:
    if os.fork() == 0:
        time.sleep(delay_s)
        os.kill(os.getppid(), signal.SIGKILL)
        os._exit(0)
    return bytes(300_000_000)


def eat_memory() -> int:
    return len(bytearray(4 << 30))


def refuse() -> None:
    raise CorruptImage("the picture is damaged")


class Unpicklable(Exception):
    def __init__(self, left: int, right: int) -> None:
        super().__init__(f"{left} and {right}")


def raise_unpicklable() -> None:
    raise Unpicklable(1, 2)


def nap(seconds: float) -> int:
    time.sleep(seconds)
    return os.getpid()
