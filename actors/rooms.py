"""What the actors work with, handed over by the worker root."""

from __future__ import annotations

from dataclasses import dataclass

from imaging.sandbox import Sandbox
from photos.analysis import Analyses
from photos.asking import Asking
from photos.results import Results
from tasks.work import Work


@dataclass(frozen=True)
class Rooms:
    """The rooms behind the actors.

    Attributes:
        sandbox: where bytes that came from outside are decoded.
        max_pixels: the largest picture that is decoded.
    """

    work: Work
    results: Results
    sandbox: Sandbox
    max_pixels: int
    analyses: Analyses
    asking: Asking
