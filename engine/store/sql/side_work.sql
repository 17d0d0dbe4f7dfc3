-- name: record_call(chat_id, kind, model, input_tokens, output_tokens, reasoning_tokens, cache_read_tokens, cache_write_tokens, cost_micros, runtime_ms) :exec
-- A call beside the turns leaves no message, so the trigger that enters the others does not see it.
INSERT INTO usage_records (
    organization_id, chat_id, kind, identity, channel, bot, model, input_tokens, output_tokens,
    reasoning_tokens, cache_read_tokens, cache_write_tokens, cost_micros, runtime_ms)
SELECT c.organization_id, c.id, $2::text, (
           SELECT asked.author ->> 'identity' FROM chat_messages AS asked
           WHERE asked.chat_id = c.id AND asked.role = 'user' AND asked.visibility <> 'model'
           ORDER BY asked.id DESC LIMIT 1
       ), c.channel, c.bot, $3::text, $4::bigint, $5::bigint, $6::bigint, $7::bigint, $8::bigint,
       $9::bigint, $10::bigint
FROM chats AS c WHERE c.id = $1

-- name: survey() :many
-- What there may be to do, in one read: mostly nothing.
SELECT
    EXISTS (
        SELECT FROM title_requests WHERE claimed_until IS NULL OR claimed_until <= now()
    ) AS has_title_requests,
    EXISTS (
        SELECT FROM notifications
        WHERE state = 'new' AND (claimed_until IS NULL OR claimed_until <= now())
    ) AS has_notifications

-- name: request_title(chat_id) :one
-- Whoever asks for another title gives up the one that a person gave. One that is being made will do.
WITH given_up AS (
    UPDATE chats SET title_source = 'generated'
    WHERE id = $1 AND NOT archived AND title_source = 'human'
), entered AS (
    INSERT INTO title_requests (chat_id) SELECT id FROM chats WHERE id = $1 AND NOT archived
    ON CONFLICT (chat_id) DO NOTHING
)
SELECT archived FROM chats WHERE id = $1

-- name: claim_title_requests(claim, limit, seconds) :many
-- One at a time for a chat, and again when whoever took it did not come back.
WITH wanted AS (
    SELECT r.chat_id FROM title_requests AS r
    WHERE r.claimed_until IS NULL OR r.claimed_until <= now()
    ORDER BY r.requested_at
    LIMIT $2
    FOR NO KEY UPDATE SKIP LOCKED
), claimed AS (
    UPDATE title_requests AS r SET
        claimed_by = $1::uuid,
        claimed_until = now() + make_interval(secs => $3)
    FROM wanted
    WHERE r.chat_id = wanted.chat_id
    RETURNING r.chat_id
)
SELECT c.id AS chat_id, c.organization_id, c.bot, c.model, c.owner, c.records_calls
FROM claimed JOIN chats AS c ON c.id = claimed.chat_id

-- name: finish_title_request(chat_id, claim) :exec
-- Made or given up; people can ask again.
DELETE FROM title_requests WHERE chat_id = $1 AND claimed_by = $2
