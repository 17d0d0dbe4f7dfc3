-- name: claim_due(platform, owner, limit, seconds) :many
-- Due ones that nobody holds. Every condition is on the row itself, so the lock re-checks all of them.
WITH due AS (
    SELECT d.id FROM deliveries AS d
    WHERE d.platform = $1 AND d.is_due
      AND (d.lease_until IS NULL OR d.lease_until <= now())
      AND (d.retry_at IS NULL OR d.retry_at <= now())
    ORDER BY d.updated_at
    LIMIT $3
    FOR NO KEY UPDATE SKIP LOCKED
), claimed AS (
    UPDATE deliveries AS d SET
        owner = $2::uuid,
        lease_until = now() + make_interval(secs => $4),
        fence = d.fence + 1,
        updated_at = now()
    FROM due
    WHERE d.id = due.id
    RETURNING d.id, d.binding_id, d.chat_id, d.platform, d.installation, d.channel, d.thread,
              d.settled_version, d.settled_message_id, d.fence, d.attempts, d.last_error
)
SELECT * FROM claimed ORDER BY id

-- name: renew(ids, owner, seconds) :many
-- One statement for all deliveries of a replica. A lease that ran out unnoticed by others is kept.
UPDATE deliveries AS d SET lease_until = now() + make_interval(secs => $3)
FROM (
    SELECT id FROM deliveries WHERE id = ANY ($1::bigint[]) AND owner = $2
    ORDER BY id FOR NO KEY UPDATE
) AS held
WHERE d.id = held.id
RETURNING d.id

-- name: settle(id, fence, version, message_id, keeps_lease) :one
-- The chat's row is locked for the look at its version: a change that is being committed is waited for,
-- so none is missed; one that comes later makes the delivery due again.
WITH chat AS (
    SELECT c.snapshot_version FROM chats AS c
    WHERE c.id = (SELECT chat_id FROM deliveries WHERE id = $1)
    FOR SHARE
)
UPDATE deliveries AS d SET
    settled_version = greatest(d.settled_version, $3),
    settled_message_id = greatest(d.settled_message_id, $4),
    is_due = chat.snapshot_version > $3,
    owner = CASE WHEN $5 THEN d.owner END,
    lease_until = CASE WHEN $5 THEN d.lease_until END,
    attempts = 0,
    last_error = NULL,
    retry_at = NULL,
    updated_at = now()
FROM chat
WHERE d.id = $1 AND d.fence = $2 AND d.owner IS NOT NULL
RETURNING d.is_due

-- name: fail(id, fence, error, retry_seconds) :exec
-- Lets go, so that any replica may try again in time.
UPDATE deliveries SET
    owner = NULL,
    lease_until = NULL,
    attempts = attempts + 1,
    last_error = $3,
    retry_at = now() + make_interval(secs => $4),
    updated_at = now()
WHERE id = $1 AND fence = $2 AND owner IS NOT NULL

-- name: release(id, fence) :exec
-- Lets go without a word: whoever is next goes on at once.
UPDATE deliveries SET owner = NULL, lease_until = NULL
WHERE id = $1 AND fence = $2 AND owner IS NOT NULL

-- name: failing(limit) :many
-- For people who want to know why nothing arrives.
SELECT id, binding_id, chat_id, platform, installation, channel, thread, settled_version,
       settled_message_id, fence, attempts, last_error
FROM deliveries
WHERE is_due AND attempts > 0
ORDER BY attempts DESC, id
LIMIT $1
