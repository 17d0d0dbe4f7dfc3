-- part: columns
platform, installation, app, name, identity, scopes, token, token_key_id, refresh_token, refresh_token_key_id,
token_version, expires_at, expires_at <= now() AS is_expired, refresh_at <= now() AS is_due, trouble,
installed_by, installed_at, ended_at, ended_why

-- name: save(platform, installation, app, name, identity, scopes, token, token_key_id, refresh_token, refresh_token_key_id, lives_seconds, refresh_seconds, installed_by) :one
-- The latest wins, and revives what had ended.
INSERT INTO installations AS i (
    platform, installation, app, name, identity, scopes, token, token_key_id, refresh_token,
    refresh_token_key_id, expires_at, refresh_at, installed_by
)
VALUES (
    $1, $2, $3, $4, $5, $6, $7, $8, $9, $10, now() + make_interval(secs => $11),
    now() + make_interval(secs => $12), $13
)
ON CONFLICT (platform, installation) DO UPDATE SET
    app = EXCLUDED.app,
    name = EXCLUDED.name,
    identity = EXCLUDED.identity,
    scopes = EXCLUDED.scopes,
    token = EXCLUDED.token,
    token_key_id = EXCLUDED.token_key_id,
    refresh_token = EXCLUDED.refresh_token,
    refresh_token_key_id = EXCLUDED.refresh_token_key_id,
    token_version = i.token_version + 1,
    expires_at = EXCLUDED.expires_at,
    refresh_at = EXCLUDED.refresh_at,
    trouble = NULL,
    installed_by = EXCLUDED.installed_by,
    installed_at = now(),
    updated_at = now(),
    ended_at = NULL,
    ended_why = NULL
RETURNING token_version

-- name: read(platform, installation) :one
-- With its sealed tokens, whether it has ended or not.
SELECT {{columns}} FROM installations WHERE platform = $1 AND installation = $2

-- name: list_all(platform) :many
-- For people: the living first, by name.
SELECT {{columns}} FROM installations WHERE platform = $1
ORDER BY ended_at IS NOT NULL, name, installation

-- name: due(platform, apps, limit) :many
-- Those whose token is to be renewed, longest due first.
SELECT {{columns}} FROM installations
WHERE platform = $1 AND app = ANY ($2::text[]) AND ended_at IS NULL AND refresh_at <= now()
ORDER BY refresh_at
LIMIT $3

-- name: replace_tokens(platform, installation, token_version, token, token_key_id, refresh_token, refresh_token_key_id, lives_seconds, refresh_seconds) :exec
-- Only the pair that was renewed: what was installed anew meanwhile stays.
UPDATE installations SET
    token = $4,
    token_key_id = $5,
    refresh_token = $6,
    refresh_token_key_id = $7,
    token_version = token_version + 1,
    expires_at = now() + make_interval(secs => $8),
    refresh_at = now() + make_interval(secs => $9),
    trouble = NULL,
    updated_at = now()
WHERE platform = $1 AND installation = $2 AND token_version = $3 AND ended_at IS NULL

-- name: put_off(platform, installation, token_version, seconds, trouble) :exec
-- The stored pair stays as it is and is tried again.
UPDATE installations SET
    refresh_at = now() + make_interval(secs => $4),
    trouble = coalesce($5, trouble),
    updated_at = now()
WHERE platform = $1 AND installation = $2 AND token_version = $3 AND ended_at IS NULL
  AND refresh_token IS NOT NULL

-- name: end(platform, installation, token_version, why) :exec
-- Only the tokens that are known to be dead: what was installed anew meanwhile lives on.
UPDATE installations SET ended_at = now(), ended_why = $4, updated_at = now()
WHERE platform = $1 AND installation = $2 AND token_version = $3 AND ended_at IS NULL

-- name: remove(platform, installation) :exec
-- For good, with its tokens.
DELETE FROM installations WHERE platform = $1 AND installation = $2

-- name: sealed_otherwise(key_id, after_platform, after_installation, limit) :many
-- What another key has sealed, in batches; locked, so that no renewal comes between.
SELECT platform, installation, token, token_key_id, refresh_token, refresh_token_key_id
FROM installations
WHERE (token_key_id <> $1 OR refresh_token_key_id <> $1) AND (platform, installation) > ($2, $3)
ORDER BY platform, installation
LIMIT $4
FOR UPDATE

-- name: reseal(platform, installation, token, token_key_id, refresh_token, refresh_token_key_id) :exec
-- The same tokens under another key: no new version.
UPDATE installations SET token = $3, token_key_id = $4, refresh_token = $5, refresh_token_key_id = $6
WHERE platform = $1 AND installation = $2

-- name: begin(state, platform, app, browser, lives_seconds) :exec
-- Begun by a browser, for a while.
INSERT INTO install_states (state, platform, app, browser, expires_at)
VALUES ($1, $2, $3, $4, now() + make_interval(secs => $5))

-- name: forget_states(limit) :exec
-- Those that never came back, a few at a time.
DELETE FROM install_states WHERE state IN (
    SELECT state FROM install_states WHERE expires_at < now() LIMIT $1 FOR UPDATE SKIP LOCKED
)

-- name: take_state(state, platform, app) :one
-- Once: whoever comes second finds nothing, whichever replica they reach.
DELETE FROM install_states WHERE state = $1 AND platform = $2 AND app = $3
RETURNING browser, expires_at > now() AS is_fresh
