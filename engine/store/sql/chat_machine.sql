-- name: load_snapshot(chat_id, source_key, edited_message_id, action_id, names_message, answers, identity) :one
-- One statement reads all that a decision may know; the row is locked already. The version is the one
-- that the decision will write, so a refusal writes nothing at all.
SELECT
    c.organization_id,
    c.status,
    c.archived,
    c.snapshot_version + 1 AS snapshot_version,
    c.history_version,
    c.queue_version,
    c.retry_version,
    c.generation_attempt,
    c.runner_id,
    c.open_calls,
    c.actions_deadline_at,
    c.last_error,
    c.retry_state,
    c.compaction_requested,
    statement_timestamp() AS now,
    EXISTS (
        SELECT FROM chat_heartbeats AS h
        WHERE h.chat_id = c.id
          AND h.runner_id = c.runner_id
          AND h.heartbeat_at + h.lease > statement_timestamp()
    ) AS lease_live,
    ARRAY(
        SELECT q.id FROM chat_queued_messages AS q
        WHERE q.chat_id = c.id
        ORDER BY q.position, q.id
    ) AS queue,
    $2::text IS NOT NULL AND (
        EXISTS (SELECT FROM chat_messages AS m WHERE m.chat_id = c.id AND m.source_key = $2)
        OR EXISTS (SELECT FROM chat_queued_messages AS q WHERE q.chat_id = c.id AND q.source_key = $2)
    ) AS source_seen,
    CASE WHEN $3::bigint IS NOT NULL THEN (
        SELECT m.role FROM chat_messages AS m
        WHERE m.id = $3 AND m.chat_id = c.id AND NOT m.deleted AND m.summary_of IS NULL
    ) END AS edited_role,
    CASE WHEN $4::bigint IS NOT NULL THEN (
        SELECT a.tool_call_id FROM required_actions AS a
        WHERE a.id = $4 AND a.chat_id = c.id AND a.state = 'open'
    ) END AS action_target,
    CASE WHEN $5::boolean THEN (
        SELECT m.id FROM chat_messages AS m
        WHERE m.chat_id = c.id AND m.role = 'assistant' AND m.visibility <> 'user' AND NOT m.deleted
        ORDER BY m.id DESC LIMIT 1
    ) END AS asking_message,
    CASE WHEN $6::boolean THEN (
        SELECT json_agg(json_build_object(
            'tool_call_id', a.tool_call_id, 'answerers', a.answerers, 'asker', a.asker
        ) ORDER BY a.id)
        FROM required_actions AS a
        WHERE a.chat_id = c.id AND a.state = 'open' AND a.answerers IS NOT NULL
    ) END AS restricted,
    CASE WHEN $6::boolean THEN ARRAY(
        SELECT m.group_name FROM people_group_members AS m
        WHERE m.organization_id = c.organization_id AND m.identity = $7::text
    ) END AS people_groups
FROM chats AS c
WHERE c.id = $1

-- name: create_chat(chat_id, organization_id, bot, title, model, system_prompt, labels, dynamic_tools, owner, platform, installation, channel, thread, fallback_title) :one
-- The thread's binding decides who creates: whoever loses finds it taken and inserts nothing.
WITH bound AS (
    INSERT INTO bindings (platform, installation, channel, thread, chat_id, bot)
    SELECT $10::text, $11::text, $12::text, $13::text, $1::uuid, $3::text
    WHERE $10::text IS NOT NULL
    ON CONFLICT (platform, installation, channel, thread) DO NOTHING
    RETURNING id
), created AS (
    INSERT INTO chats (id, organization_id, bot, title, title_source, model, system_prompt, labels,
                       dynamic_tools, owner, channel, status)
    SELECT $1::uuid, $2::uuid, $3::text, coalesce($4::text, $14::text),
           CASE WHEN $4::text IS NOT NULL THEN 'human' WHEN $14::text IS NOT NULL THEN 'generated' END,
           $5::text, $6::text, $7::jsonb, $8::json, $9::jsonb,
           $10::text || ':' || $11::text || ':' || $12::text, 'running'
    WHERE $10::text IS NULL OR EXISTS (SELECT FROM bound)
    ON CONFLICT (id) DO NOTHING
    RETURNING id, snapshot_version, history_version
), delivery AS (
    INSERT INTO deliveries (binding_id, chat_id, platform, installation, channel, thread)
    SELECT bound.id, created.id, $10, $11, $12, $13 FROM bound, created
)
SELECT snapshot_version, history_version FROM created

