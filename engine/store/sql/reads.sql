-- name: mark(chat_id, identity, message_id) :one
-- The chat's row is held, so that a chat that is being deleted is missing, not an error. A mark that says
-- nothing new writes nothing.
WITH target AS (
    SELECT c.id, least($3::bigint, coalesce((
        SELECT m.id FROM chat_messages AS m WHERE m.chat_id = c.id ORDER BY m.id DESC LIMIT 1
    ), 0)) AS message_id
    FROM chats AS c
    WHERE c.id = $1
    FOR KEY SHARE OF c
), marked AS (
    INSERT INTO chat_reads AS r (chat_id, identity, message_id)
    SELECT id, $2, message_id FROM target
    ON CONFLICT (chat_id, identity) DO UPDATE SET message_id = excluded.message_id
    WHERE r.message_id < excluded.message_id
)
SELECT message_id FROM target
