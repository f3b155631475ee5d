"""The SQL of claims: taking tasks into hand, with what they take along, and keeping them there."""

from db.prepared import Prepared
from tasks.statements import LIVE, NOT_PAUSED, UNBOUND

# Both say it so that only the one index fits that finds a single task: those of queued and of pending tasks
# look cheapest while such are few, and are read from end to end when they are many.
_QUEUED = f"queued_at IS NOT NULL AND {NOT_PAUSED.format(queue='tasks.queue')}"
_PENDING_NEW = f"state IN ({LIVE}) AND queued_at IS NULL AND token = 0"
"""Pending, and never had in hand."""

# What was taken along had no time of its own yet; it waited since it was submitted, as all do at first.
_CLAIMED = """id, kind, subject, token, trace_id, attempts, snoozes, polls, begun_at,
    extract(epoch FROM started_at - CASE WHEN token = 1 THEN created_at ELSE run_at END)::float8
        AS waited_s,
    extract(epoch FROM started_at - begun_at)::float8 AS age_s"""


def _claim(name: str, *, lock: str) -> Prepared:
    """Of tasks, with those that they take along.

    By LATERAL and ANY each is looked up by itself, whatever the planner, which plans once, makes of how many.
    """
    return Prepared(
        name,
        f"""
    WITH free AS (
        SELECT task.id, subject, along, limit_s
        FROM unnest(CAST(:id AS uuid[]), CAST(:dispatch AS bigint[]), CAST(:limit_s AS float8[]),
                    CAST(:along AS text[])) AS wanted (id, dispatch, limit_s, along)
        CROSS JOIN LATERAL (
            SELECT id, subject FROM tasks
            WHERE id = wanted.id AND {_QUEUED} AND coalesce(wanted.dispatch >= published, true)
            {lock}
        ) AS task
    ), along AS (
        SELECT task.id, limit_s
        FROM free
        CROSS JOIN LATERAL (
            SELECT id FROM tasks
            WHERE kind = free.along AND subject = free.subject AND {_PENDING_NEW}
              AND {UNBOUND.format(queue="tasks.queue")}
            FOR UPDATE SKIP LOCKED
        ) AS task
    ), taken AS (
        SELECT id, limit_s FROM free UNION ALL SELECT id, limit_s FROM along
    ), claimed AS (
        UPDATE tasks
        SET state = 'processing', token = token + 1, attempts = attempts + 1, worker = :worker,
            queued_at = NULL, started_at = clock_timestamp(),
            begun_at = coalesce(begun_at, clock_timestamp()),
            lease_until = clock_timestamp() + make_interval(secs => :lease_s),
            lease_limit = clock_timestamp() + make_interval(secs =>
                (SELECT max(limit_s) FROM taken WHERE taken.id = tasks.id))
        WHERE id = ANY(ARRAY(SELECT id FROM taken))
        RETURNING {_CLAIMED}, worker, started_at
    ), attempt AS (
        INSERT INTO attempts (task_id, token, number, worker, started_at)
        SELECT id, token, attempts, worker, started_at FROM claimed
    ), event AS (
        INSERT INTO events (type, subject, task_id, kind, data)
        SELECT 'task-started', subject, id, kind,
               jsonb_build_object('attempt', attempts, 'waited_s', round(waited_s::numeric, 3))
        FROM claimed
    )
    SELECT id, kind, subject, token, trace_id, attempts, snoozes, polls, begun_at, waited_s, age_s
    FROM claimed
    """,
    )


CLAIM = _claim("claim_task", lock="FOR UPDATE")
CLAIM_MANY = _claim("claim_tasks", lock="FOR UPDATE SKIP LOCKED")

HASTEN = f"""
UPDATE tasks SET run_at = statement_timestamp()
WHERE kind = :kind AND subject = :subject AND {_PENDING_NEW} AND run_at > statement_timestamp()
"""

CLAIMED_BY = f"""
SELECT {_CLAIMED} FROM tasks
WHERE state = 'processing' AND worker = :worker
  AND (id = :id OR kind = :along AND subject = (SELECT subject FROM tasks WHERE id = :id))
"""

TOUCH = """
UPDATE tasks SET lease_until = least(clock_timestamp() + make_interval(secs => :lease_s), lease_limit)
FROM (
    SELECT tasks.id FROM tasks
    JOIN unnest(CAST(:ids AS uuid[]), CAST(:tokens AS bigint[])) AS claim (id, token)
      ON tasks.id = claim.id AND tasks.token = claim.token
    WHERE tasks.state = 'processing' ORDER BY tasks.id FOR UPDATE OF tasks
) AS held
WHERE tasks.id = held.id
RETURNING tasks.id, tasks.token
"""
