-- part: change
c.id, c.snapshot_version, c.history_version, c.queue_version, c.retry_version, c.generation_attempt,
    c.status, c.archived, c.runner_id, EXISTS (
        SELECT FROM chat_heartbeats AS h
        WHERE h.chat_id = c.id AND h.runner_id = c.runner_id AND h.heartbeat_at + h.lease > now()
    ) AS lease_live
-- name: set_generated_title(chat_id, title) :one
-- A generated title never replaces one that a person gave.
UPDATE chats AS c SET title = $2, title_source = 'generated'
WHERE c.id = $1 AND c.title_source IS DISTINCT FROM 'human'
RETURNING {{change}}

-- name: change(chat_id, has_title, title, labels, has_model, model, pinned, records_calls, pin_rank) :one
-- One change of the row, so one version, however much of it is named. What is put away cannot be pinned.
UPDATE chats AS c SET
    title = CASE WHEN $2 THEN $3 ELSE c.title END,
    title_source = CASE WHEN $2 THEN CASE WHEN $3 IS NOT NULL THEN 'human' END ELSE c.title_source END,
    labels = coalesce($4, c.labels),
    model = CASE WHEN $5 THEN $6 ELSE c.model END,
    pinned = coalesce($7, c.pinned),
    pin_rank = coalesce($9, c.pin_rank),
    records_calls = coalesce($8, c.records_calls)
WHERE c.id = $1 AND (NOT coalesce($7, false) OR NOT c.archived)
RETURNING {{change}}

-- name: exists(chat_id) :one
-- Tells why nothing was changed.
SELECT id FROM chats WHERE id = $1

-- name: lock_pins(chat_id) :many
-- Whoever moves pins of one organization does so after the other. Its snapshot is from before the lock,
-- so the places are read by the next statement.
SELECT pg_advisory_xact_lock(hashtextextended('pins ' || organization_id::text, 0))
FROM chats WHERE id = $1

-- name: pins_around(chat_id, place) :one
-- The ranks between which a chat at this place stands; it does not count itself.
WITH others AS (
    SELECT c.pin_rank, row_number() OVER (ORDER BY c.pin_rank, c.id) AS place FROM chats AS c
    WHERE c.organization_id = (SELECT organization_id FROM chats WHERE id = $1)
      AND c.pinned AND c.id <> $1
)
SELECT max(pin_rank) FILTER (WHERE place < $2) AS before, min(pin_rank) FILTER (WHERE place >= $2) AS after
FROM others

-- name: renumber_pins(chat_id) :exec
-- Fifty moves into the same gap use up a number's digits.
WITH ranked AS (
    SELECT c.id, row_number() OVER (ORDER BY c.pin_rank, c.id) AS place FROM chats AS c
    WHERE c.organization_id = (SELECT organization_id FROM chats WHERE id = $1) AND c.pinned
)
UPDATE chats AS c SET pin_rank = ranked.place
FROM ranked
WHERE c.id = ranked.id
