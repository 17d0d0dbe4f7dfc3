-- name: save(action_id, identity, answers) :exec
-- Page after page: what was filled in before stays, a field that comes again is as it is now.
INSERT INTO form_drafts AS d (action_id, identity, answers)
SELECT a.id, $2::text, $3::jsonb FROM required_actions AS a WHERE a.id = $1::bigint
ON CONFLICT (action_id, identity) DO UPDATE SET
    answers = d.answers || excluded.answers,
    updated_at = now()

-- name: read(action_id, identity) :one
-- Everybody has a draft of their own.
SELECT answers FROM form_drafts WHERE action_id = $1 AND identity = $2
