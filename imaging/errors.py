"""What can go wrong with a picture: one tree, each leaf with the `error.type` code of the interface."""

from typing import ClassVar


class ImagingError(Exception):
    """A picture could not be handled; `str(error)` says why in plain words for a person."""

    code: ClassVar[str]
    transient: ClassVar[bool] = False


class NotAnImage(ImagingError):
    """The bytes are no picture at all: empty, text, a program."""

    code = "not-an-image"


class UnsupportedFormat(ImagingError):
    """A known format that is not accepted; the message says what the file seems to be."""

    code = "unsupported-format"


class TruncatedImage(ImagingError):
    """The file ends so early that nothing worth showing is left."""

    code = "truncated-image"


class CorruptImage(ImagingError):
    """The file is complete or nearly so, but its decoder can make nothing of it."""

    code = "corrupt-image"


class TooManyPixels(ImagingError):
    """The header announces more pixels than the limit; nothing was decoded."""

    code = "too-many-pixels"


class DecoderTimeout(ImagingError):
    """The time limit ran out and the decoder process was killed."""

    code = "time-limit"
    transient = True


class DecoderCrashed(ImagingError):
    """The decoder process died: a segmentation fault, the kernel's out-of-memory killer, an operator."""

    code = "decoder-crashed"
    transient = True


class DecoderOutOfMemory(ImagingError):
    """The picture needed more memory than a decoder process may take."""

    code = "memory-limit"
