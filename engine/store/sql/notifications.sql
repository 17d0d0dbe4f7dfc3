-- name: queue(chat_id, kind) :exec
-- Entered with the report that ends a turn. The same history is told of once, whoever reports it again.
INSERT INTO notifications (chat_id, organization_id, kind, history_version, owner, channel)
SELECT c.id, c.organization_id, $2, c.history_version, c.owner, c.channel FROM chats AS c
WHERE c.id = $1 AND c.owner IS NOT NULL AND c.channel IS NOT NULL
ON CONFLICT (chat_id, history_version, kind) DO NOTHING

-- name: claim_new(claim, limit, seconds) :many
-- Those that lack words and that nobody finds words for. Every condition is on the row itself, so the
-- lock re-checks all of them.
WITH wanted AS (
    SELECT n.id FROM notifications AS n
    WHERE n.state = 'new' AND (n.claimed_until IS NULL OR n.claimed_until <= now())
    ORDER BY n.id
    LIMIT $2
    FOR NO KEY UPDATE SKIP LOCKED
), claimed AS (
    UPDATE notifications AS n SET
        claimed_by = $1::uuid,
        claimed_until = now() + make_interval(secs => $3),
        attempts = n.attempts + 1
    FROM wanted
    WHERE n.id = wanted.id
    RETURNING n.id, n.chat_id, n.kind, n.history_version, n.channel, n.attempts
)
SELECT claimed.*, c.organization_id, c.bot, c.model, c.owner, c.records_calls
FROM claimed JOIN chats AS c ON c.id = claimed.chat_id
ORDER BY claimed.id

-- name: put_text(id, claim, text) :exec
-- Whoever was overtaken has nothing to say.
UPDATE notifications SET text = $3, state = 'ready', attempts = 0, claimed_by = NULL, claimed_until = NULL
WHERE id = $1 AND claimed_by = $2 AND state = 'new'

-- name: claim_ready(platform, claim, limit, seconds) :many
-- Those of a platform that have words. `sending` says that an earlier sender did not come back.
WITH wanted AS (
    SELECT n.id FROM notifications AS n
    WHERE n.state IN ('ready', 'sending') AND (n.claimed_until IS NULL OR n.claimed_until <= now())
      AND starts_with(n.channel, $1::text || ':')
    ORDER BY n.id
    LIMIT $3
    FOR NO KEY UPDATE SKIP LOCKED
), claimed AS (
    UPDATE notifications AS n SET
        claimed_by = $2::uuid,
        claimed_until = now() + make_interval(secs => $4),
        attempts = n.attempts + 1
    FROM wanted
    WHERE n.id = wanted.id
    RETURNING n.*, split_part(n.channel, ':', 2) AS installation
)
SELECT n.id, n.chat_id, n.kind, n.owner, n.text, n.state, n.nonce, n.created_at, n.attempts, c.title,
       n.installation, substr(n.channel, length($1::text || ':' || n.installation || ':') + 1) AS channel,
       (
           SELECT b.thread FROM bindings AS b
           WHERE b.chat_id = n.chat_id AND b.platform = $1 AND b.installation = n.installation
             AND n.channel = $1::text || ':' || n.installation || ':' || b.channel
           LIMIT 1
       ) AS thread
FROM claimed AS n JOIN chats AS c ON c.id = n.chat_id
ORDER BY n.id

-- name: mark_sending(id, claim) :exec
-- Before the call to the platform; from now on its outcome may be unknown.
UPDATE notifications SET state = 'sending'
WHERE id = $1 AND claimed_by = $2 AND claimed_until > now() AND state IN ('ready', 'sending')

-- name: finish(id, claim, state) :exec
-- It was sent, or will never be.
UPDATE notifications SET state = $3, claimed_by = NULL, claimed_until = NULL, done_at = now()
WHERE id = $1 AND claimed_by = $2 AND state IN ('new', 'ready', 'sending')

-- name: release(id, claim, seconds, is_unsent) :exec
-- Let go, to be tried again after a while. What surely was not sent need not be looked for.
UPDATE notifications SET
    claimed_by = NULL,
    claimed_until = now() + make_interval(secs => $3),
    state = CASE WHEN $4 AND state = 'sending' THEN 'ready' ELSE state END
WHERE id = $1 AND claimed_by = $2 AND state IN ('new', 'ready', 'sending')

-- name: drop_stale(seconds) :exec
-- News of yesterday is none; where no notifier runs, nothing may pile up.
UPDATE notifications SET state = 'dropped', claimed_by = NULL, claimed_until = NULL, done_at = now()
WHERE state IN ('new', 'ready', 'sending') AND created_at < now() - make_interval(secs => $1)
  AND (claimed_until IS NULL OR claimed_until <= now())

-- name: purge(seconds, limit) :exec
-- In small pieces, so that no statement is long.
DELETE FROM notifications WHERE id IN (
    SELECT id FROM notifications
    WHERE state IN ('sent', 'dropped') AND done_at < now() - make_interval(secs => $1)
    LIMIT $2
)
