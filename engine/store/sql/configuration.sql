-- name: version() :one
-- One row, raised by triggers on all that replicas keep in memory.
SELECT version FROM configuration_version
