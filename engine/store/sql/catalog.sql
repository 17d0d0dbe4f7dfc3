-- part: provider
id, name, wire, display_name, base_url, enabled, api_key_id, headers_key_id, central_key_enabled,
       user_key_allowed, central_key_fallback, options, source, created_at, updated_at

-- part: model
m.id, m.provider_id, p.name AS provider, m.name, m.display_name, m.enabled, m.is_default, m.context_limit,
       m.compaction_threshold, m.max_output_tokens, m.temperature, m.accepts, m.options, m.input_price,
       m.output_price, m.cache_read_price, m.cache_write_price, m.source, m.created_at, m.updated_at

-- name: lock_catalog(key) :one
-- One change at a time, so that there is one default model whoever changes what; it ends with the transaction.
SELECT pg_advisory_xact_lock($1)

-- name: list_providers() :many
-- By name, as people look for them.
SELECT {{provider}} FROM model_providers ORDER BY name

-- name: list_sealed() :many
-- The secrets of all providers, still sealed.
SELECT id, api_key, api_key_id, headers, headers_key_id FROM model_providers

-- name: find_provider(name) :one
-- The name is what people know it by.
SELECT {{provider}} FROM model_providers WHERE name = $1

-- name: insert_provider(id, name, wire, display_name, base_url, enabled, central_key_enabled, user_key_allowed, central_key_fallback, options, source) :exec
-- Nothing happens where the name is taken. The id is ours, since secrets are sealed for it.
INSERT INTO model_providers (
    id, name, wire, display_name, base_url, enabled, central_key_enabled, user_key_allowed,
    central_key_fallback, options, source)
VALUES ($1, $2, $3, $4, $5, $6, $7, $8, $9, $10, $11)
ON CONFLICT (name) DO NOTHING

-- name: update_provider(id, name, wire, display_name, base_url, enabled, central_key_enabled, user_key_allowed, central_key_fallback, options) :exec
-- As a whole: it was read under the lock.
UPDATE model_providers
SET name = $2, wire = $3, display_name = $4, base_url = $5, enabled = $6, central_key_enabled = $7,
    user_key_allowed = $8, central_key_fallback = $9, options = $10, updated_at = now()
WHERE id = $1

-- name: set_provider_key(id, api_key, api_key_id) :exec
-- NULL takes it away.
UPDATE model_providers SET api_key = $2, api_key_id = $3, updated_at = now() WHERE id = $1

-- name: set_provider_headers(id, headers, headers_key_id) :exec
-- NULL takes them away.
UPDATE model_providers SET headers = $2, headers_key_id = $3, updated_at = now() WHERE id = $1

-- name: delete_provider(id) :exec
-- Its models and people's keys go with it.
DELETE FROM model_providers WHERE id = $1

-- name: list_models() :many
-- By provider and age; the default is the same one whoever lists them.
SELECT {{model}}
FROM models AS m JOIN model_providers AS p ON p.id = m.provider_id
ORDER BY p.name, m.created_at, m.id

-- name: find_model(id) :one
-- With the name of its provider.
SELECT {{model}}
FROM models AS m JOIN model_providers AS p ON p.id = m.provider_id
WHERE m.id = $1

-- name: insert_model(id, provider_id, name, display_name, enabled, is_default, context_limit, compaction_threshold, max_output_tokens, temperature, accepts, options, input_price, output_price, cache_read_price, cache_write_price, source) :exec
-- Nothing happens where the provider has a model of this name.
INSERT INTO models (
    id, provider_id, name, display_name, enabled, is_default, context_limit, compaction_threshold,
    max_output_tokens, temperature, accepts, options, input_price, output_price, cache_read_price,
    cache_write_price, source)
VALUES ($1, $2, $3, $4, $5, $6, $7, $8, $9, $10, $11, $12, $13, $14, $15, $16, $17)
ON CONFLICT (provider_id, name) DO NOTHING

-- name: update_model(id, name, display_name, enabled, is_default, context_limit, compaction_threshold, max_output_tokens, temperature, accepts, options, input_price, output_price, cache_read_price, cache_write_price) :exec
-- As a whole: it was read under the lock.
UPDATE models
SET name = $2, display_name = $3, enabled = $4, is_default = $5, context_limit = $6,
    compaction_threshold = $7, max_output_tokens = $8, temperature = $9, accepts = $10, options = $11,
    input_price = $12, output_price = $13, cache_read_price = $14, cache_write_price = $15,
    updated_at = now()
WHERE id = $1

-- name: delete_model(id) :exec
-- Chats that ask for it are told so at their next turn.
DELETE FROM models WHERE id = $1

-- name: clear_default(id) :exec
-- Before another one becomes the default.
UPDATE models SET is_default = false, updated_at = now() WHERE is_default AND id <> $1

-- name: find_heir() :one
-- At the end of every change: the oldest enabled model where there is no default, of an enabled provider first.
SELECT m.id FROM models AS m JOIN model_providers AS p ON p.id = m.provider_id
WHERE m.enabled AND NOT EXISTS (SELECT FROM models WHERE is_default)
ORDER BY p.enabled DESC, m.created_at, m.id LIMIT 1

-- name: promote(id) :exec
-- A statement of its own, for one that changes no row raises the version all the same.
UPDATE models SET is_default = true, updated_at = now() WHERE id = $1

-- name: set_user_key(provider_id, identity, api_key, api_key_id) :exec
-- A new key replaces the one before.
INSERT INTO user_provider_keys (provider_id, identity, api_key, api_key_id)
VALUES ($1, $2, $3, $4)
ON CONFLICT (provider_id, identity)
DO UPDATE SET api_key = excluded.api_key, api_key_id = excluded.api_key_id, created_at = now()

-- name: delete_user_key(provider, identity) :exec
-- The next turn has no key of theirs.
DELETE FROM user_provider_keys AS k USING model_providers AS p
WHERE p.id = k.provider_id AND p.name = $1 AND k.identity = $2

-- name: find_user_key(provider_id, identity) :one
-- Read for each turn whose provider allows keys of people, and never kept.
SELECT api_key, api_key_id FROM user_provider_keys WHERE provider_id = $1 AND identity = $2

-- name: list_user_keys() :many
-- Without the keys.
SELECT p.name AS provider, k.identity, k.api_key_id, k.created_at
FROM user_provider_keys AS k JOIN model_providers AS p ON p.id = k.provider_id
ORDER BY p.name, k.identity

-- name: list_user_key_providers(identity) :many
-- For which providers somebody has a key of their own.
SELECT provider_id FROM user_provider_keys WHERE identity = $1

-- name: providers_sealed_otherwise(key_id, after, limit) :many
-- A batch after the one before, so that a secret that cannot be opened stops nothing.
SELECT id, api_key, api_key_id, headers, headers_key_id FROM model_providers
WHERE (api_key_id <> $1 OR headers_key_id <> $1) AND id > $2
ORDER BY id LIMIT $3

-- name: user_keys_sealed_otherwise(key_id, after_provider, after_identity, limit) :many
-- A batch after the one before, as above.
SELECT provider_id, identity, api_key, api_key_id FROM user_provider_keys
WHERE api_key_id <> $1 AND (provider_id, identity) > ($2, $3)
ORDER BY provider_id, identity LIMIT $4

-- name: reseal_user_key(provider_id, identity, api_key, api_key_id, former_key_id) :exec
-- The key is the same, so its age stays. One that was taken away or replaced meanwhile is left alone.
UPDATE user_provider_keys SET api_key = $3, api_key_id = $4
WHERE provider_id = $1 AND identity = $2 AND api_key_id = $5
