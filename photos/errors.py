"""What can be wrong with what a user of photos asks; the HTTP status is chosen in api/errors.py."""


class PhotoError(Exception):
    """Root of this room's errors; the message is for the person who asked."""


class EmptyUpload(PhotoError):
    """There isn't a single byte."""


class UploadTooLarge(PhotoError):
    """More bytes than the limit."""


class UploadTooSlow(PhotoError):
    """It took longer than any upload may."""


class PhotoNotFound(PhotoError):
    """No such photo, or it is another owner's: the two look the same."""


class NotMadeYet(PhotoError):
    """The previews or the metadata are still being made."""


class NotToBeHad(PhotoError):
    """The previews or the metadata couldn't be made; the photo's tasks say why."""


class AnalysisNotConfigured(PhotoError):
    """There is no service that photos could be analysed by."""


class LinkNotValid(PhotoError):
    """A link that needs no key isn't ours, or its time is over."""


class KeyInUse(PhotoError):
    """Another request with the same idempotency key is under way."""


class KeyReused(PhotoError):
    """The idempotency key was used for another file."""


class TaskNotFound(PhotoError):
    """No such task, or one of another owner's photo: the two look the same."""