-- name: find_created(chat_id, platform, installation, channel, thread) :one
-- Which chat was there first: the thread's, or the one of the same id.
SELECT chat_id AS id FROM bindings
WHERE platform = $2 AND installation = $3 AND channel = $4 AND thread = $5
UNION ALL
SELECT id FROM chats WHERE id = $1
LIMIT 1

-- name: update_row(chat_id, organization_id, messages, status, archived, open_calls, actions_deadline_at, last_error, retry_state, compaction_requested, runner_id, generation_attempt, history_changed, queue_changed, begins_to_wait, snapshot_version) :one
-- The row and the messages that come first: one round trip for the step that every turn takes, and one
-- change of the row: the messages bring their revision along instead of having a trigger raise it.
-- Nothing happens when the row is not the one that was decided on any more.
WITH changed AS (
    UPDATE chats SET
        status = $4,
        archived = $5,
        pinned = pinned AND NOT $5,
        open_calls = $6,
        actions_deadline_at = $7,
        last_error = $8,
        retry_state = $9,
        compaction_requested = $10,
        runner_id = $11,
        generation_attempt = $12,
        snapshot_version = $16,
        history_version = CASE WHEN $13 THEN $16 ELSE history_version END,
        queue_version = CASE WHEN $14 THEN $16 ELSE queue_version END,
        runnable_since = CASE WHEN $15 THEN now() ELSE runnable_since END
    WHERE id = $1 AND snapshot_version = $16::bigint - 1
    RETURNING snapshot_version, history_version, queue_version, retry_version
), inserted AS (
    INSERT INTO chat_messages (chat_id, organization_id, role, visibility, content, author, source_key,
                               model, finish, usage, cost_micros, runtime_ms, summary_of, revision)
    SELECT $1::uuid, $2::uuid, m.role, m.visibility, m.content, m.author, m.source_key,
           m.model, m.finish, m.usage, m.cost_micros, m.runtime_ms, m.summary_of, changed.snapshot_version
    FROM changed CROSS JOIN ROWS FROM (
        jsonb_to_recordset($3::jsonb) AS (
            role text, visibility text, content jsonb, author jsonb, source_key text, model text,
            finish text, usage jsonb, cost_micros bigint, runtime_ms bigint, summary_of bigint
        )
    ) WITH ORDINALITY AS m
    ORDER BY m.ordinality
    RETURNING id
)
SELECT changed.*, ARRAY(SELECT id FROM inserted ORDER BY id) AS message_ids FROM changed

-- name: insert_messages(chat_id, organization_id, messages) :many
-- Ids follow the order of the messages, so the history replays in it.
INSERT INTO chat_messages (chat_id, organization_id, role, visibility, content, author,
                           source_key, model, finish, usage, cost_micros, runtime_ms, summary_of)
SELECT $1::uuid, $2::uuid, m.role, m.visibility, m.content, m.author,
       m.source_key, m.model, m.finish, m.usage, m.cost_micros, m.runtime_ms, m.summary_of
FROM ROWS FROM (
    jsonb_to_recordset($3::jsonb) AS (
        role text, visibility text, content jsonb, author jsonb, source_key text, model text,
        finish text, usage jsonb, cost_micros bigint, runtime_ms bigint, summary_of bigint
    )
) WITH ORDINALITY AS m
ORDER BY m.ordinality
RETURNING id

-- name: replace_message(chat_id, message_id, content) :exec
-- The id and the source key stay, so later edits still find the message.
UPDATE chat_messages SET content = $3
WHERE chat_id = $1 AND id = $2 AND NOT deleted

-- name: truncate_history(chat_id, from_message_id) :exec
-- Marks instead of deleting: costs still count. Context cleared later than this is restored.
WITH marks AS (
    UPDATE chats SET
        context_marks = kept.marks,
        context_from_id = coalesce(kept.marks[cardinality(kept.marks)], 0)
    FROM (
        SELECT ARRAY(
            SELECT mark FROM chats, unnest(context_marks) WITH ORDINALITY AS u (mark, place)
            WHERE id = $1 AND mark < $2 ORDER BY place
        ) AS marks
    ) AS kept
    WHERE id = $1 AND context_from_id >= $2
)
UPDATE chat_messages SET deleted = true
WHERE chat_id = $1 AND id >= $2 AND NOT deleted

