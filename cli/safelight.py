"""The `safelight` command: what a client needs, on any machine."""

from __future__ import annotations

import click

from cli import importing


@click.group()
def main() -> None:
    """Safelight's client."""


main.add_command(importing.command)

if __name__ == "__main__":
    main(prog_name="safelight")
