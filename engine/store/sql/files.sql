-- part: info
f.id, f.name, f.media_type, f.size, f.created_at
-- part: due
f.created_at < now() - interval '1 day' AND (
        NOT EXISTS (SELECT FROM chat_files AS l WHERE l.file_id = f.id)
        OR ($1::integer > 0 AND f.created_at < now() - make_interval(days => $1::integer))
    )

-- name: keep_blob(organization_id, sha256) :many
-- Holds the bytes against housekeeping until the file is there; what is stored need not be sent again.
SELECT organization_id FROM file_blobs WHERE organization_id = $1 AND sha256 = $2
FOR KEY SHARE

-- name: insert_blob(organization_id, sha256, data) :exec
-- Whoever sends the same bytes at the same time waits here, and then finds them stored.
INSERT INTO file_blobs (organization_id, sha256, data) VALUES ($1, $2, $3)
ON CONFLICT (organization_id, sha256) DO NOTHING

-- name: insert_file(organization_id, sha256, name, media_type, size, created_by) :one
-- A name of its own for every upload, whoever has stored the bytes.
INSERT INTO files AS f (id, organization_id, sha256, name, media_type, size, created_by)
VALUES (gen_random_uuid(), $1, $2, $3, $4, $5, $6)
RETURNING {{info}}

-- name: stored_bytes(organization_id) :one
-- Each blob once, by the sizes of its files: no bytes are read for it.
SELECT coalesce(sum(size), 0)::bigint AS bytes FROM (
    SELECT DISTINCT ON (sha256) size FROM files WHERE organization_id = $1 ORDER BY sha256
) AS blobs

-- name: count_of_chat(chat_id) :one
-- For tools, which are told before they store.
SELECT count(*) AS files FROM chat_files WHERE chat_id = $1

-- name: link(chat_id, organization_id, file_ids) :one
-- Files that go meanwhile are waited for and not found; those of others are as if they were not there.
WITH found AS MATERIALIZED (
    SELECT id FROM files WHERE id = ANY ($3::uuid[]) AND organization_id = $2
    ORDER BY id
    FOR KEY SHARE
), linked AS (
    INSERT INTO chat_files (chat_id, file_id)
    SELECT $1::uuid, id FROM found
    ON CONFLICT (chat_id, file_id) DO NOTHING
)
SELECT ARRAY(SELECT id FROM found) AS found, (
    SELECT count(*) FROM chat_files WHERE chat_id = $1 AND file_id <> ALL ($3::uuid[])
) AS others

-- name: read_file(organization_id, file_id) :one
-- With its bytes; there is no other way to have them.
SELECT {{info}}, b.data FROM files AS f JOIN file_blobs AS b USING (organization_id, sha256)
WHERE f.organization_id = $1 AND f.id = $2

-- name: read_infos(organization_id, file_ids) :many
-- Without their bytes.
SELECT {{info}} FROM files AS f WHERE f.organization_id = $1 AND f.id = ANY ($2::uuid[])

-- name: read_many(whole_ids, head_ids, head_bytes) :many
-- For a prompt. Of the second the beginning alone: blobs are not compressed, so the rest is not read.
SELECT {{info}},
       CASE WHEN f.id = ANY ($1::uuid[]) THEN b.data ELSE substring(b.data FROM 1 FOR $3) END AS data
FROM files AS f JOIN file_blobs AS b USING (organization_id, sha256)
WHERE f.id = ANY ($1::uuid[] || $2::uuid[])

-- name: files_of_chat(chat_id) :many
-- Those of deleted messages too: the chat keeps them.
SELECT {{info}} FROM chat_files AS l JOIN files AS f ON f.id = l.file_id
WHERE l.chat_id = $1
ORDER BY f.created_at, f.id

-- name: lock_due(retention_days, limit) :many
-- Whoever links one of them just now keeps it: it is passed over.
SELECT f.id FROM files AS f
WHERE {{due}}
ORDER BY f.created_at
LIMIT $2
FOR UPDATE SKIP LOCKED

-- name: delete_due(retention_days, file_ids) :many
-- Looked at again under the lock: one may have been linked before it was taken.
DELETE FROM files AS f WHERE f.id = ANY ($2::uuid[]) AND {{due}}
RETURNING f.organization_id, f.sha256

-- name: lock_blobs(organization_ids, hashes) :many
-- So that nobody gives them a file while they are looked at.
SELECT b.organization_id, b.sha256 FROM file_blobs AS b
JOIN unnest($1::uuid[], $2::bytea[]) AS gone (organization_id, sha256) USING (organization_id, sha256)
ORDER BY b.organization_id, b.sha256
FOR UPDATE OF b

-- name: delete_blobs(organization_ids, hashes) :exec
-- Bytes that no file names any more.
DELETE FROM file_blobs AS b
USING unnest($1::uuid[], $2::bytea[]) AS gone (organization_id, sha256)
WHERE b.organization_id = gone.organization_id AND b.sha256 = gone.sha256
  AND NOT EXISTS (
      SELECT FROM files AS f WHERE f.organization_id = b.organization_id AND f.sha256 = b.sha256
  )
