"""Links to a preview that need no key, for a while: signed, for one photo's one preview."""

from __future__ import annotations

from uuid import UUID

from itsdangerous import BadData, URLSafeTimedSerializer

from photos.errors import LinkNotValid

LINK_S = 900
_SALT = "shared-preview"  # keeps these signatures apart from any others by the same key


class Sharing:
    """Makes links, and opens them.

    Args:
        key: what they are signed with; without one no link is valid.
        base_url: what a link begins with; its token follows.
    """

    def __init__(self, key: str, base_url: str) -> None:
        self._signer = URLSafeTimedSerializer(key, salt=_SALT) if key else None
        self._base_url = base_url

    def link(self, photo_id: UUID) -> str:
        """A link to the photo's medium preview, valid for `LINK_S` seconds.

        Raises:
            LinkNotValid: there is no key.
        """
        if self._signer is None:
            raise LinkNotValid("no links are made here (SAFELIGHT_SIGNING_KEY)")
        return f"{self._base_url}{self._signer.dumps(photo_id.hex)}"

    def opened(self, token: str) -> UUID:
        """The photo whose medium preview a link's token lets see.

        Raises:
            LinkNotValid: it isn't ours, or its time is over.
        """
        try:
            if self._signer is not None:
                return UUID(hex=self._signer.loads(token, max_age=LINK_S))
        except BadData:
            pass
        raise LinkNotValid("the link isn't valid, or not any more")
