-- name: create(id, name) :one
-- Names are what operators type, so one name is one organization.
INSERT INTO organizations (id, name)
VALUES ($1, $2)
ON CONFLICT (name) DO NOTHING
RETURNING id

-- name: list() :many
-- With what they have running, to see whether a cap is near.
SELECT o.id, o.name, o.chats_max, o.created_at, (
    SELECT count(*) FROM chats AS c
    WHERE c.organization_id = o.id AND c.status IN ('running', 'interrupting') AND c.runner_id IS NOT NULL
) AS running
FROM organizations AS o
ORDER BY o.created_at, o.name

-- name: set_chats_max(name, chats_max) :exec
-- Takes effect with the next chat that is acquired; what runs already is let finish.
UPDATE organizations SET chats_max = $2 WHERE name = $1
