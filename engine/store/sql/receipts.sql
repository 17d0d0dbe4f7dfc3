-- part: held
held AS (SELECT id FROM deliveries WHERE id = $1 AND fence = $2 AND owner IS NOT NULL FOR SHARE)
-- name: list_receipts(delivery_id) :many
-- All that a new owner must know of what earlier ones have posted.
SELECT item_key, page, state, platform_message_id, nonce, content_hash, attempted_at, delivered_at,
       is_streamed, cut_at
FROM receipts
WHERE delivery_id = $1
ORDER BY item_key, page

-- name: put_attempt(delivery_id, fence, item_key, page, nonce, content_hash, is_streamed) :exec
-- Before the page is sent. The lock on the delivery makes it either seen by the next owner or refused.
WITH {{held}}
INSERT INTO receipts AS r (delivery_id, item_key, page, state, nonce, content_hash, attempted_at,
                           is_streamed)
SELECT held.id, $3::text, $4::integer, 'attempting', $5::uuid, $6::text, now(), $7::boolean FROM held
ON CONFLICT (delivery_id, item_key, page) DO UPDATE SET
    state = 'attempting',
    nonce = excluded.nonce,
    content_hash = excluded.content_hash,
    attempted_at = excluded.attempted_at,
    is_streamed = excluded.is_streamed

-- name: put_delivered(delivery_id, fence, item_key, page, platform_message_id, content_hash, cut_at) :exec
-- After the platform has answered, or was asked and had the page.
WITH {{held}}
INSERT INTO receipts AS r (delivery_id, item_key, page, state, platform_message_id, content_hash,
                           delivered_at, cut_at)
SELECT held.id, $3::text, $4::integer, 'delivered', $5::text, $6::text, now(), $7::integer FROM held
ON CONFLICT (delivery_id, item_key, page) DO UPDATE SET
    state = 'delivered',
    platform_message_id = excluded.platform_message_id,
    content_hash = excluded.content_hash,
    delivered_at = excluded.delivered_at,
    cut_at = excluded.cut_at

-- name: mark_deleted(delivery_id, fence, item_key, page) :exec
-- Gone from the thread, by us or by a person; not to be edited any more.
WITH {{held}}
UPDATE receipts AS r SET state = 'deleted'
FROM held
WHERE r.delivery_id = held.id AND r.item_key = $3 AND r.page = $4
