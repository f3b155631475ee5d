"""`flask keys`: who may use the API."""

from __future__ import annotations

import click

from api.keys import SCOPES, Keys
from cli import told


def commands(keys: Keys) -> told.Group:
    """The group over the given keys."""
    group = told.Group("keys", help="API keys.")

    @group.command("create")
    @click.option("--owner", required=True, help="Whose photos the key is for.")
    @click.option("--scope", "scopes", multiple=True, required=True, type=click.Choice(SCOPES))
    def create(owner: str, scopes: tuple[str, ...]) -> None:
        """Make a key and print it, this once."""
        try:
            click.echo(keys.create(owner, scopes))
        except ValueError as error:
            raise click.UsageError(str(error)) from error

    @group.command("list")
    def list_keys() -> None:
        """Print id, owner, scopes and state of every key."""
        for key in keys.list():
            state = "revoked" if key.revoked_at else "live"
            click.echo(f"{key.id}  {key.owner}  {','.join(key.scopes)}  {state}")

    @group.command("revoke")
    @click.argument("identity")
    def revoke(identity: str) -> None:
        """End a key at once."""
        if not keys.revoke(identity):
            raise click.ClickException(f"there is no live key {identity}")

    return group
