"""Commands that tell in a line what is away, instead of a traceback; events know who ran them."""

from __future__ import annotations

import getpass
import os
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

import click
from flask.cli import AppGroup

from db.transaction import DatabaseAway
from observability.logs import logging_with
from storage.errors import StoreAway


class Command(click.Command):
    """A command by itself."""

    def invoke(self, ctx: click.Context) -> Any:
        """Run it."""
        with _told():
            return super().invoke(ctx)


class Group(AppGroup):
    """A group; it tells for each of its commands."""

    def invoke(self, ctx: click.Context) -> Any:
        """Run the command that was asked for."""
        with _told():
            return super().invoke(ctx)


@contextmanager
def _told() -> Iterator[None]:
    try:
        with logging_with(by=_by()):
            yield
    except DatabaseAway as error:
        raise click.ClickException(f"the database can't be reached: {error}") from error
    except StoreAway as error:
        raise click.ClickException(f"the store can't be reached: {error}") from error


def _by() -> str:
    try:
        return f"cli:{getpass.getuser()}"
    except (KeyError, OSError):  # in a container there may be no such user
        return f"cli:{os.getuid()}"
