"""What can keep the servers from starting."""


class EmbeddedError(Exception):
    """Something on this machine is in the way; the message says what, and what a person can do about it."""
