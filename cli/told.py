"""Commands that tell in a line what is away, instead of a traceback."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

import click
from flask.cli import AppGroup

from db.session import DatabaseAway
from storage.store import StoreAway


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
        yield
    except DatabaseAway as error:
        raise click.ClickException(f"the database can't be reached: {error}") from error
    except StoreAway as error:
        raise click.ClickException(f"the store can't be reached: {error}") from error
