"""When a photo is analysed: one call to a slow remote service, and another later, until it is done."""

from __future__ import annotations

import dramatiq

from actors.rooms import Rooms
from db.transaction import Transaction
from photos.analysis import run_of
from photos.asking import next_poll_s
from photos.kinds import ANALYSIS


def declare(broker: dramatiq.Broker, rooms: Rooms) -> None:
    """Declare the actor that asks the service and stores what it answers."""

    @dramatiq.actor(broker=broker, actor_name=ANALYSIS.name, queue_name=ANALYSIS.name)
    def ask(task_id: str) -> None:
        with rooms.work.claimed(ANALYSIS.name, task_id) as task:
            run = run_of(task.task)
            answer = rooms.asking.answer(task.subject, run)

            def save(tx: Transaction) -> None:
                rooms.analyses.save(tx, task.subject, run, answer)

            if answer.done:
                task.complete(save)
            elif failure := rooms.asking.used_up(task.task):
                task.give_up(failure, save)
            else:
                task.poll(save, for_s=next_poll_s(answer, task.task.polls))
