-- name: mark_started(chat_id, message_id, tool_call_ids, runner_id) :many
-- From reserved only, and by the present runner only: a call is started at most once.
UPDATE tool_call_ledger AS l SET state = 'started', started_at = now()
FROM chats AS c
WHERE c.id = $1 AND c.runner_id = $4
  AND l.chat_id = $1 AND l.message_id = $2 AND l.tool_call_id = ANY ($3::text[]) AND l.state = 'reserved'
RETURNING l.tool_call_id

-- name: mark_finished(chat_id, message_id, tool_call_id, result, runner_id) :exec
-- The result is kept before the step is stored, so that a crash in between does not lose it.
UPDATE tool_call_ledger AS l SET state = 'finished', result = $4, finished_at = now()
FROM chats AS c
WHERE c.id = $1 AND c.runner_id = $5
  AND l.chat_id = $1 AND l.message_id = $2 AND l.tool_call_id = $3 AND l.state = 'started'

-- name: mark_unknown(chat_id, message_id, tool_call_ids, runner_id) :exec
-- Whoever takes over cannot know what became of a call that was started.
UPDATE tool_call_ledger AS l SET state = 'unknown', finished_at = now()
FROM chats AS c
WHERE c.id = $1 AND c.runner_id = $4
  AND l.chat_id = $1 AND l.message_id = $2 AND l.tool_call_id = ANY ($3::text[]) AND l.state = 'started'

-- name: read_ledger(chat_id, message_id) :many
-- What the last runner had got to.
SELECT tool_call_id, tool_name, state, result FROM tool_call_ledger
WHERE chat_id = $1 AND message_id = $2
ORDER BY tool_call_id