-- name: insert_replacement(chat_id, replaced_id, content, author) :many
-- A new message in the old one's place: what is not edited is carried over.
INSERT INTO chat_messages (chat_id, organization_id, role, visibility, content, author, source_key)
SELECT chat_id, organization_id, role, visibility, $3::jsonb, coalesce($4::jsonb, author), source_key
FROM chat_messages
WHERE chat_id = $1 AND id = $2
RETURNING id

-- name: enqueue(chat_id, organization_id, content, author, source_key) :one
-- Position zero is the end: what was moved to the head is below it, what came earlier has a smaller id.
INSERT INTO chat_queued_messages (chat_id, organization_id, content, author, source_key)
VALUES ($1, $2, $3, $4, $5)
RETURNING id

-- name: replace_queued(chat_id, queued_id, content) :exec
-- Only while it waits; a promoted message is edited as a message.
UPDATE chat_queued_messages SET content = $3
WHERE chat_id = $1 AND id = $2

-- name: delete_queued(chat_id, queued_id) :exec
-- The row lock on the chat keeps a promotion from racing this.
DELETE FROM chat_queued_messages
WHERE chat_id = $1 AND id = $2

-- name: move_to_head(chat_id, queued_id) :exec
-- Below the lowest position, whoever was moved before.
UPDATE chat_queued_messages SET position = (
    SELECT least(min(position), 0) - 1 FROM chat_queued_messages WHERE chat_id = $1
)
WHERE chat_id = $1 AND id = $2

-- name: promote_queued(chat_id, queued_id) :many
-- Taking from the queue and storing in the history are one statement: a message is never in neither.
WITH promoted AS (
    DELETE FROM chat_queued_messages
    WHERE chat_id = $1 AND id = coalesce($2::bigint, (
        SELECT id FROM chat_queued_messages
        WHERE chat_id = $1 ORDER BY position, id LIMIT 1
    ))
    RETURNING chat_id, organization_id, content, author, source_key
)
INSERT INTO chat_messages (chat_id, organization_id, role, content, author, source_key)
SELECT chat_id, organization_id, 'user', content, author, source_key FROM promoted
RETURNING id

-- name: clear_queue(chat_id) :exec
-- An edit makes what was said after it void.
DELETE FROM chat_queued_messages WHERE chat_id = $1

-- name: reserve_tool_calls(chat_id, message_id, reservations) :exec
-- Call ids are unique within one assistant message only.
INSERT INTO tool_call_ledger (chat_id, message_id, tool_call_id, tool_name)
SELECT $1::uuid, $2::bigint, r.tool_call_id, r.tool_name
FROM jsonb_to_recordset($3::jsonb) AS r (tool_call_id text, tool_name text)

-- name: open_actions(chat_id, organization_id, actions, deadline_at, revision) :many
-- Ids follow the order of the calls. Who asks is whoever spoke last, however many spoke before.
INSERT INTO required_actions (chat_id, organization_id, tool_call_id, tool_name, executor, args,
                              form, answerers, asker, deadline_at, revision)
SELECT $1::uuid, $2::uuid, a.tool_call_id, a.tool_name, a.executor, a.args, a.form, a.answerers,
       (
           SELECT m.author FROM chat_messages AS m
           WHERE m.chat_id = $1::uuid AND m.role = 'user' AND m.author IS NOT NULL AND NOT m.deleted
           ORDER BY m.id DESC LIMIT 1
       ),
       $4::timestamptz, $5::bigint
FROM ROWS FROM (
    jsonb_to_recordset($3::jsonb) AS (
        tool_call_id text, tool_name text, executor text, args text, form jsonb, answerers jsonb
    )
) WITH ORDINALITY AS a
ORDER BY a.ordinality
RETURNING id

-- name: close_actions(chat_id, state, tool_call_ids, answered_by, answers, revision) :exec
-- Only what is still open: the first answer wins.
UPDATE required_actions SET
    state = $2,
    answered_by = $4,
    answer = $5::jsonb -> tool_call_id,
    closed_at = now(),
    revision = $6
WHERE chat_id = $1 AND tool_call_id = ANY ($3::text[]) AND state = 'open'

-- name: mark_context(chat_id) :exec
-- The prompt begins after everything stored so far; the mark is undone when that history is.
UPDATE chats SET
    context_marks = context_marks || newest.id,
    context_from_id = newest.id
FROM (SELECT coalesce(max(id), 0) AS id FROM chat_messages WHERE chat_id = $1) AS newest
WHERE chats.id = $1
