"""`flask db`, `flask verify`, `flask sweep`: the schema, and rows and objects in step."""

from __future__ import annotations

import click

from cli import told
from db.migrate import upgrade
from photos.upkeep import ORPHAN_AGE_S, Upkeep


def database_commands(database_url: str) -> told.Group:
    """The group over the given database."""
    group = told.Group("db", help="The database's schema.")

    @group.command("upgrade")
    def upgrade_schema() -> None:
        """Run the migrations that are missing."""
        upgrade(database_url)

    return group


def commands(upkeep: Upkeep) -> list[click.Command]:
    """The commands that compare rows and objects."""

    @click.command("verify", cls=told.Command)
    @click.option("--repair", is_flag=True, help="Have missing previews made again.")
    def verify(repair: bool) -> None:
        """Compare rows with stored objects; exit 1 if something is missing and can't be repaired."""
        found, left = 0, 0
        for mismatch in upkeep.verify(repair=repair):
            found += 1
            left += not mismatch.repaired
            done = "  (being made again)" if mismatch.repaired else ""
            click.echo(f"{mismatch.photo_id}  {mismatch.key}  {mismatch.problem}{done}")
        click.echo(f"{found} mismatches, {left} left")
        if left:
            raise SystemExit(1)

    @click.command("sweep", cls=told.Command)
    @click.option(
        "--older-than",
        "older_than_s",
        type=click.FloatRange(min=ORPHAN_AGE_S),
        default=ORPHAN_AGE_S,
        show_default=True,
        help="Seconds. An upload's object is there before its row: the age keeps it from the sweep.",
    )
    def sweep(older_than_s: float) -> None:
        """Remove objects that no row names. Workers do so by themselves every ten minutes."""
        click.echo(f"{upkeep.sweep(older_than_s=older_than_s)} objects removed")

    return [verify, sweep]
