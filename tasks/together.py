"""What several threads ask for at once, done in one go: as a database commits a group.

A thread that finds nobody at it begins at once, so a lone one waits for nothing. Those that come meanwhile
are gathered, and one of them then asks for all of them.
"""

from __future__ import annotations

import threading
from collections.abc import Callable, Sequence
from typing import Generic, TypeVar, cast

LOCK_TIMEOUT_S = 0.2
"""How long what is done for several waits for a lock: whoever hangs with one holds up its own tasks alone."""

Asked = TypeVar("Asked")
Answer = TypeVar("Answer")


class Together(Generic[Asked, Answer]):
    """A function of many, called with one.

    Args:
        answer: answers several at once, in their order, and soon: whoever comes meanwhile waits. What it
            raises is raised to each of them.
    """

    def __init__(self, answer: Callable[[Sequence[Asked]], Sequence[Answer]]) -> None:
        self._answer = answer
        self._lock = threading.Lock()
        self._gathered: list[_Call[Asked, Answer]] = []
        self._is_led = False

    def __call__(self, asked: Asked) -> Answer:
        """The answer to one; called by any thread, which no exception may interrupt."""
        mine = _Call[Asked, Answer](asked)
        with self._lock:
            self._gathered.append(mine)
            leads, self._is_led = not self._is_led, True
        if not leads:
            mine.woken.acquire()
        if mine.answers is None and mine.error is None:
            self._lead()
        if mine.error is not None:
            raise mine.error
        return cast(list[Answer], mine.answers)[0]

    def _lead(self) -> None:
        with self._lock:
            group, self._gathered = self._gathered, []
        try:
            answers = self._answer([call.asked for call in group])
            for call, answer in zip(group, answers, strict=True):
                call.answers = [answer]
        except BaseException as error:  # noqa: BLE001 (whoever asked raises it)
            for call in group:
                call.error = error
        with self._lock:
            self._is_led = bool(self._gathered)
            leader = self._gathered[:1]
        for call in leader + group:  # the next group shall not wait for this one to wake
            call.woken.release()


class _Call(Generic[Asked, Answer]):
    def __init__(self, asked: Asked) -> None:
        self.asked = asked
        self.answers: list[Answer] | None = None
        self.error: BaseException | None = None
        self.woken = threading.Lock()
        self.woken.acquire()
