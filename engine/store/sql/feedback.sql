-- name: put(chat_id, turn_id, identity, name, is_good, comment) :one
-- Only for a turn of that chat that stands and was answered. No comment keeps the one there was, unless
-- the person has changed their mind.
INSERT INTO feedback AS f (
    chat_id, turn_id, identity, name, is_good, comment, organization_id, bot, model, channel
)
SELECT c.id, m.id, $3, $4, $5, coalesce($6, ''), c.organization_id, c.bot, reply.model, place.channel
FROM chats AS c
JOIN chat_messages AS m ON m.chat_id = c.id AND m.id = $2 AND m.role = 'user' AND NOT m.deleted
CROSS JOIN LATERAL (
    SELECT answer.model FROM chat_messages AS answer
    WHERE answer.chat_id = c.id AND answer.id > m.id AND answer.role = 'assistant' AND NOT answer.deleted
      AND answer.id < coalesce((
          SELECT min(later.id) FROM chat_messages AS later
          WHERE later.chat_id = c.id AND later.id > m.id AND later.role = 'user' AND NOT later.deleted
      ), 9223372036854775807)
    ORDER BY answer.id DESC LIMIT 1
) AS reply
LEFT JOIN LATERAL (
    SELECT b.platform || ':' || b.installation || ':' || b.channel AS channel
    FROM bindings AS b WHERE b.chat_id = c.id LIMIT 1
) AS place ON true
WHERE c.id = $1
ON CONFLICT (chat_id, turn_id, identity) DO UPDATE SET
    name = excluded.name,
    is_good = excluded.is_good,
    comment = CASE
        WHEN $6::text IS NOT NULL THEN excluded.comment
        WHEN f.is_good = excluded.is_good THEN f.comment
        ELSE ''
    END,
    updated_at = now()
RETURNING chat_id

-- name: counts(organization_id, by, since, until, limit) :many
-- Whoever changed their mind counts when they did so.
SELECT CASE $2::text
           WHEN 'bot' THEN bot
           WHEN 'model' THEN model
           WHEN 'channel' THEN channel
           WHEN 'day' THEN to_char(updated_at AT TIME ZONE 'UTC', 'YYYY-MM-DD')
       END AS key,
       count(*) FILTER (WHERE is_good) AS good,
       count(*) FILTER (WHERE NOT is_good) AS bad
FROM feedback
WHERE organization_id = $1
  AND ($3::timestamptz IS NULL OR updated_at >= $3)
  AND ($4::timestamptz IS NULL OR updated_at < $4)
GROUP BY 1
ORDER BY CASE WHEN $2 = 'day' THEN min(updated_at) END, count(*) DESC, 1
LIMIT $5

-- name: newest(organization_id, since, until, only_bad, limit) :many
-- The order is whole, so that the same is cut off each time.
SELECT chat_id, turn_id, identity, name, is_good, comment, bot, model, channel, updated_at
FROM feedback
WHERE organization_id = $1
  AND ($2::timestamptz IS NULL OR updated_at >= $2)
  AND ($3::timestamptz IS NULL OR updated_at < $3)
  AND (NOT $4 OR NOT is_good)
ORDER BY updated_at DESC, chat_id, turn_id, identity
LIMIT $5
