-- name: report(organization_id, by, since, until, limit) :many
-- Calls of deleted messages and chats were paid for, so they are here. Of two costs the greater comes first.
SELECT CASE $2::text
           WHEN 'user' THEN identity
           WHEN 'channel' THEN channel
           WHEN 'model' THEN model
           WHEN 'day' THEN to_char(created_at AT TIME ZONE 'UTC', 'YYYY-MM-DD')
           WHEN 'bot' THEN bot
           WHEN 'kind' THEN kind
       END AS key,
       count(*) AS calls,
       count(*) FILTER (WHERE cost_micros IS NULL) AS unpriced_calls,
       coalesce(sum(input_tokens), 0)::bigint AS input_tokens,
       coalesce(sum(output_tokens), 0)::bigint AS output_tokens,
       coalesce(sum(reasoning_tokens), 0)::bigint AS reasoning_tokens,
       coalesce(sum(cache_read_tokens), 0)::bigint AS cache_read_tokens,
       coalesce(sum(cache_write_tokens), 0)::bigint AS cache_write_tokens,
       sum(cost_micros)::bigint AS cost_micros,
       coalesce(sum(runtime_ms), 0)::bigint AS runtime_ms
FROM usage_records
WHERE organization_id = $1
  AND ($3::timestamptz IS NULL OR created_at >= $3)
  AND ($4::timestamptz IS NULL OR created_at < $4)
GROUP BY 1
ORDER BY CASE WHEN $2 = 'day' THEN min(created_at) END, sum(cost_micros) DESC NULLS LAST, count(*) DESC, 1
LIMIT $5
