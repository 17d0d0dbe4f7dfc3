-- part: change
id, snapshot_version, history_version, queue_version, retry_version, generation_attempt, status, archived,
    runner_id, EXISTS (
        SELECT FROM chat_heartbeats AS h
        WHERE h.chat_id = chats.id AND h.runner_id = chats.runner_id AND h.heartbeat_at + h.lease > now()
    ) AS lease_live
-- name: set_title(chat_id, title, source) :one
-- A generated title never replaces one that a person gave.
UPDATE chats SET title = $2, title_source = $3
WHERE id = $1 AND ($3 = 'human' OR title_source IS DISTINCT FROM 'human')
RETURNING {{change}}

-- name: set_pinned(chat_id, pinned) :one
-- What is put away cannot be pinned.
UPDATE chats SET pinned = $2
WHERE id = $1 AND (NOT $2 OR NOT archived)
RETURNING {{change}}

-- name: set_model(chat_id, model) :one
-- Holds from the next run on.
UPDATE chats SET model = $2
WHERE id = $1
RETURNING {{change}}

-- name: set_labels(chat_id, labels) :one
-- All labels at once: what is not named is gone.
UPDATE chats SET labels = $2
WHERE id = $1
RETURNING {{change}}
