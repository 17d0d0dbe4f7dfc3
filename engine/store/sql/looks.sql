-- name: put(platform, installation, channel, looks_at) :exec
-- The newest counts.
INSERT INTO looks (platform, installation, channel, looks_at) VALUES ($1, $2, $3, $4)
ON CONFLICT (platform, installation, channel) DO UPDATE SET looks_at = excluded.looks_at, updated_at = now()

-- name: find(platform, installation, channel, seconds) :one
-- What was looked at long ago says nothing of now.
SELECT looks_at FROM looks
WHERE platform = $1 AND installation = $2 AND channel = $3
  AND updated_at > now() - make_interval(secs => $4)
