-- name: bind(platform, installation, channel, thread, chat_id, bot) :one
-- A binding is born with its delivery, so what the chat says has somewhere to go from the start.
WITH bound AS (
    INSERT INTO bindings (platform, installation, channel, thread, chat_id, bot)
    VALUES ($1, $2, $3, $4, $5, $6)
    ON CONFLICT (platform, installation, channel, thread) DO NOTHING
    RETURNING id, platform, installation, channel, thread, chat_id, bot, last_seen, created_at
), delivery AS (
    INSERT INTO deliveries (binding_id, chat_id, platform, installation, channel, thread)
    SELECT id, chat_id, platform, installation, channel, thread FROM bound
)
SELECT * FROM bound

-- name: find(platform, installation, channel, thread) :one
-- Which chat a thread goes on with.
SELECT id, platform, installation, channel, thread, chat_id, bot, last_seen, created_at
FROM bindings
WHERE platform = $1 AND installation = $2 AND channel = $3 AND thread = $4

-- name: of_chat(chat_id) :many
-- Where a chat is shown.
SELECT id, platform, installation, channel, thread, chat_id, bot, last_seen, created_at
FROM bindings
WHERE chat_id = $1
ORDER BY id

-- name: set_last_seen(id, last_seen) :exec
-- Where a backfill begins after this replica is gone.
UPDATE bindings SET last_seen = $2 WHERE id = $1

-- name: find_by_page(platform, installation, channel, message_id) :one
-- The thread in which we have posted a message: the ledger knows it without asking the platform.
SELECT b.id, b.platform, b.installation, b.channel, b.thread, b.chat_id, b.bot, b.last_seen, b.created_at
FROM receipts AS r
JOIN deliveries AS d ON d.id = r.delivery_id
JOIN bindings AS b ON b.id = d.binding_id
WHERE r.platform_message_id = $4 AND b.platform = $1 AND b.installation = $2 AND b.channel = $3
LIMIT 1
