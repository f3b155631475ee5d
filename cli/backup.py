"""`flask backup` and `flask restore`: database and store as a folder, and back."""

from __future__ import annotations

from pathlib import Path

import click
from alembic.util import CommandError

from cli import told
from db.dump import Damaged, NotEmpty
from photos.backup import Backup, NoBackup
from photos.upkeep import Upkeep

_FOLDER = click.Path(file_okay=False, path_type=Path)


def commands(backup: Backup, upkeep: Upkeep) -> list[click.Command]:
    """The commands over the given rooms."""

    @click.command("backup", cls=told.Command)
    @click.argument("folder", type=_FOLDER)
    def make(folder: Path) -> None:
        """Add a backup of database and store to FOLDER, while the service runs.

        Objects that are there from a backup before aren't copied again. Exit 1 if one of the store's is
        missing or damaged: the backup holds all the others.
        """
        try:
            made = backup.make(folder)
        except OSError as error:
            raise click.ClickException(f"{folder} can't be written to: {error}") from error
        for key in made.bad:
            click.echo(f"{key}: missing or damaged", err=True)
        rows = f"{made.rows['photos']} photos, {made.rows['tasks']} tasks"
        click.echo(f"{folder / made.name}: {rows}, {made.copied} objects copied, {len(made.bad)} bad")
        if made.bad:
            raise SystemExit(1)

    @click.command("restore", cls=told.Command)
    @click.argument("folder", type=_FOLDER)
    @click.option("--name", help="Of the backup; by default the newest.")
    def restore(folder: Path, name: str | None) -> None:
        """Fill an empty database, and the store, from FOLDER. API and workers must not run meanwhile."""
        try:
            restored, copied = backup.restore(folder, name)
        except (NoBackup, NotEmpty) as error:
            raise click.ClickException(str(error)) from error
        except CommandError as error:  # a schema that these migrations don't know
            raise click.ClickException(f"the backup is of a newer version: {error}") from error
        except Damaged as error:
            raise click.ClickException(f"the backup is damaged: {error}") from error
        mismatches = list(upkeep.verify(repair=False))
        for each in mismatches:
            click.echo(f"{each.photo_id}  {each.key}  {each.problem}", err=True)
        click.echo(f"{folder / restored} is restored, {copied} objects copied, {len(mismatches)} mismatches")
        if mismatches:
            raise SystemExit(1)

    return [make, restore]
