-- name: begin(chat_id, organization_id, kind, model, request) :one
-- The chat's row is held, so that a chat that is being deleted is missing, not an error.
WITH chat AS (
    SELECT id FROM chats WHERE id = $1 FOR KEY SHARE
)
INSERT INTO model_call_recordings (chat_id, organization_id, kind, model, status, request)
SELECT id, $2, $3, $4, 'in_progress', $5 FROM chat
RETURNING id

-- name: finish(id, status, response, error) :exec
-- Once: what has ended stays as it ended.
UPDATE model_call_recordings SET status = $2, response = $3, error = $4, finished_at = now()
WHERE id = $1 AND finished_at IS NULL

-- name: of_chat(chat_id, before_id, limit) :many
-- Without requests and responses, of which one alone may be a megabyte.
SELECT id, chat_id, kind, model, status, NULL::json AS request, NULL::json AS response, error,
       started_at, finished_at
FROM model_call_recordings
WHERE chat_id = $1 AND ($2::bigint IS NULL OR id < $2)
ORDER BY id DESC
LIMIT $3

-- name: read(chat_id, id) :one
-- Whoever names a recording names its chat too.
SELECT id, chat_id, kind, model, status, request, response, error, started_at, finished_at
FROM model_call_recordings
WHERE id = $2 AND chat_id = $1

-- name: purge(older_than_seconds, limit) :exec
-- A few at a time, so that no lock is long.
DELETE FROM model_call_recordings WHERE id IN (
    SELECT id FROM model_call_recordings
    WHERE started_at < now() - make_interval(secs => $1)
    ORDER BY started_at LIMIT $2
)

-- name: give_up_unfinished(older_than_seconds) :exec
-- Whoever recorded it is gone.
UPDATE model_call_recordings SET status = 'interrupted', finished_at = now()
WHERE status = 'in_progress' AND started_at < now() - make_interval(secs => $1)
