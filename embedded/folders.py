"""Folders that the servers live in: private ones, and short enough ones for sockets."""

from __future__ import annotations

import hashlib
import os
import tempfile
from pathlib import Path

from embedded.errors import EmbeddedError

# sockaddr_un.sun_path holds 108 bytes, the last of them a NUL (unix(7))
SOCKET_PATH_BYTES = 107


def private_folder(path: Path, *, owner: tuple[int, int] | None = None) -> Path:
    """Make a folder (mode 0700) that belongs to `owner` (uid, gid), or to this process' user.

    Raises:
        EmbeddedError: someone else's folder, or a link, stands there already.
    """
    path.parent.mkdir(parents=True, exist_ok=True)
    uid, gid = owner or (os.geteuid(), os.getegid())
    path.mkdir(mode=0o700, exist_ok=True)
    found = path.lstat()
    if path.is_symlink() or found.st_uid not in (uid, os.geteuid()):
        raise EmbeddedError(f"{path} belongs to someone else, so it can't hold a private socket or data")
    if (found.st_uid, found.st_gid) != (uid, gid) and os.geteuid() == 0:
        os.chown(path, uid, gid)
    path.chmod(0o700)
    return path


def socket_folder(wanted: Path, longest_name: str, *, owner: tuple[int, int] | None = None) -> Path:
    """Make a private folder for a socket: the wanted one, or where its path would be too long one in /tmp.

    Args:
        wanted: absolute; the same one gives the same folder each time.
        longest_name: the longest file name that a socket in it will have.
    """
    if len(os.fsencode(wanted / longest_name)) > SOCKET_PATH_BYTES:
        digest = hashlib.sha256(os.fsencode(wanted)).hexdigest()[:16]
        wanted = Path(tempfile.gettempdir()) / f"safelight-{digest}"
    return private_folder(wanted, owner=owner)
