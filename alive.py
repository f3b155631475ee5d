"""`python3 -m alive`: whether this host's worker is alive, for its container's health check; exits 1 if not.

In a container the host's name is the container's. What it looks for, the worker itself writes every
`SAFELIGHT_HEARTBEAT_S`, and Redis forgets after three of them.
"""

from __future__ import annotations

import socket

import redis

from config import Settings
from observability.presence import processes

_TIMEOUT_S = 3


def main() -> None:
    """Look for the worker.

    Raises:
        SystemExit: it has been silent for three heartbeats, or Redis is away, without which it does nothing.
    """
    url, host = Settings.for_root().redis_url, socket.gethostname()
    limits = {"socket_timeout": _TIMEOUT_S, "socket_connect_timeout": _TIMEOUT_S}
    try:
        with redis.Redis.from_url(url, **limits) as client:
            found = [each for each in processes(client) if each.role == "worker"]
    except redis.RedisError as error:
        raise SystemExit(f"Redis is away: {error}") from None
    if not any(each.name.rpartition(":")[0] == host for each in found):
        raise SystemExit(f"no worker of {host} is alive")


if __name__ == "__main__":
    main()
