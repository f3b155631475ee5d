"""What an exception means for the task that it came out of."""

from __future__ import annotations

import pytest

from actors.retry import as_task_error
from db.transaction import DatabaseAway
from imaging import errors as imaging_errors
from photos.errors import PhotoNotFound
from photos.kinds import ERROR_TYPES
from storage.errors import ObjectMissing, StoreAway
from tasks.errors import DependencyAway, LeaseLost, Permanent, TaskError, TimeLimitReached, Transient


@pytest.mark.parametrize(
    ("raised", "kind", "code"),
    [
        (imaging_errors.NotAnImage("text"), Permanent, "not-an-image"),
        (imaging_errors.TooManyPixels("big"), Permanent, "too-many-pixels"),
        (imaging_errors.DecoderTimeout("slow"), Transient, "time-limit"),
        (imaging_errors.DecoderCrashed("segfault"), Transient, "decoder-crashed"),
        (ObjectMissing("originals/x"), Permanent, "object-missing"),
        (DatabaseAway("gone"), DependencyAway, "dependency-away"),
        (StoreAway("disk full"), DependencyAway, "dependency-away"),
        (PhotoNotFound("deleted"), LeaseLost, "lease-lost"),
        (TimeLimitReached(), TimeLimitReached, "time-limit"),
        (ZeroDivisionError("a bug"), Transient, "internal-error"),
    ],
)
def test_each_exception_means_one_thing(raised: Exception, kind: type[TaskError], code: str) -> None:
    error = as_task_error(raised)
    assert type(error) is kind
    assert error.code == code


def test_every_error_that_a_decoder_can_raise_is_of_the_closed_set() -> None:
    codes = {error.code for error in imaging_errors.ImagingError.__subclasses__()}
    assert codes <= set(ERROR_TYPES)
