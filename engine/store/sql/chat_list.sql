-- part: unread
EXISTS (
        SELECT FROM chat_messages AS m
        WHERE m.chat_id = c.id AND m.role = 'assistant' AND m.visibility <> 'model' AND NOT m.deleted
          AND m.id > coalesce((
              SELECT r.message_id FROM chat_reads AS r WHERE r.chat_id = c.id AND r.identity = $2
          ), 0)
    )
-- part: wanted
c.organization_id = $1
          AND ($3::boolean IS NULL OR c.archived = $3)
          AND c.labels @> $4
          AND ($5::text IS NULL OR strpos(folded(c.title), folded($5)) > 0)
          AND ($6::text IS NULL OR c.bot = $6)
          AND ($7::text IS NULL OR c.channel = $7 OR split_part(c.channel, ':', 3) = $7)
          AND ($8::text[] IS NULL OR {{rows.shown_status}} = ANY ($8))
          AND ($9::boolean IS NULL OR {{unread}} = $9)
-- name: limit_time(milliseconds) :one
-- For this transaction alone.
SELECT set_config('statement_timeout', $1, true)

-- name: one(chat_id, identity) :one
-- As in a list, so that what a client keeps is always of one shape.
SELECT {{rows.chat}} AS chat, c.pin_rank, {{unread}} AS has_unread
FROM chats AS c
WHERE c.id = $1

-- name: page(organization_id, identity, archived, labels, title, bot, channel, statuses, has_unread, created_at, id, limit, rank, is_past_pins) :many
-- Two sections, each in the order of an index; behind a pinned chat come the rest of those and all others.
SELECT {{rows.chat}} AS chat, c.pin_rank, {{unread}} AS has_unread
FROM (
    (
        SELECT c.*, 1 AS section, row_number() OVER (ORDER BY c.pin_rank, c.id) AS place
        FROM chats AS c
        WHERE c.pinned AND NOT $14::boolean
          AND ($13::float8 IS NULL OR (c.pin_rank, c.id) > ($13, $11::uuid))
          AND {{wanted}}
        ORDER BY c.pin_rank, c.id
        LIMIT $12
    )
    UNION ALL
    (
        SELECT c.*, 2 AS section, row_number() OVER (ORDER BY c.created_at DESC, c.id DESC) AS place
        FROM chats AS c
        WHERE NOT c.pinned
          AND (NOT $14 OR (c.created_at, c.id) < ($10::timestamptz, $11))
          AND {{wanted}}
        ORDER BY c.created_at DESC, c.id DESC
        LIMIT $12
    )
) AS c
ORDER BY c.section, c.place
LIMIT $12

-- name: search(organization_id, identity, archived, labels, title, bot, channel, statuses, has_unread, created_at, id, limit, search, words) :many
-- Which chats said it is read from the index of words; a passage is cut out for the chats of the page alone,
-- around the first of the words in the best of the last twenty messages of each that fit.
WITH said AS MATERIALIZED (
    SELECT m.chat_id, m.id FROM chat_messages AS m
    WHERE message_words(m.content) @@ websearch_to_tsquery('simple', folded($13))
      AND m.role IN ('user', 'assistant') AND m.visibility <> 'model' AND NOT m.deleted
      AND m.organization_id = $1
), page AS MATERIALIZED (
    SELECT c.* FROM chats AS c
    WHERE c.id IN (SELECT chat_id FROM said)
      AND ($10::timestamptz IS NULL OR (c.created_at, c.id) < ($10, $11::uuid))
      AND {{wanted}}
    ORDER BY c.created_at DESC, c.id DESC
    LIMIT $12
)
SELECT {{rows.chat}} AS chat, c.pin_rank, {{unread}} AS has_unread,
       substr(best.text, best.begin, 600) AS snippet, best.begin = 1 AS is_begun,
       best.begin + 600 > length(best.text) AS is_ended
FROM page AS c
CROSS JOIN LATERAL (
    SELECT words.text, greatest(1, coalesce((
        SELECT min(nullif(strpos(folded(words.text), word), 0)) FROM unnest($14::text[]) AS word
    ), 1) - 100) AS begin
    FROM (
        SELECT said.id FROM said WHERE said.chat_id = c.id ORDER BY said.id DESC LIMIT 20
    ) AS newest
    JOIN chat_messages AS m ON m.id = newest.id
    CROSS JOIN LATERAL (
        SELECT left(string_agg(part ->> 'text', ' '), 100000) AS text
        FROM jsonb_array_elements(m.content) AS part
        WHERE part ->> 'type' = 'text'
    ) AS words
    ORDER BY ts_rank(message_words(m.content), websearch_to_tsquery('simple', folded($13))) DESC, m.id DESC
    LIMIT 1
) AS best
ORDER BY c.created_at DESC, c.id DESC
