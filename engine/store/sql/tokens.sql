-- name: create_token(name, token_hash, role) :one
-- Only the hash is kept.
INSERT INTO api_tokens (name, token_hash, role) VALUES ($1, $2, $3)
RETURNING id

-- name: list_tokens() :many
-- Revoked ones too: people ask what a token was.
SELECT id, name, role, created_at, last_used_at, revoked_at FROM api_tokens ORDER BY id

-- name: revoke_token(id) :exec
-- For good; the row stays.
UPDATE api_tokens SET revoked_at = now() WHERE id = $1 AND revoked_at IS NULL

-- name: verify_token(token_hash) :one
-- A read in the usual case: the time of use is kept to the minute.
SELECT id, name, role, created_at, last_used_at, revoked_at,
       last_used_at IS NULL OR last_used_at < now() - interval '1 minute' AS is_use_news
FROM api_tokens
WHERE token_hash = $1 AND revoked_at IS NULL

-- name: note_use(id) :exec
-- Coarse on purpose: a busy client must not write with every request.
UPDATE api_tokens SET last_used_at = now() WHERE id = $1
