"""The SQL of `tasks.states`. Every statement writes its event, and its attempt, along with the change."""

from db.prepared import Prepared
from db.tables import LIVE_STATES

LIVE = ", ".join(f"'{state}'" for state in LIVE_STATES)
NOT_PAUSED = "NOT EXISTS (SELECT FROM queues WHERE name = {queue} AND paused)"
UNBOUND = "NOT EXISTS (SELECT FROM queues WHERE name = {queue} AND (paused OR rate_per_s IS NOT NULL))"

SUBMIT = Prepared(
    "submit_tasks",
    f"""
WITH given AS MATERIALIZED (
    SELECT id, kind, max_attempts,
           run_at, run_at <= statement_timestamp() AND {UNBOUND.format(queue="kind")}
       AND (SELECT 1 FROM tasks WHERE queue = asked.kind AND state = 'pending'
            AND run_at <= statement_timestamp() AND priority <= 0 LIMIT 1) IS NULL
       AND (SELECT count(*) FROM (SELECT FROM tasks WHERE queue = asked.kind AND state = 'queued'
                                  LIMIT :window) AS counted) < :window AS free
    FROM unnest(CAST(:ids AS uuid[]), CAST(:kinds AS text[]), CAST(:max_attempts AS int[]),
                CAST(:delays_s AS float8[])) AS asked (id, kind, max_attempts, delay_s),
         LATERAL (SELECT statement_timestamp() + make_interval(secs => delay_s) AS run_at) AS due
), submitted AS (
    INSERT INTO tasks
        (id, kind, queue, subject, state, run_at, max_attempts, dispatch, published, queued_at, sent_at,
         trace_id)
    SELECT id, kind, kind, :subject, CASE WHEN free THEN 'queued' ELSE 'pending' END, run_at, max_attempts,
           CASE WHEN free THEN 1 ELSE 0 END, CASE WHEN free THEN 1 END,
           CASE WHEN free THEN statement_timestamp() END, CASE WHEN free THEN statement_timestamp() END,
           :trace_id
    FROM given
    ON CONFLICT (kind, subject) WHERE state IN ({LIVE})
    DO UPDATE SET rerun = tasks.rerun OR (tasks.kind = ANY(:rerun) AND tasks.state = 'processing')
    RETURNING id, kind, subject, state, dispatch, xmax = 0 AS created
), event AS (
    INSERT INTO events (type, subject, task_id, kind, data)
    SELECT 'task-submitted', subject, id, kind, jsonb_build_object('state', state)
    FROM submitted WHERE created
)
SELECT id, kind, state, created FROM submitted
""",
)

SUBMIT_MANY = f"""
WITH submitted AS (
    INSERT INTO tasks (id, kind, queue, subject, state, max_attempts, trace_id)
    SELECT id, :kind, :kind, subject, 'pending', :max_attempts, :trace_id
    FROM unnest(CAST(:ids AS uuid[]), CAST(:subjects AS uuid[])) AS given (id, subject)
    ON CONFLICT (kind, subject) WHERE state IN ({LIVE})
    DO UPDATE SET rerun = tasks.rerun OR (:rerun AND tasks.state = 'processing')
    RETURNING id, kind, subject, xmax = 0 AS created
), event AS (
    INSERT INTO events (type, subject, task_id, kind)
    SELECT 'task-submitted', subject, id, kind FROM submitted WHERE created
)
SELECT count(*) FROM submitted WHERE created
"""

PUBLISH = f"""
WITH due AS (
    SELECT id FROM tasks
    WHERE queue = :kind AND state = 'pending' AND run_at <= statement_timestamp()
      AND (priority > 0) = :bulk AND {NOT_PAUSED.format(queue=":kind")}
    ORDER BY priority, run_at, id
    LIMIT least(CAST(:at_most AS bigint), greatest(0, :window - (SELECT count(*) FROM (
        SELECT FROM tasks WHERE queue = :kind AND state = 'queued' LIMIT :window) AS counted)))
    FOR UPDATE SKIP LOCKED
)
UPDATE tasks
SET state = 'queued', queued_at = statement_timestamp(), sent_at = statement_timestamp(),
    dispatch = dispatch + 1, published = dispatch + 1
FROM due WHERE tasks.id = due.id
RETURNING tasks.id, tasks.dispatch, tasks.priority, tasks.run_at
"""

UNSENT = """
SELECT id FROM tasks
WHERE queue = :kind AND state = 'queued'
  AND queued_at < statement_timestamp() - make_interval(secs => :after_s)
  AND (sent_at = queued_at OR sent_at < statement_timestamp() - make_interval(secs => 3 * :after_s))
"""

RESEND = """
UPDATE tasks SET dispatch = dispatch + 1, sent_at = clock_timestamp()
WHERE id = ANY(:ids) AND state = 'queued'
RETURNING id, dispatch
"""

