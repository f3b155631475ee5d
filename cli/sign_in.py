"""`flask sign-in-link`: a way into the console for whoever is on call."""

from __future__ import annotations

import click

from api.key import SCOPES
from api.sessions import Sessions
from cli import told


def command(sessions: Sessions, address: str) -> click.Command:
    """The command over the given sessions.

    Args:
        address: where the API listens.
    """

    @click.command("sign-in-link", cls=told.Command)
    @click.option("--owner", required=True, help="Whose photos the session is for.")
    @click.option("--scope", "scopes", multiple=True, required=True, type=click.Choice(SCOPES))
    @click.option("--at", "base", default=address, show_default=True, help="Address in a browser.")
    def sign_in_link(owner: str, scopes: tuple[str, ...], base: str) -> None:
        """Print a link that signs in to the console: once, within 10 minutes."""
        try:
            link = sessions.make_link(owner, scopes)
        except ValueError as error:
            raise click.UsageError(str(error)) from error
        click.echo(f"{base.rstrip('/')}/sign-in/{link}")

    return sign_in_link
