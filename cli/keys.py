"""`flask keys`: who may use the API."""

from __future__ import annotations

from datetime import UTC, datetime, timedelta

import click

from api.key import SCOPES, Key
from api.keys import OVERLAP, Keys
from cli import told
from cli.times import Duration, Expiry, shown


def commands(keys: Keys) -> told.Group:
    """The group over the given keys."""
    group = told.Group("keys", help="API keys.")

    @group.command("create")
    @click.option("--owner", required=True, help="Whose photos the key is for.")
    @click.option("--scope", "scopes", multiple=True, required=True, type=click.Choice(SCOPES))
    @click.option("--expires-in", "expires", type=Expiry(), help="As 90d, or a date; never by default.")
    def create(owner: str, scopes: tuple[str, ...], expires: timedelta | datetime | None) -> None:
        """Make a key and print it, this once."""
        try:
            click.echo(keys.create(owner, scopes, expires=expires))
        except ValueError as error:
            raise click.UsageError(str(error)) from error

    @group.command("list")
    def list_keys() -> None:
        """Print id, owner, scopes, state and last use of every key."""
        for key in keys.list():
            used = f"used {_minute(key.last_used_at)}" if key.last_used_at else "never used"
            click.echo(f"{key.id}  {key.owner}  {','.join(key.scopes)}  {_state(key)}  {used}")

    @group.command("revoke")
    @click.argument("identity")
    def revoke(identity: str) -> None:
        """End a key; running processes know it within 5 s."""
        if not keys.revoke(identity):
            raise click.ClickException(f"there is no live key {identity}")

    @group.command("rotate")
    @click.argument("identity")
    @click.option(
        "--overlap",
        type=Duration(),
        default=OVERLAP,
        show_default="24h",
        help="How long the old key goes on; 0: it ends at once.",
    )
    def rotate(identity: str, overlap: timedelta) -> None:
        """Make a key with the same owner and scopes and print it; the old one expires after the overlap."""
        try:
            click.echo(keys.rotate(identity, overlap=overlap))
        except LookupError as error:
            raise click.ClickException(str(error)) from error

    return group


def _state(key: Key) -> str:
    if key.state != "live" or key.expires_at is None:
        return key.state
    return f"live, expires in {shown(key.expires_at - datetime.now(UTC))}"


def _minute(at: datetime) -> str:
    return f"{at.astimezone(UTC):%Y-%m-%d %H:%MZ}"
