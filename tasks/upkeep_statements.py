"""The SQL of what operators, owners and retention do to tasks; see `tasks.states`.

`:origin` is who asked for it, as far as that is known; it is kept with the event.
"""

from tasks.statements import LIVE

CANCEL = f"""
WITH ended AS (
    UPDATE tasks
    SET state = 'cancelled', finished_at = clock_timestamp(), queued_at = NULL, lease_until = NULL,
        lease_limit = NULL, rerun = false
    WHERE {{which}} AND state IN ({LIVE})
    RETURNING id, kind, subject, token
), attempt AS (
    UPDATE attempts SET finished_at = clock_timestamp(), outcome = 'cancelled'
    FROM ended
    WHERE attempts.task_id = ended.id AND attempts.token = ended.token AND attempts.finished_at IS NULL
), event AS (
    INSERT INTO events (type, subject, task_id, kind, data)
    SELECT 'task-cancelled', subject, id, kind, CAST(:origin AS jsonb) FROM ended
)
SELECT id FROM ended
"""
CANCEL_ONE = CANCEL.format(which="id = :id")
# in the order in which a heartbeat locks them
CANCEL_ALL = CANCEL.format(
    which="id IN (SELECT id FROM tasks WHERE subject = :subject ORDER BY id FOR UPDATE)"
)

REQUEUE = f"""
WITH requeued AS (
    UPDATE tasks
    SET state = 'pending', attempts = 0, polls = 0, begun_at = NULL, finished_at = NULL, rerun = false,
        priority = :priority, batch_id = :batch_id,
        run_at = clock_timestamp() + make_interval(secs => :delay_s)
    WHERE id = :id AND state = 'failed' AND NOT EXISTS (
        SELECT FROM tasks AS twin WHERE twin.kind = tasks.kind AND twin.subject = tasks.subject
        AND twin.state IN ({LIVE}))
    RETURNING id, kind, subject
), event AS (
    INSERT INTO events (type, subject, task_id, kind, data)
    SELECT 'task-requeued', subject, id, kind, CAST(:origin AS jsonb) FROM requeued
)
SELECT id FROM requeued
"""

DISCARD = """
WITH discarded AS (
    UPDATE tasks SET state = 'discarded', finished_at = clock_timestamp()
    WHERE {which} AND state = 'failed'
    RETURNING id, kind, subject
), event AS (
    INSERT INTO events (type, subject, task_id, kind, data)
    SELECT 'task-discarded', subject, id, kind, CAST(:origin AS jsonb) FROM discarded
)
SELECT id FROM discarded
"""
DISCARD_ONE = DISCARD.format(which="id = :id")
DISCARD_ALL = DISCARD.format(which="subject = :subject")
DISCARD_OF_KIND = DISCARD.format(which="kind = :kind AND subject = :subject")

UNPUBLISH = """
UPDATE tasks SET state = 'pending', queued_at = NULL, sent_at = NULL
WHERE queue = :kind AND state = 'queued'
"""
UNPUBLISH_PAUSED = UNPUBLISH + " AND EXISTS (SELECT FROM queues WHERE name = :kind AND paused)"

PRUNE = """
WITH old AS (
    DELETE FROM tasks WHERE id IN (
        SELECT id FROM tasks
        WHERE state IN ('completed', 'cancelled', 'discarded')
          AND finished_at < statement_timestamp() - make_interval(secs => :retention_s)
        ORDER BY finished_at LIMIT :limit FOR UPDATE SKIP LOCKED)
    RETURNING id
), history AS (
    DELETE FROM events USING old WHERE events.task_id = old.id
)
SELECT count(*) FROM old
"""
PRUNE_EVENTS = """
DELETE FROM events WHERE id IN (
    SELECT id FROM events
    WHERE task_id IS NULL AND created_at < statement_timestamp() - make_interval(secs => :retention_s)
    ORDER BY created_at LIMIT :limit)
"""