EXPIRED = """
SELECT id, kind, subject, token, trace_id FROM tasks
WHERE state = 'processing' AND lease_until < statement_timestamp() AND kind = ANY(:kinds)
  AND pg_postmaster_start_time() < statement_timestamp() - make_interval(secs => :lease_s)
ORDER BY lease_until LIMIT 100
"""


_HELD = "WHERE id = :id AND token = :token AND state = 'processing'"


def _ending(
    name: str,
    changes: str,
    outcome: str,
    *,
    which: str = _HELD,
    chosen: str = "",
    then: str = "",
) -> Prepared:
    """The fenced statement that ends attempts; `outcome` is an SQL expression over a changed row."""
    return Prepared(
        name,
        f"""
    WITH {chosen}ended AS (
        UPDATE tasks
        SET {changes}, lease_until = NULL, lease_limit = NULL
        {which}
        RETURNING id, kind, subject, token, rerun, error_type, attempts, {outcome} AS outcome,
                  CASE WHEN state = 'pending' THEN run_at END AS next_run_at
    ), attempt AS (
        UPDATE attempts
        SET finished_at = clock_timestamp(), outcome = ended.outcome, error_type = :error_type,
            error_detail = :error_detail, traceback = :traceback
        FROM ended WHERE attempts.task_id = ended.id AND attempts.token = ended.token
    ), event AS (
        INSERT INTO events (type, subject, task_id, kind, data)
        SELECT 'task-' || outcome, subject, id, kind,
               jsonb_strip_nulls(jsonb_build_object(
                   'error_type', CAST(:error_type AS text), 'run_at', next_run_at))
        FROM ended
    ){then}
    SELECT id, token, outcome, rerun, attempts,
           extract(epoch FROM next_run_at - clock_timestamp())::float8 AS again_in_s
    FROM ended
    """,
    )


_USED_UP = "attempts >= max_attempts"
# What failed before for the same purpose needs nobody any more.
_SUPERSEDE = """, superseded AS (
        UPDATE tasks SET state = 'discarded', finished_at = clock_timestamp()
        FROM ended
        WHERE tasks.kind = ended.kind AND tasks.subject = ended.subject AND tasks.state = 'failed'
        RETURNING tasks.id, tasks.kind, tasks.subject
    ), told AS (
        INSERT INTO events (type, subject, task_id, kind)
        SELECT 'task-discarded', subject, id, kind FROM superseded
    )"""
_COMPLETED = "state = 'completed', finished_at = clock_timestamp(), error_type = NULL, error_detail = NULL"
COMPLETE = _ending("complete_task", _COMPLETED, "'completed'", then=_SUPERSEDE)
COMPLETE_MANY = _ending(
    "complete_tasks",
    _COMPLETED,
    "'completed'",
    which="WHERE id = ANY(ARRAY(SELECT id FROM held))",
    chosen="""held AS (
        SELECT task.id FROM unnest(CAST(:id AS uuid[]), CAST(:token AS bigint[])) AS claim (id, token)
        CROSS JOIN LATERAL (
            SELECT id FROM tasks WHERE id = claim.id AND token = claim.token AND state = 'processing'
            FOR UPDATE
        ) AS task
    ), """,
    then=_SUPERSEDE,
)
FAIL = _ending(
    "fail_task",
    "state = 'failed', finished_at = clock_timestamp(), error_type = :error_type,"
    " error_detail = :error_detail",
    "'failed'",
)
RETRY = _ending(
    "retry_task",
    f"""state = CASE WHEN {_USED_UP} THEN 'failed' ELSE 'pending' END,
        finished_at = CASE WHEN {_USED_UP} THEN clock_timestamp() END,
        run_at = CASE WHEN {_USED_UP} THEN run_at ELSE clock_timestamp() + make_interval(secs =>
            greatest(:at_least_s, random() * least(:cap_s, :base_s * 2.0 ^ (attempts - 1)))) END,
        error_type = :error_type, error_detail = :error_detail, snoozes = 0""",
    "CASE WHEN state = 'failed' THEN 'failed' ELSE 'retried' END",
    which=f"{_HELD} AND (NOT :expired OR lease_until < clock_timestamp())",
)
SNOOZE = _ending(
    "snooze_task",
    "state = 'pending', attempts = attempts - 1, snoozes = snoozes + 1,"
    " run_at = clock_timestamp() + make_interval(secs => :for_s)",
    "'snoozed'",
)
# No sooner than whatever waits: its turn comes by `run_at`, and no priority helps it.
POLL = _ending(
    "poll_task",
    "state = 'pending', attempts = 0, snoozes = 0, polls = polls + 1, priority = greatest(priority, 0),"
    " run_at = clock_timestamp() + make_interval(secs => :for_s), error_type = NULL, error_detail = NULL",
    "'snoozed'",
)

COMPLETED_WITH = """
SELECT 'completed' AS outcome, false AS rerun, attempts, NULL AS again_in_s FROM tasks
WHERE id = :id AND token = :token AND state = 'completed'
"""
