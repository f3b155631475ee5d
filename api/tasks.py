"""Routes of tasks: looked at by their photos' owners, dealt with one by one, or in bulk by operators."""

from __future__ import annotations

from collections.abc import Callable
from functools import partial
from typing import Any
from uuid import UUID

from flask import url_for
from flask.views import MethodView
from flask_smorest import Blueprint

from api.auth import current_key, requires
from api.errors import PROBLEM, Problem
from api.paging import NEXT, cursor_of, position_of
from api.rooms import rooms
from api.task_schemas import (
    BulkArguments,
    BulkSchema,
    DeadLettersSchema,
    GroupArguments,
    PhotosTaskSchema,
    RequeueArguments,
    RequeuedSchema,
    TaskArguments,
    TasksSchema,
    WholeTaskSchema,
    attempt_json,
    group_json,
)
from photos.tasks import Which
from photos.views import Filters
from tasks.dead_letters import Done
from tasks.filter import Filter
from tasks.views import TaskView

blueprint = Blueprint("tasks", __name__, url_prefix="/v1", description="Tasks, and those that failed")

# A request that changes many tasks ends within this, long before a client or a proxy gives it up.
BULK_S = 10.0
_GROUPS_MAX = 500


def _owner() -> str | None:
    """Whose photos' tasks the current key may deal with; None: an operator's may with all."""
    key = current_key()
    return None if key.allows("admin") else key.owner


@blueprint.route("/tasks")
class Tasks(MethodView):
    """Tasks of the owner's photos; an admin key sees those of all."""

    @requires("photos:read")
    @blueprint.arguments(TaskArguments, location="query")
    @blueprint.response(200, TasksSchema, headers=NEXT)
    @blueprint.alt_response(400, description="The cursor isn't one of ours", **PROBLEM)
    def get(self, arguments: dict[str, Any]) -> tuple[dict[str, Any], int, dict[str, str]]:
        """List tasks, newest first; `Link: rel="next"` leads to the next page."""
        given = {name: value for name, value in arguments.items() if value is not None}
        limit, after = given.pop("limit"), position_of(given.pop("cursor", None))
        page = rooms().tasks.page(Which(_owner(), **given), limit=limit, after=after)
        cursor = cursor_of(page.last)
        headers = {}
        if cursor is not None:
            link = url_for("tasks.Tasks", **given, limit=limit, cursor=cursor)
            headers["Link"] = f'<{link}>; rel="next"'
        return {"tasks": page.tasks, "next_cursor": cursor}, 200, headers


@blueprint.route("/tasks/<uuid:task_id>")
class Task(MethodView):
    """One task."""

    @requires("photos:read")
    @blueprint.response(200, WholeTaskSchema)
    @blueprint.alt_response(404, description="No such task, or one of another owner's photo", **PROBLEM)
    def get(self, task_id: UUID) -> dict[str, Any]:
        """The task with all its attempts; with an admin key, their tracebacks too."""
        task, attempts = rooms().tasks.with_attempts(task_id, owner=_owner())
        admin = current_key().allows("admin")
        return {**vars(task), "history": [attempt_json(made, admin=admin) for made in attempts]}


@blueprint.route("/tasks/<uuid:task_id>/requeue")
class Requeue(MethodView):
    """Running a failed task again."""

    @requires("photos:write")
    @blueprint.response(202, PhotosTaskSchema, description="It will run")
    @blueprint.alt_response(404, description="No such task, or one of another owner's photo", **PROBLEM)
    @blueprint.alt_response(409, description="The task isn't failed", **PROBLEM)
    def post(self, task_id: UUID) -> TaskView:
        """Run a failed task again, from its first attempt.

        If another one for the same purpose is live already, that one is answered, and this one is discarded.
        """
        tasks, owner = rooms().tasks, _owner()
        task = tasks.get(task_id, owner=owner)
        outcome = rooms().dead_letters.requeue(task_id)
        if outcome == "unchanged":
            state = tasks.get(task_id, owner=owner).state
            raise Problem(409, "task-not-failed", f"the task is {state}: only a failed one can be requeued")
        twin = tasks.newest(task.subject, task.kind) if outcome == "joined" else None
        return twin or tasks.get(task_id, owner=owner)


