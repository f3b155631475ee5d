"""The names that this service answers to, as they stand in `Host`.

They guard against DNS rebinding: a page at evil.example whose name is made to resolve to this machine has
this service for its own origin, and reads all that it answers. But its `Host` is evil.example still. An
address in its place is harmless: nobody can make it resolve to something else.
"""

from __future__ import annotations

import ipaddress
import re
import socket
from collections.abc import Sequence
from dataclasses import dataclass

LOOPBACK = ("localhost", "127.0.0.1", "::1")
_HOST = re.compile(r"(\[[0-9A-Fa-f:.]+\]|[A-Za-z0-9._-]+)(:\d{1,5})?")
_EVERY_ADDRESS = ("0.0.0.0", "::")  # noqa: S104 - as a name, not to listen on


@dataclass(frozen=True)
class Hosts:
    """Which names are ours.

    Attributes:
        names: lower case; `.example.org` means every name below it too.
        any_address: every IP address is one.
    """

    names: Sequence[str]
    any_address: bool = False

    def know(self, host: str) -> bool:
        """Whether a `Host` header's value, with or without a port, is one of ours."""
        match = _HOST.fullmatch(host)
        if match is None:
            return False
        name = match[1].strip("[]").lower().removesuffix(".")
        if self.any_address and _is_address(name):
            return True
        return any(name == each or (each[:1] == "." and f".{name}".endswith(each)) for each in self.names)


def hosts_of(setting: str, bound: str) -> Hosts:
    """The names by the settings.

    Args:
        setting: names with commas between them; empty: those by which this machine is reached.
        bound: the address that the API listens on.
    """
    given = [name.strip().strip("[]").lower() for name in setting.split(",") if name.strip()]
    if given:
        return Hosts((*LOOPBACK, *given))
    if bound.strip("[]") in _EVERY_ADDRESS:
        return Hosts((*LOOPBACK, socket.gethostname().lower()), any_address=True)
    return Hosts((*LOOPBACK, bound.strip("[]").lower()))


def _is_address(name: str) -> bool:
    try:
        ipaddress.ip_address(name)
    except ValueError:
        return False
    return True
