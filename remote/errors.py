"""What can go wrong with the remote service; none of it is told with a word of the service's own."""

from __future__ import annotations


class RemoteError(Exception):
    """Root of this room's errors; `code` is the task's `error.type`."""

    code = "remote-error"


class RemoteTrouble(RemoteError):
    """May go well another time: a 5xx, a time-out, an answer that can't be read.

    Attributes:
        retry_after_s: how long the service asks to be left alone, if it does.
    """

    def __init__(self, detail: str, *, retry_after_s: float | None = None) -> None:
        super().__init__(detail)
        self.retry_after_s = retry_after_s


class RemoteUnreachable(RemoteTrouble):
    """No connection came about: the service was asked nothing."""


class RemoteBusy(RemoteTrouble):
    """The service is well, and doesn't want this call now (408, 425, 429)."""


class RemoteRejected(RemoteError):
    """Will never go well: another 4xx, `failed`, too much data, a redirect, another host's operation."""

    code = "remote-rejected"


class BreakerOpen(RemoteError):
    """The service failed again and again: it isn't called for `for_s` seconds more."""

    def __init__(self, for_s: float) -> None:
        super().__init__(f"the service failed again and again; it isn't called for {for_s:.0f} s")
        self.for_s = for_s
