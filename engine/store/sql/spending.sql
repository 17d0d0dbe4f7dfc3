-- name: limited_organizations() :many
-- Who has any limit: for all others nothing is ever asked.
SELECT p.organization_id FROM spend_policies AS p
WHERE p.enabled AND (
    p.default_limit_micros IS NOT NULL OR p.organization_limit_micros IS NOT NULL
    OR EXISTS (SELECT FROM spend_limits AS l WHERE l.organization_id = p.organization_id)
)

-- part: spent
SELECT least(coalesce(sum(u.cost_micros), 0), 9223372036854775807)::bigint FROM usage_records AS u
WHERE u.organization_id = limits.organization_id AND u.created_at >= limits.since
-- part: limits
period AS (
    SELECT place.*, coalesce(p.enabled, false) AS enabled, p.default_limit_micros,
           p.organization_limit_micros, coalesce(p.period, 'month') AS period, moment.now,
           date_trunc(coalesce(p.period, 'month'), moment.now, 'UTC') AS since
    FROM place
    CROSS JOIN (SELECT coalesce($1::timestamptz, now()) AS now) AS moment
    LEFT JOIN spend_policies AS p ON p.organization_id = place.organization_id
), limits AS (
    SELECT period.*, (
        SELECT l.limit_micros FROM spend_limits AS l
        WHERE l.organization_id = period.organization_id AND l.scope = 'user' AND l.subject = $2::text
    ) AS override_micros, ARRAY(
        SELECT l.limit_micros FROM people_group_members AS m
        JOIN spend_limits AS l
          ON l.organization_id = m.organization_id AND l.scope = 'group' AND l.subject = m.group_name
        WHERE m.organization_id = period.organization_id AND m.identity = $2::text
    ) AS group_limits, (
        SELECT l.limit_micros FROM spend_limits AS l
        WHERE l.organization_id = period.organization_id AND l.scope = 'channel'
          AND l.subject = period.channel
    ) AS channel_limit_micros
    FROM period
)
-- part: sums
CASE WHEN tells_all OR default_limit_micros IS NOT NULL OR override_micros IS NOT NULL
          OR cardinality(group_limits) > 0
    THEN ({{spent}} AND u.identity = $2::text)
END AS person_spent,
CASE WHEN tells_all OR channel_limit_micros IS NOT NULL
    THEN ({{spent}} AND u.channel = limits.channel)
END AS channel_spent,
CASE WHEN tells_all OR organization_limit_micros IS NOT NULL
    THEN ({{spent}})
END AS organization_spent

-- name: check_chat(now, identity, chat_id, source_key) :one
-- All that a check of a message needs, in one round trip; sums are made only where there is a limit.
WITH place AS (
    SELECT organization_id, channel, false AS tells_all FROM chats WHERE id = $3::uuid
), {{limits}}
SELECT limits.*, $4::text IS NOT NULL AND (
    EXISTS (SELECT FROM chat_messages AS m WHERE m.chat_id = $3 AND m.source_key = $4)
    OR EXISTS (SELECT FROM chat_queued_messages AS q WHERE q.chat_id = $3 AND q.source_key = $4)
) AS source_seen,
{{sums}}
FROM limits

-- name: check_place(now, identity, organization_id, channel, tells_all) :one
-- The same where there is no chat yet, or where somebody only asks.
WITH place AS (
    SELECT $3::uuid AS organization_id, $4::text AS channel, $5::boolean AS tells_all
), {{limits}}
SELECT limits.*, {{sums}} FROM limits
