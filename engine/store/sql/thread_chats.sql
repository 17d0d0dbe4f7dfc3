-- name: of_owner(platform, installation, identity, channel, created_at, id, limit) :many
-- What somebody has begun in threads of a platform, newest first. Creation never changes, so pages fit together.
SELECT {{rows.chat}} AS chat, b.channel AS place, b.thread
FROM chats AS c
JOIN bindings AS b ON b.chat_id = c.id AND b.platform = $1 AND b.installation = $2
WHERE c.owner ->> 'identity' = $3
  AND NOT c.archived
  AND ($4::text IS NULL OR b.channel = $4)
  AND ($5::timestamptz IS NULL OR (c.created_at, c.id) < ($5, $6::uuid))
ORDER BY c.created_at DESC, c.id DESC
LIMIT $7

-- name: channels(platform, installation, limit) :many
-- Where people talk with bots, the liveliest first.
SELECT b.channel AS place, count(*) AS chats,
       count(*) FILTER (WHERE c.status IN ('running', 'interrupting', 'requires_action')) AS open_chats
FROM bindings AS b
JOIN chats AS c ON c.id = b.chat_id
WHERE b.platform = $1 AND b.installation = $2 AND NOT c.archived
GROUP BY b.channel
ORDER BY max(c.updated_at) DESC, b.channel
LIMIT $3
