"""The kinds of task that a photo needs, one line each, and all that can go wrong with them."""

from imaging.errors import ImagingError
from remote.errors import RemoteError, RemoteRejected
from tasks.errors import GENERIC_CODES
from tasks.kinds import Kind

_ALL = (
    PREVIEW := Kind("preview", time_limit_s=60.0, second_submit="rerun"),
    EXIF := Kind("exif", second_submit="rerun", along_with=PREVIEW.name),
    # its service is slow and often away: many attempts, none long after the one before
    ANALYSIS := Kind("analysis", max_attempts=20, backoff_cap_s=30.0),
)
KINDS = {kind.name: kind for kind in _ALL}

# A photo is ready when the newest task of each of these has completed.
REQUIRED = (PREVIEW, EXIF)

# The closed set of `error.type`: used in the API, in metrics labels and in docs/errors.md.
ERROR_TYPES = (
    *GENERIC_CODES,
    "object-missing",
    RemoteError.code,
    RemoteRejected.code,
    REMOTE_TIMEOUT := "remote-timeout",
    NO_PREVIEW := "no-preview",
    *sorted(error.code for error in ImagingError.__subclasses__()),
)
# Those that are the upload's own fault: no other attempt, and no other service, would do better.
OF_UPLOADS = frozenset(error.code for error in ImagingError.__subclasses__() if not error.transient)
