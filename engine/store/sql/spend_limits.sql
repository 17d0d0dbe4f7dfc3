-- part: policy
enabled, period, default_limit_micros, organization_limit_micros
-- name: read_policy(organization_id) :one
-- No row: nothing was ever limited here.
SELECT {{policy}} FROM spend_policies WHERE organization_id = $1

-- name: change_policy(organization_id, enabled, period, sets_default, default_limit, sets_organization, organization_limit) :one
-- Only what is named changes, so two people who set different things lose nothing.
INSERT INTO spend_policies AS p ({{policy}}, organization_id, updated_at)
VALUES (coalesce($2::boolean, true), coalesce($3::text, 'month'), $5::bigint, $7::bigint, $1, now())
ON CONFLICT (organization_id) DO UPDATE SET
    enabled = coalesce($2::boolean, p.enabled),
    period = coalesce($3::text, p.period),
    default_limit_micros = CASE WHEN $4::boolean THEN $5::bigint ELSE p.default_limit_micros END,
    organization_limit_micros =
        CASE WHEN $6::boolean THEN $7::bigint ELSE p.organization_limit_micros END,
    updated_at = now()
RETURNING {{policy}}

-- name: list_limits(organization_id) :many
-- By scope and name, as people look for them.
SELECT scope, subject, limit_micros FROM spend_limits WHERE organization_id = $1 ORDER BY scope, subject

-- name: set_limit(organization_id, scope, subject, limit_micros) :exec
-- A limit holds at once, also where nobody has made a policy yet. A group must be there.
WITH policy AS (
    INSERT INTO spend_policies (organization_id) VALUES ($1) ON CONFLICT DO NOTHING
)
INSERT INTO spend_limits (organization_id, scope, subject, limit_micros)
SELECT $1::uuid, $2::text, $3::text, $4::bigint
WHERE $2 <> 'group'
   OR EXISTS (SELECT FROM people_groups AS g WHERE g.organization_id = $1 AND g.name = $3)
ON CONFLICT (organization_id, scope, subject) DO UPDATE SET limit_micros = excluded.limit_micros

-- name: clear_limit(organization_id, scope, subject) :exec
-- What holds without it holds again.
DELETE FROM spend_limits WHERE organization_id = $1 AND scope = $2 AND subject = $3

-- name: list_groups(organization_id) :many
-- With their limits, since that is what groups are for.
SELECT g.name, l.limit_micros, ARRAY(
    SELECT m.identity FROM people_group_members AS m
    WHERE m.organization_id = g.organization_id AND m.group_name = g.name ORDER BY m.identity
) AS members
FROM people_groups AS g
LEFT JOIN spend_limits AS l
  ON l.organization_id = g.organization_id AND l.scope = 'group' AND l.subject = g.name
WHERE g.organization_id = $1
ORDER BY g.name

-- name: add_members(organization_id, name, identities) :exec
-- Makes the group where it is not there; who is in it already stays.
WITH its_group AS (
    INSERT INTO people_groups (organization_id, name) VALUES ($1, $2) ON CONFLICT DO NOTHING
)
INSERT INTO people_group_members (organization_id, group_name, identity)
SELECT $1::uuid, $2::text, identity FROM unnest($3::text[]) AS identity
ON CONFLICT DO NOTHING

-- name: remove_members(organization_id, name, identities) :exec
-- An empty group stays, with its limit.
DELETE FROM people_group_members
WHERE organization_id = $1 AND group_name = $2 AND identity = ANY ($3::text[])

-- name: remove_group(organization_id, name) :exec
-- Its limit goes with it: a later group of that name is another one.
WITH its_limit AS (
    DELETE FROM spend_limits WHERE organization_id = $1 AND scope = 'group' AND subject = $2
)
DELETE FROM people_groups WHERE organization_id = $1 AND name = $2
