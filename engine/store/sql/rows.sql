-- part: lease_live
EXISTS (
        SELECT FROM chat_heartbeats AS h
        WHERE h.chat_id = c.id AND h.runner_id = c.runner_id AND h.heartbeat_at + h.lease > now()
    )
-- part: shown_status
CASE WHEN c.status = 'running' AND NOT {{lease_live}} THEN 'pending' ELSE c.status END
-- part: chat
json_build_object(
    'id', c.id,
    'organization_id', c.organization_id,
    'bot', c.bot,
    'status', {{shown_status}},
    'versions', json_build_object(
        'snapshot_version', c.snapshot_version,
        'history_version', c.history_version,
        'queue_version', c.queue_version,
        'retry_version', c.retry_version,
        'generation_attempt', c.generation_attempt
    ),
    'created_at', c.created_at,
    'updated_at', c.updated_at,
    'title', c.title,
    'model', c.model,
    'owner', c.owner,
    'labels', c.labels,
    'archived', c.archived,
    'pinned', c.pinned,
    'pin_order', CASE WHEN c.pinned THEN (
        SELECT count(*) FROM chats AS ahead
        WHERE ahead.organization_id = c.organization_id AND ahead.pinned
          AND (ahead.pin_rank, ahead.id) <= (c.pin_rank, c.id)
    ) ELSE 0 END,
    'channel', c.channel,
    'records_calls', c.records_calls,
    'queue_length', (SELECT count(*) FROM chat_queued_messages AS q WHERE q.chat_id = c.id),
    'actions_deadline_at', c.actions_deadline_at,
    'last_error', c.last_error,
    'retry', c.retry_state
)
-- part: message
json_build_object(
    'id', m.id, 'chat_id', m.chat_id, 'role', m.role, 'content', m.content, 'created_at', m.created_at,
    'visibility', m.visibility, 'author', m.author, 'source_key', m.source_key, 'model', m.model,
    'finish', m.finish, 'usage', m.usage, 'cost_micros', m.cost_micros, 'runtime_ms', m.runtime_ms,
    'deleted', m.deleted, 'revision', m.revision, 'summary_of', m.summary_of
)
-- part: queued
json_build_object(
    'id', q.id, 'chat_id', q.chat_id, 'content', q.content, 'created_at', q.created_at,
    'author', q.author, 'source_key', q.source_key
)
-- part: action
json_build_object(
    'id', a.id, 'chat_id', a.chat_id, 'tool_call_id', a.tool_call_id, 'tool_name', a.tool_name,
    'executor', a.executor, 'args', a.args, 'state', a.state, 'created_at', a.created_at,
    'form', a.form, 'answerers', a.answerers, 'asker', a.asker, 'deadline_at', a.deadline_at, 'closed_at', a.closed_at,
    'answered_by', a.answered_by, 'answer', a.answer, 'revision', a.revision
)

-- name: read_chat(chat_id) :one
-- The database builds the JSON that the program decodes into its own types in one pass.
SELECT {{chat}} AS chat FROM chats AS c WHERE c.id = $1

-- name: read_sync(chat_id, known_history, known_queue, is_new, after_id) :one
-- One statement is one snapshot: what is read together belongs together.
SELECT json_build_object(
    'chat', {{chat}},
    'messages', coalesce((
        SELECT json_agg({{message}} ORDER BY m.id) FROM chat_messages AS m
        WHERE m.chat_id = c.id AND m.visibility <> 'model' AND NOT $4
          AND m.revision > $2 AND c.history_version > $2
    ), (
        SELECT json_agg({{message}} ORDER BY m.id) FROM chat_messages AS m
        WHERE m.chat_id = c.id AND m.visibility <> 'model' AND $4
          AND m.id > $5 AND NOT m.deleted
    ), '[]'),
    'queue', CASE WHEN $4 OR c.queue_version > $3 THEN coalesce((
        SELECT json_agg({{queued}} ORDER BY q.position, q.id) FROM chat_queued_messages AS q
        WHERE q.chat_id = c.id
    ), '[]') END,
    'actions', CASE WHEN c.status = 'requires_action' THEN coalesce((
        SELECT json_agg({{action}} ORDER BY a.id) FROM required_actions AS a
        WHERE a.chat_id = c.id AND a.state = 'open'
    ), '[]') ELSE '[]' END
) AS sync
FROM chats AS c
WHERE c.id = $1

-- name: messages_after(chat_id, after_id, audience, limit) :one
-- Pages forwards; the oldest first.
SELECT coalesce(json_agg(page.message ORDER BY page.id), '[]') AS messages FROM (
    SELECT m.id, {{message}} AS message FROM chat_messages AS m
    WHERE m.chat_id = $1 AND m.id > $2 AND NOT m.deleted
      AND ($3::text IS NULL OR m.visibility IN ('both', $3))
    ORDER BY m.id LIMIT $4
) AS page

