-- name: receive(platform, installation, event_key, message_key, thread_key, kind, payload) :one
-- The usual case is one statement: the event is new. No row: it, or its message, is known. The lock makes
-- ids of one thread become visible in their order, so that none appears before one that is worked on.
INSERT INTO inbox (platform, installation, event_key, message_key, thread_key, kind, payload)
SELECT $1::text, $2::text, $3::text, $4::text, $5::text, $6::text, $7::jsonb
FROM pg_advisory_xact_lock(hashtextextended(concat_ws(chr(31), $1::text, $2::text, $5::text), 0))
ON CONFLICT DO NOTHING
RETURNING id

-- name: receive_again(platform, installation, event_key, message_key, kind, payload) :one
-- Another event about the same message is kept beside the first while that waits: each says something
-- that the other does not. The same event again says nothing.
WITH known AS (
    SELECT i.id, i.event_key <> $3 AND i.twin IS NULL AND i.state = 'pending' AS lacks_twin
    FROM inbox AS i
    WHERE i.platform = $1 AND i.installation = $2
      AND (i.event_key = $3 OR ($4::text IS NOT NULL AND i.message_key = $4))
    ORDER BY i.event_key = $3 DESC
    LIMIT 1
), twinned AS (
    UPDATE inbox AS i SET twin = jsonb_build_object('kind', $5::text, 'payload', $6::jsonb)
    FROM known
    WHERE i.id = known.id AND known.lacks_twin AND i.state = 'pending' AND i.twin IS NULL
)
SELECT id FROM known

-- name: claim(platforms, owner, limit, seconds) :many
-- The first unfinished event of each thread, so that order is kept and threads do not wait for each
-- other. What a dead worker had claimed comes back when its claim has run out.
WITH due AS (
    SELECT i.id FROM inbox AS i
    WHERE i.platform = ANY ($1::text[])
      AND ((i.state = 'pending' AND i.available_at <= now())
           OR (i.state = 'processing' AND i.claimed_until <= now()))
      AND NOT EXISTS (
          SELECT FROM inbox AS other
          WHERE other.platform = i.platform AND other.installation = i.installation
            AND other.thread_key = i.thread_key AND other.id <> i.id
            AND other.state IN ('pending', 'processing')
            AND (other.id < i.id OR other.state = 'processing')
      )
    ORDER BY i.id
    LIMIT $3
    FOR UPDATE SKIP LOCKED
), claimed AS (
    UPDATE inbox AS i SET
        state = 'processing',
        attempts = i.attempts + 1,
        claimed_by = $2::uuid,
        claimed_until = now() + make_interval(secs => $4)
    FROM due
    WHERE i.id = due.id
    RETURNING i.id, i.platform, i.installation, i.event_key, i.message_key, i.thread_key, i.kind,
              i.payload, i.twin, i.attempts, i.error, i.received_at
)
SELECT * FROM claimed ORDER BY id

-- name: renew(ids, owner, seconds) :many
-- A long translation keeps its claim.
UPDATE inbox SET claimed_until = now() + make_interval(secs => $3)
WHERE id = ANY ($1::bigint[]) AND claimed_by = $2 AND state = 'processing'
RETURNING id

-- name: finish(id, owner) :exec
-- Only while it is being worked on, and by its owner where one is named.
UPDATE inbox SET state = 'done', done_at = now(), claimed_by = NULL, claimed_until = NULL, error = NULL
WHERE id = $1 AND state = 'processing' AND ($2::uuid IS NULL OR claimed_by = $2)

-- name: retry_later(id, owner, error, delay_seconds, attempts_max) :one
-- An event that fails every time must not hold its thread up for ever.
UPDATE inbox SET
    state = CASE WHEN attempts >= $5 THEN 'dead' ELSE 'pending' END,
    done_at = CASE WHEN attempts >= $5 THEN now() END,
    error = $3,
    available_at = now() + make_interval(secs => $4),
    claimed_by = NULL,
    claimed_until = NULL
WHERE id = $1 AND state = 'processing' AND ($2::uuid IS NULL OR claimed_by = $2)
RETURNING state

-- name: bury(id, owner, error) :exec
-- What can never succeed goes out of the way at once, and is kept to be looked at.
UPDATE inbox SET state = 'dead', done_at = now(), error = $3, claimed_by = NULL, claimed_until = NULL
WHERE id = $1 AND state IN ('pending', 'processing')
  AND ($2::uuid IS NULL OR claimed_by = $2)

-- name: redeliver(id) :exec
-- A person has mended what was wrong: its attempts begin again.
UPDATE inbox SET state = 'pending', attempts = 0, available_at = now(), done_at = NULL
WHERE id = $1 AND state = 'dead'

-- name: list_dead(before_id, limit) :many
-- The newest first.
SELECT id, platform, installation, event_key, message_key, thread_key, kind, payload, twin, attempts,
       error, received_at
FROM inbox
WHERE state = 'dead' AND ($1::bigint IS NULL OR id < $1)
ORDER BY id DESC
LIMIT $2

-- name: waiting_count() :many
-- How far behind each platform is, and since when.
SELECT platform, count(*) AS events, min(received_at) AS oldest_at
FROM inbox
WHERE state IN ('pending', 'processing')
GROUP BY platform

-- name: purge(done_seconds, dead_seconds, limit) :exec
-- A done event is kept as long as its platform may send it again. A few at a time, so that no lock is long.
DELETE FROM inbox WHERE id IN (
    (SELECT id FROM inbox
     WHERE state = 'done' AND done_at < now() - make_interval(secs => $1) LIMIT $3)
    UNION ALL
    (SELECT id FROM inbox
     WHERE state = 'dead' AND done_at < now() - make_interval(secs => $2) LIMIT $3)
)
