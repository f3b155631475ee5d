"""`flask tasks`: look at tasks, put right what failed, pause and resume queues."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from typing import Any
from uuid import UUID

import click

from cli import told
from db.session import Database
from db.tables import TASK_STATES
from tasks import views
from tasks.dead_letters import DeadLetters, Outcome
from tasks.filter import Filter
from tasks.queues import Queues

Decorator = Callable[[Callable[..., Any]], Callable[..., Any]]


def commands(
    database: Database,
    dead_letters: DeadLetters,
    queues: Queues,
    *,
    kinds: Sequence[str],
    error_types: Sequence[str],
) -> told.Group:
    """The group over the given rooms; other kinds and error types than those given are refused."""
    group = told.Group("tasks", help="Tasks, dead letters and queues.")
    which = _filter_options(kinds, error_types)
    group.add_command(_list(database, which))
    group.add_command(_show(database))
    group.add_command(_change("requeue", "Run failed tasks again", dead_letters, which))
    group.add_command(_change("discard", "Give failed tasks up", dead_letters, which))
    group.add_command(_cancel(dead_letters))
    group.add_command(_switch("pause", "Begin no task of a queue", queues, paused=True))
    group.add_command(_switch("resume", "Begin a queue's tasks again", queues, paused=False))
    group.add_command(_rate(queues))
    return group


def _filter_options(kinds: Sequence[str], error_types: Sequence[str]) -> Decorator:
    """`--kind` and `--error-type`, of closed sets."""
    by_kind = click.option("--kind", type=click.Choice(kinds))
    by_error = click.option("--error-type", type=click.Choice(error_types))
    return lambda command: by_kind(by_error(command))


def _list(database: Database, which: Decorator) -> click.Command:
    @click.command("list")
    @click.option("--state", type=click.Choice(TASK_STATES), default="failed", show_default=True)
    @which
    @click.option("--limit", type=click.IntRange(1, 10_000), default=50, show_default=True)
    def list_tasks(state: str, kind: str | None, error_type: str | None, limit: int) -> None:
        """Print tasks, the newest first."""
        with database.transaction() as tx:
            found = views.find(tx, state=state, kind=kind, error_type=error_type, limit=limit)
        for task in found:
            error = f"  {task.error.type}: {task.error.detail}" if task.error else ""
            tried = f"{task.attempts}/{task.max_attempts}"
            line = f"{task.id}  {task.kind} of {task.subject}  {task.state}  {tried}{error}"
            click.echo(line.replace("\n", " "))

    return list_tasks


def _show(database: Database) -> click.Command:
    @click.command("show")
    @click.argument("task_id", type=click.UUID)
    @click.option("--traceback/--no-traceback", default=True)
    def show(task_id: UUID, traceback: bool) -> None:
        """Print one task with all its attempts."""
        with database.transaction() as tx:
            task = views.get(tx, task_id)
            attempts = views.attempts(tx, task_id)
        if task is None:
            raise click.ClickException(f"there is no task {task_id}")
        for name, value in vars(task).items():
            click.echo(f"{name:14}{value}")
        for attempt in attempts:
            click.echo(
                f"attempt {attempt.number} by {attempt.worker}: {attempt.started_at} to {attempt.finished_at}"
                f"  {attempt.outcome}  {attempt.error_type or ''}  {attempt.error_detail or ''}"
            )
            if traceback and attempt.traceback:
                click.echo(attempt.traceback)

    return show


def _change(name: str, help_text: str, dead_letters: DeadLetters, which: Decorator) -> click.Command:
    one = dead_letters.requeue if name == "requeue" else dead_letters.discard
    many = dead_letters.requeue_all if name == "requeue" else dead_letters.discard_all

    @click.command(name, help=f"{help_text}: one by id, or all that the options mean.")
    @click.argument("task_id", type=click.UUID, required=False)
    @which
    @click.option("--all", "everything", is_flag=True, help="All failed tasks.")
    @click.option("--dry-run", is_flag=True, help="Only say how many there are.")
    def change(
        task_id: UUID | None, kind: str | None, error_type: str | None, everything: bool, dry_run: bool
    ) -> None:
        if task_id is not None:
            with _lookups_told():
                click.echo(one(task_id))
            return
        if not (kind or error_type or everything):
            raise click.UsageError("give a task's id, --kind, --error-type or --all")
        meant = Filter(kind, error_type)
        if dry_run:
            click.echo(f"{dead_letters.count(meant)} failed tasks")
            return
        click.echo(_sum_up(many(meant).outcomes))

    return change


def _cancel(dead_letters: DeadLetters) -> click.Command:
    @click.command("cancel")
    @click.argument("task_id", type=click.UUID)
    def cancel(task_id: UUID) -> None:
        """Stop a live task."""
        with _lookups_told():
            click.echo(dead_letters.cancel(task_id))

    return cancel


def _switch(name: str, help_text: str, queues: Queues, *, paused: bool) -> click.Command:
    @click.command(name, help=f"{help_text}.")
    @click.argument("queue")
    def switch(queue: str) -> None:
        with _lookups_told():
            queues.set_paused(queue, paused)
        click.echo(f"{queue} is {'paused' if paused else 'running'}")

    return switch


def _rate(queues: Queues) -> click.Command:
    @click.command("rate")
    @click.argument("queue")
    @click.argument("per_s", metavar="TASKS_PER_SECOND|none")
    def rate(queue: str, per_s: str) -> None:
        """Begin at most so many of a queue's tasks a second (0.5: one every two seconds)."""
        with _lookups_told():
            try:
                queues.set_rate(queue, None if per_s == "none" else float(per_s))
            except ValueError as error:
                raise click.UsageError(str(error)) from error
        click.echo(f"{queue} has no rate" if per_s == "none" else f"{queue} has a rate of {per_s} a second")

    return rate


@contextmanager
def _lookups_told() -> Iterator[None]:
    """What isn't there is a message, not a traceback."""
    try:
        yield
    except LookupError as error:
        raise click.ClickException(str(error)) from error


def _sum_up(counts: Mapping[Outcome, int]) -> str:
    return ", ".join(f"{count} {outcome}" for outcome, count in counts.items()) or "none"