-- name: messages_before(chat_id, before_id, audience, limit) :one
-- Pages backwards: the newest of those before, in order.
SELECT coalesce(json_agg(page.message ORDER BY page.id), '[]') AS messages FROM (
    SELECT m.id, {{message}} AS message FROM chat_messages AS m
    WHERE m.chat_id = $1 AND ($2::bigint IS NULL OR m.id < $2) AND NOT m.deleted
      AND ($3::text IS NULL OR m.visibility IN ('both', $3))
    ORDER BY m.id DESC LIMIT $4
) AS page

-- name: read_prompt(chat_id) :one
-- What the model is told, with the history version that a fence needs, of one snapshot. A summary comes
-- where the last message stood that it replaces, before messages that waited for an answer meanwhile.
SELECT c.history_version, c.generation_attempt, coalesce((
    SELECT json_agg({{message}} ORDER BY coalesce(m.summary_of, m.id), m.id) FROM (
        SELECT * FROM chat_messages
        WHERE chat_id = c.id AND id > told.after_id AND summary_of IS NULL
        UNION ALL
        SELECT * FROM chat_messages
        WHERE chat_id = c.id AND id <= told.after_id AND role = 'system'
        UNION ALL
        SELECT * FROM chat_messages WHERE id = summary.id
    ) AS m
    WHERE m.visibility <> 'user' AND NOT m.deleted
), '[]') AS messages
FROM chats AS c
LEFT JOIN LATERAL (
    SELECT s.id, s.summary_of FROM chat_messages AS s
    WHERE s.chat_id = c.id AND s.summary_of IS NOT NULL AND NOT s.deleted AND s.id > c.context_from_id
    ORDER BY s.id DESC LIMIT 1
) AS summary ON true
CROSS JOIN LATERAL (SELECT greatest(summary.summary_of, c.context_from_id) AS after_id) AS told
WHERE c.id = $1

-- name: versions_of(chat_ids) :many
-- Pollers ask for all their chats at once.
SELECT c.id, c.snapshot_version, c.history_version, c.queue_version, c.retry_version,
       c.generation_attempt, c.status, c.archived, c.runner_id, {{lease_live}} AS lease_live
FROM chats AS c
WHERE c.id = ANY ($1::uuid[])

-- name: read_queue(chat_id) :one
-- In the order in which it will be answered.
SELECT coalesce(json_agg({{queued}} ORDER BY q.position, q.id), '[]') AS queue
FROM chat_queued_messages AS q
WHERE q.chat_id = $1

-- name: read_actions(chat_id, only_open) :one
-- In the order of their calls.
SELECT coalesce(json_agg({{action}} ORDER BY a.id), '[]') AS actions
FROM required_actions AS a
WHERE a.chat_id = $1 AND (a.state = 'open' OR NOT $2)

-- name: read_action(action_id) :one
-- A button knows nothing but this id.
SELECT {{action}} AS action FROM required_actions AS a WHERE a.id = $1

-- name: known_sources(chat_id, source_keys) :many
-- Which of a thread's messages a chat has heard; what was forgotten was heard too.
SELECT source_key FROM chat_messages WHERE chat_id = $1 AND source_key = ANY ($2::text[])
UNION
SELECT source_key FROM chat_queued_messages WHERE chat_id = $1 AND source_key = ANY ($2::text[])

-- name: find_by_source(chat_id, source_key) :one
-- A platform's edit or deletion names a message by the platform's own key.
SELECT m.id AS message_id, NULL::bigint AS queued_id, m.role, NOT EXISTS (
    SELECT FROM chat_messages AS later
    WHERE later.chat_id = m.chat_id AND later.id > m.id AND later.role = 'user' AND NOT later.deleted
      AND later.visibility <> 'model'
) AS is_last_user_message
FROM chat_messages AS m
WHERE m.chat_id = $1 AND m.source_key = $2 AND NOT m.deleted
UNION ALL
SELECT NULL, q.id, 'user', false FROM chat_queued_messages AS q
WHERE q.chat_id = $1 AND q.source_key = $2
LIMIT 1

-- name: groups_of(chat_id, identity) :one
-- Groups are the organization's, so whose chat it is decides.
SELECT ARRAY(
    SELECT m.group_name FROM people_group_members AS m
    WHERE m.organization_id = c.organization_id AND m.identity = $2::text
) AS groups
FROM chats AS c WHERE c.id = $1
