-- part: midnight
date_trunc('day', coalesce($1::timestamptz, now()) AT TIME ZONE 'UTC') AT TIME ZONE 'UTC'
        - make_interval(days => $2)
-- part: gone
c.id, c.snapshot_version + 1 AS snapshot_version, c.snapshot_version + 1 AS history_version,
    c.snapshot_version + 1 AS queue_version, c.retry_version, c.generation_attempt, c.status, c.archived,
    NULL::uuid AS runner_id, false AS lease_live
-- name: idle_chats(now, days, limit) :many
-- By creation, so that each round begins with the oldest. A chat that is younger than the window is not
-- looked into.
SELECT c.id, c.snapshot_version FROM chats AS c
WHERE NOT c.archived AND NOT c.pinned AND c.status IN ('waiting', 'error')
  AND c.created_at < {{midnight}}
  AND coalesce((
      SELECT m.created_at FROM chat_messages AS m
      WHERE m.chat_id = c.id AND NOT m.deleted
      ORDER BY m.id DESC LIMIT 1
  ), c.created_at) < {{midnight}}
ORDER BY c.created_at
LIMIT $3

-- name: delete_archived(now, days, limit, messages_max) :many
-- As many as have so many messages together, but one at least, so that no statement takes long and each gets
-- on. Who holds a chat's row keeps it for this time; one that was taken out meanwhile stays. The versions
-- make followers read, and find that there is nothing.
WITH old AS MATERIALIZED (
    SELECT c.id, c.archived_at FROM chats AS c
    WHERE c.archived AND c.archived_at < {{midnight}}
    ORDER BY c.archived_at, c.id
    LIMIT $3
), counted AS (
    SELECT old.id, coalesce(sum(sizes.messages) OVER (
        ORDER BY old.archived_at, old.id ROWS BETWEEN UNBOUNDED PRECEDING AND 1 PRECEDING
    ), 0) AS before
    FROM old
    CROSS JOIN LATERAL (
        SELECT count(*) AS messages FROM chat_messages AS m WHERE m.chat_id = old.id
    ) AS sizes
), locked AS MATERIALIZED (
    SELECT c.id FROM chats AS c
    JOIN counted ON counted.id = c.id AND counted.before < $4
    WHERE c.archived AND c.archived_at < {{midnight}}
    FOR UPDATE OF c SKIP LOCKED
)
DELETE FROM chats AS c USING locked
WHERE c.id = locked.id
RETURNING {{gone}}

-- name: delete_chat(chat_id) :many
-- Whoever works on it finds that its lease is lost.
DELETE FROM chats AS c
WHERE c.id = $1
RETURNING {{gone}}
