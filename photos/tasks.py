"""Tasks as their photos' owners, and operators, may look at them."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from datetime import datetime
from uuid import UUID

from sqlalchemy import Select, Text, literal_column, select, tuple_

from db.session import Database
from db.tables import photos, tasks
from db.transaction import Transaction
from photos.errors import TaskNotFound
from tasks import views
from tasks.groups import MESSAGE
from tasks.views import AttemptView, TaskView


@dataclass(frozen=True)
class Which:
    """Which tasks are meant; None is any.

    Attributes:
        owner: whose photos'; None for an operator, who sees those of deleted photos too.
        message: as `tasks.groups` has it.
    """

    owner: str | None
    state: str | None = None
    kind: str | None = None
    error_type: str | None = None
    photo_id: UUID | None = None
    message: str | None = None


@dataclass(frozen=True)
class TaskPage:
    """Some tasks, newest first; `last` is where the next page begins, None if there is none."""

    tasks: tuple[TaskView, ...]
    last: tuple[datetime, UUID] | None


class PhotoTasks:
    """Reads tasks; one of another owner's photo isn't there."""

    def __init__(self, database: Database) -> None:
        self._database = database

    def page(self, which: Which, *, limit: int, after: tuple[datetime, UUID] | None = None) -> TaskPage:
        """Tasks, newest first, from behind `after`.

        Raises:
            DatabaseAway
        """
        query = _meant(which)
        if after is not None:
            query = query.where(tuple_(tasks.c.created_at, tasks.c.id) < tuple_(*after))
        query = query.order_by(tasks.c.created_at.desc(), tasks.c.id.desc()).limit(limit + 1)
        with self._database.transaction() as tx:
            ids = list(tx.execute(query).scalars())
            found = views.of_ids(tx, ids[:limit])
        last = (found[-1].created_at, found[-1].id) if len(ids) > limit and found else None
        return TaskPage(tuple(found), last)

    def get(self, task_id: UUID, *, owner: str | None) -> TaskView:
        """One task.

        Raises:
            TaskNotFound, DatabaseAway
        """
        with self._database.transaction() as tx:
            return _get(tx, task_id, owner)

    def with_attempts(self, task_id: UUID, *, owner: str | None) -> tuple[TaskView, Sequence[AttemptView]]:
        """One task and all its attempts, the first first.

        Raises:
            TaskNotFound, DatabaseAway
        """
        with self._database.transaction() as tx:
            return _get(tx, task_id, owner), views.attempts(tx, task_id)

    def newest(self, photo_id: UUID, kind: str) -> TaskView | None:
        """The task that counts for a photo's kind, if there is one."""
        with self._database.transaction() as tx:
            return next((task for task in views.newest(tx, photo_id) if task.kind == kind), None)


def _meant(which: Which) -> Select[tuple[UUID]]:
    query = select(tasks.c.id)
    for column, wanted in (
        (tasks.c.state, which.state),
        (tasks.c.kind, which.kind),
        (tasks.c.error_type, which.error_type),
        (tasks.c.subject, which.photo_id),
    ):
        if wanted is not None:
            query = query.where(column == wanted)
    if which.message is not None:
        query = query.where(literal_column(MESSAGE, Text) == which.message)
    if which.owner is not None:
        query = query.where(tasks.c.subject.in_(select(photos.c.id).where(photos.c.owner == which.owner)))
    return query


def _get(tx: Transaction, task_id: UUID, owner: str | None) -> TaskView:
    meant = _meant(Which(owner)).where(tasks.c.id == task_id)
    if tx.execute(meant).one_or_none() is None or (task := views.get(tx, task_id)) is None:
        raise TaskNotFound(f"there is no task {task_id}")
    return task
