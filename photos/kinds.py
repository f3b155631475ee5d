"""The kinds of task that a photo needs, one line each, and all that can go wrong with them."""

from imaging.errors import ImagingError
from tasks.errors import GENERIC_CODES
from tasks.kinds import Kind

_ALL = (
    PREVIEW := Kind("preview", time_limit_s=60.0, second_submit="rerun"),
    EXIF := Kind("exif", second_submit="rerun"),
)
KINDS = {kind.name: kind for kind in _ALL}

# A photo is ready when the newest task of each of these has completed.
REQUIRED = (PREVIEW, EXIF)

# The closed set of `error.type`: used in the API, in metrics labels and in docs/errors.md.
ERROR_TYPES = (
    *GENERIC_CODES,
    "object-missing",
    *sorted(error.code for error in ImagingError.__subclasses__()),
)
# Those that are the upload's own fault: no other attempt, and no other service, would do better.
OF_UPLOADS = frozenset(error.code for error in ImagingError.__subclasses__() if not error.transient)
