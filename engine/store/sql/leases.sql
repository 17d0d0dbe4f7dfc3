-- part: is_dead
NOT EXISTS (
              SELECT FROM chat_heartbeats AS h
              WHERE h.chat_id = c.id AND h.runner_id = c.runner_id AND h.heartbeat_at + h.lease > now()
          )
-- part: take
locked AS (
    SELECT c.id FROM chats AS c
    JOIN candidates USING (id, snapshot_version)
    ORDER BY candidates.runnable_since
    LIMIT $1
    FOR NO KEY UPDATE OF c SKIP LOCKED
), acquired AS (
    UPDATE chats AS c SET
        runner_id = gen_random_uuid(),
        snapshot_version = c.snapshot_version + 1,
        generation_attempt = c.generation_attempt + 1,
        retry_state = NULL
    FROM locked
    WHERE c.id = locked.id
    RETURNING c.*
), beating AS (
    INSERT INTO chat_heartbeats (chat_id, runner_id, heartbeat_at, lease)
    SELECT id, runner_id, now(), make_interval(secs => $2) FROM acquired ORDER BY id
    ON CONFLICT (chat_id) DO UPDATE SET
        runner_id = excluded.runner_id, heartbeat_at = excluded.heartbeat_at, lease = excluded.lease
)
SELECT id, organization_id, bot, title, title_source, model, system_prompt, labels, dynamic_tools,
       owner, status, archived, snapshot_version, history_version, queue_version, retry_version,
       generation_attempt, runner_id, open_calls, compaction_requested, records_calls,
       runnable_since
FROM acquired
ORDER BY runnable_since

-- name: acquire_chats(limit, lease_seconds, with_stale) :many
-- Candidates are read first and locked second: where another worker came between, the version differs
-- and the chat is passed over. A lock alone would re-read the chat, but not the heartbeat beside it.
-- Running chats of organizations with a cap are left to acquire_capped; what stops needs no room.
WITH candidates AS MATERIALIZED (
    (
        SELECT c.id, c.snapshot_version, c.runnable_since FROM chats AS c
        WHERE c.status IN ('running', 'interrupting') AND c.runner_id IS NULL
          AND (c.status = 'interrupting'
               OR c.organization_id NOT IN (SELECT id FROM organizations WHERE chats_max IS NOT NULL))
        ORDER BY c.runnable_since
        LIMIT $1 * 8
    )
    UNION ALL
    (
        SELECT c.id, c.snapshot_version, c.runnable_since FROM chats AS c
        WHERE $3 AND c.status IN ('running', 'interrupting') AND c.runner_id IS NOT NULL
          AND (c.status = 'interrupting'
               OR c.organization_id NOT IN (SELECT id FROM organizations WHERE chats_max IS NOT NULL))
          AND {{is_dead}}
        ORDER BY c.runnable_since
        LIMIT $1 * 8
    )
), {{take}}

-- name: survey() :many
-- What a poll may have to do, in one read: mostly nothing. The database's clock decides what is overdue.
SELECT
    EXISTS (
        SELECT FROM chats WHERE status IN ('running', 'interrupting') AND runner_id IS NULL
    ) AS has_runnable,
    EXISTS (SELECT FROM organizations WHERE chats_max IS NOT NULL) AS has_caps,
    EXISTS (
        SELECT FROM chats WHERE status = 'requires_action' AND actions_deadline_at <= now()
    ) AS has_overdue

-- name: overdue_chats(limit) :many
-- The database's clock decides, as it does for leases.
SELECT id FROM chats
WHERE status = 'requires_action' AND actions_deadline_at <= now()
ORDER BY actions_deadline_at
LIMIT $1

-- name: lock_caps() :many
-- Two workers that count at the same time would both take the last place.
SELECT id FROM organizations WHERE chats_max IS NOT NULL ORDER BY id FOR NO KEY UPDATE

-- name: acquire_capped(limit, lease_seconds, with_stale) :many
-- As acquire_chats, of organizations with a cap: the longest waiting first, as far as there is room.
WITH room AS (
    SELECT o.id, o.chats_max - (
        SELECT count(*) FROM chats AS c
        WHERE c.organization_id = o.id AND c.status = 'running' AND c.runner_id IS NOT NULL
          AND NOT {{is_dead}}
    ) AS places
    FROM organizations AS o WHERE o.chats_max IS NOT NULL
), waiting AS (
    SELECT c.id, c.snapshot_version, c.runnable_since, room.places,
           row_number() OVER (PARTITION BY c.organization_id ORDER BY c.runnable_since, c.id) AS place
    FROM chats AS c JOIN room ON room.id = c.organization_id
    WHERE c.status = 'running'
      AND (c.runner_id IS NULL OR ($3 AND {{is_dead}}))
), candidates AS MATERIALIZED (
    SELECT id, snapshot_version, runnable_since FROM waiting WHERE place <= places
    ORDER BY runnable_since LIMIT $1 * 8
), {{take}}

-- name: renew_chats(chat_ids, runner_ids, lease_seconds) :many
-- One statement for all chats of a replica. It brings back heartbeats that a crash of the database has
-- emptied, and never writes over those of a runner that has taken over.
WITH held AS (
    SELECT c.id, c.runner_id, c.status, c.snapshot_version
    FROM unnest($1::uuid[], $2::uuid[]) AS pair (chat_id, runner_id)
    JOIN chats AS c ON c.id = pair.chat_id AND c.runner_id = pair.runner_id
), renewed AS (
    INSERT INTO chat_heartbeats AS h (chat_id, runner_id, heartbeat_at, lease)
    SELECT id, runner_id, now(), make_interval(secs => $3) FROM held ORDER BY id
    ON CONFLICT (chat_id) DO UPDATE SET heartbeat_at = excluded.heartbeat_at, lease = excluded.lease
    WHERE h.runner_id = excluded.runner_id
    RETURNING chat_id
)
SELECT held.id, held.status, held.snapshot_version FROM held
JOIN renewed ON renewed.chat_id = held.id

-- name: forget_heartbeats(older_than_seconds) :exec
-- A heartbeat that ended long ago says no more than none.
DELETE FROM chat_heartbeats
WHERE heartbeat_at + lease < now() - make_interval(secs => $1)

-- name: hold(name, owner, seconds) :one
-- A new fence for whoever takes over; the same one for whoever holds on.
INSERT INTO leases AS l (name, owner, until)
VALUES ($1, $2, now() + make_interval(secs => $3))
ON CONFLICT (name) DO UPDATE SET
    owner = excluded.owner,
    until = excluded.until,
    fence = l.fence + CASE WHEN l.owner = excluded.owner AND l.until > now() THEN 0 ELSE 1 END
WHERE l.owner = excluded.owner OR l.until <= now()
RETURNING fence

-- name: release(name, owner) :exec
-- Ends it now, and keeps the row, so that the next fence is greater.
UPDATE leases SET until = now()
WHERE name = $1 AND owner = $2 AND until > now()
