"""`flask backup` and `flask restore`: database and store as a folder, and back."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import click

from cli import told
from db.dump import Damaged, NotEmpty
from photos.backup import Backup, Done, NoBackup, NotWritten

_FOLDER = click.Path(file_okay=False, path_type=Path)


def commands(backup: Backup) -> list[click.Command]:
    """The commands over the given room."""

    @click.command("backup", cls=told.Command)
    @click.argument("folder", type=_FOLDER)
    @click.option(
        "--check", is_flag=True, help="Read again what is in FOLDER from backups before, and mend it."
    )
    def make(folder: Path, check: bool) -> None:
        """Add a backup of database and store to FOLDER, while the service runs.

        Objects that are there from a backup before aren't copied again. Exit 1 if one of the store's is
        missing or damaged: the backup holds all the others.
        """
        try:
            done = backup.make(folder, thorough=check)
        except (OSError, NotWritten) as error:
            raise click.ClickException(f"{folder} can't be written to: {error}") from error
        _tell(done, f"{folder / done.name}: {done.rows['photos']} photos, {done.rows['tasks']} tasks")

    @click.command("restore", cls=told.Command)
    @click.argument("folder", type=_FOLDER)
    @click.option("--name", help="Of the backup; by default the newest.")
    def restore(folder: Path, name: str | None) -> None:
        """Fill an empty database, and the store, from FOLDER. API and workers must not run meanwhile.

        Exit 1 if an object of the backup is missing or damaged: all the rest is restored then.
        """
        with _explained():
            done = backup.restore(folder, name)
        _tell(
            done,
            f"{folder / done.name} is restored: {done.rows['photos']} photos, {done.rows['tasks']} tasks",
        )

    return [make, restore]


@contextmanager
def _explained() -> Iterator[None]:
    from alembic.util import CommandError  # 10 MB that the API would have for nothing

    try:
        yield
    except (NoBackup, NotEmpty) as error:
        raise click.ClickException(str(error)) from error
    except NotWritten as error:
        raise click.ClickException(f"the store can't be written to: {error}") from error
    except CommandError as error:  # a schema that these migrations don't know
        raise click.ClickException(f"the backup, or the database, is of a newer version: {error}") from error
    except Damaged as error:
        raise click.ClickException(f"the backup is damaged: {error}") from error


def _tell(done: Done, what: str) -> None:
    for key in done.bad:
        click.echo(f"{key}: missing or damaged", err=True)
    click.echo(f"{what}, {done.copied} objects copied, {len(done.bad)} bad")
    if done.bad:
        raise SystemExit(1)