@blueprint.route("/tasks/<uuid:task_id>/cancel")
class Cancel(MethodView):
    """Stopping a live task."""

    @requires("photos:write")
    @blueprint.response(202, PhotosTaskSchema, description="It is cancelled; who has it in hand will stop")
    @blueprint.alt_response(404, description="No such task, or one of another owner's photo", **PROBLEM)
    @blueprint.alt_response(409, description="The task has ended", **PROBLEM)
    def post(self, task_id: UUID) -> TaskView:
        """Stop a task that waits or is being processed; its result won't be kept."""
        tasks, owner = rooms().tasks, _owner()
        tasks.get(task_id, owner=owner)
        if rooms().dead_letters.cancel(task_id) == "unchanged":
            state = tasks.get(task_id, owner=owner).state
            raise Problem(409, "task-ended", f"the task is {state}: only a live one can be cancelled")
        return tasks.get(task_id, owner=owner)


@blueprint.route("/tasks/requeue")
class RequeueMany(MethodView):
    """Running many failed tasks again."""

    @requires("admin")
    @blueprint.arguments(RequeueArguments)
    @blueprint.response(200, BulkSchema)
    def post(self, arguments: dict[str, Any]) -> dict[str, Any]:
        """Requeue all failed tasks that are meant, behind what is fresh; ask again while some remain."""
        batch_id = arguments.pop("batch_id", None)
        requeue = partial(rooms().dead_letters.requeue_all, limit_s=BULK_S, batch_id=batch_id)
        return _bulk(arguments, requeue)


@blueprint.route("/tasks/discard")
class DiscardMany(MethodView):
    """Giving many failed tasks up."""

    @requires("admin")
    @blueprint.arguments(BulkArguments)
    @blueprint.response(200, BulkSchema)
    def post(self, arguments: dict[str, Any]) -> dict[str, Any]:
        """Discard all failed tasks that are meant; ask again while some remain."""
        return _bulk(arguments, partial(rooms().dead_letters.discard_all, limit_s=BULK_S))


@blueprint.route("/tasks/batches/<uuid:batch_id>")
class Batch(MethodView):
    """Tasks that were requeued together."""

    @requires("admin")
    @blueprint.response(200, RequeuedSchema)
    def get(self, batch_id: UUID) -> dict[str, Any]:
        """What has become of the tasks that were requeued with this `batch_id`, and not again since."""
        return {"states": rooms().dead_letters.batch(batch_id)}


@blueprint.route("/dead-letters")
class DeadLetters(MethodView):
    """Failed tasks in groups."""

    @requires("admin")
    @blueprint.arguments(GroupArguments, location="query")
    @blueprint.response(200, DeadLettersSchema)
    def get(self, arguments: dict[str, Any]) -> dict[str, Any]:
        """Failed tasks by kind, type of error and message, the largest group first."""
        groups = rooms().dead_letters.groups(**arguments, limit=_GROUPS_MAX)
        newest = Filters(ids=[group.subject for group in groups])
        own = rooms().views.page(owner=current_key().owner, limit=_GROUPS_MAX, filters=newest, brief=True)
        photos = {photo.id: photo for photo in own.photos}
        return {"groups": [group_json(group, photos.get(group.subject)) for group in groups]}


def _bulk(arguments: dict[str, Any], change: Callable[[Filter], Done]) -> dict[str, Any]:
    """Change all that is meant, or only count it."""
    dry_run = arguments["dry_run"]
    given = {name: value for name, value in arguments.items() if name not in ("all", "dry_run")}
    if "ids" in given:
        given["ids"] = tuple(given["ids"])
    as_of, which = rooms().overview.now(), Filter(**given)
    done = Done(remaining=rooms().dead_letters.count(which)) if dry_run else change(which)
    return {"dry_run": dry_run, "as_of": as_of, "outcomes": done.outcomes, "remaining": done.remaining}
