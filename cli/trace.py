"""`flask trace`: a photo's whole story, for whoever asks where it is."""

from __future__ import annotations

import json
from collections.abc import Iterator
from uuid import UUID

import click

from cli import told
from observability.logs import pairs, printable
from photos.story import Moment, Stories, Story


def command(stories: Stories) -> click.Command:
    """The command over the given stories."""

    @click.command("trace", cls=told.Command)
    @click.argument("identity", metavar="PHOTO_OR_TASK_ID")
    @click.option("--json", "as_json", is_flag=True, help="A JSON object a line.")
    @click.option("--tracebacks", is_flag=True, help="Those of failed attempts too.")
    def trace(identity: str, as_json: bool, tracebacks: bool) -> None:
        """Tell a photo's story: taken in, worked on, ready; what failed, why, and what comes next."""
        try:
            story = stories.tell(_id(identity))
        except LookupError as error:
            raise click.ClickException(str(error)) from error
        for line in _json_lines(story, tracebacks) if as_json else _lines(story, tracebacks):
            click.echo(line)

    return trace


def _id(text: str) -> UUID:
    try:
        return UUID(text)
    except ValueError as error:
        raise click.ClickException(f"'{printable(text)}' is no id of a photo or a task") from error


def _lines(story: Story, tracebacks: bool) -> Iterator[str]:
    begun = story.moments[0].at
    yield f"photo {story.photo_id}, since {begun.isoformat(sep=' ', timespec='milliseconds')}"
    for moment in story.moments:
        whom, _, what = moment.event.partition("-")
        line = f"{_offset_s(story, moment):+12.3f} s  {moment.kind or whom:9}{what:14}{pairs(moment.details)}"
        yield line.rstrip()
        if tracebacks and moment.traceback:
            yield from ("    " + printable(line) for line in moment.traceback.splitlines())


def _json_lines(story: Story, tracebacks: bool) -> Iterator[str]:
    for moment in story.moments:
        line = {
            "time": moment.at.isoformat(),
            "offset_s": _offset_s(story, moment),
            "photo_id": story.photo_id,
            "event": moment.event,
            "kind": moment.kind,
            "task_id": moment.task_id,
            **moment.details,
            "traceback": moment.traceback if tracebacks else None,
        }
        yield json.dumps({name: value for name, value in line.items() if value is not None}, default=str)


def _offset_s(story: Story, moment: Moment) -> float:
    return round((moment.at - story.moments[0].at).total_seconds(), 3)
