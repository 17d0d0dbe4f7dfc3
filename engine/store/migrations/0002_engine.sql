-- The whole engine: configured providers and models, usage and limits, files, summaries, notifications,
-- recordings of model calls, search, what each reader has read.

-- Chats that an organization may have running at the same time; NULL: any number.
ALTER TABLE organizations ADD COLUMN chats_max integer CHECK (chats_max > 0);
CREATE UNIQUE INDEX organizations_name ON organizations (name);

ALTER TABLE chats
    -- Where people talk with it, as platform:installation:channel; NULL for chats of programs.
    ADD COLUMN channel text,
    -- The order of pinned chats; means nothing while `pinned` is false.
    ADD COLUMN pin_rank double precision NOT NULL DEFAULT 0,
    -- Whether its model calls are recorded for debugging.
    ADD COLUMN records_calls boolean NOT NULL DEFAULT false,
    ADD COLUMN archived_at timestamptz;
UPDATE chats SET channel = b.platform || ':' || b.installation || ':' || b.channel
FROM bindings AS b WHERE b.chat_id = chats.id;
UPDATE chats SET archived_at = updated_at WHERE archived;
CREATE INDEX chats_archived ON chats (archived_at) WHERE archived;
CREATE INDEX chats_pinned ON chats (organization_id, pin_rank) WHERE pinned;

-- A summary stands, for the model, in the place of all messages up to this id. A summary that is deleted
-- (its history was edited) restores the one before.
ALTER TABLE chat_messages ADD COLUMN summary_of bigint;
CREATE INDEX chat_messages_summaries ON chat_messages (chat_id, id) WHERE summary_of IS NOT NULL;

-- What was said, for search: the first 100,000 characters of a message's text, in small letters of every
-- script, by whichever collation of this server knows them. An index names no function but the server's. What
-- stands in angle brackets is words too, though the server's parser takes it for markup and leaves it out.
DO $$
DECLARE
    letters text := coalesce((
        SELECT format('COLLATE pg_catalog.%I', collname) FROM pg_collation
        WHERE collname IN ('pg_c_utf8', 'C.utf8', 'C.UTF-8', 'en_US.utf8')
          AND collnamespace = 'pg_catalog'::regnamespace
          AND collencoding IN (-1, pg_char_to_encoding(getdatabaseencoding()))
        ORDER BY collname = 'pg_c_utf8' DESC, collname LIKE 'C.%' DESC, collname LIMIT 1
    ), '');
BEGIN
    EXECUTE format($make$
        CREATE FUNCTION folded(said text) RETURNS text
        LANGUAGE sql IMMUTABLE PARALLEL SAFE AS $body$ SELECT lower(said %1$s) $body$
    $make$, letters);
    EXECUTE format($make$
        CREATE FUNCTION message_words(content jsonb) RETURNS tsvector
        LANGUAGE sql IMMUTABLE PARALLEL SAFE AS $body$
    SELECT to_tsvector('simple', lower(translate(left(coalesce((
        SELECT string_agg(part ->> 'text', ' ') FROM jsonb_array_elements(content) AS part
        WHERE part ->> 'type' = 'text'
    ), ''), 100000), '<>', '  ') %1$s))
$body$
    $make$, letters);
END
$$;
CREATE INDEX chat_messages_words ON chat_messages USING gin (message_words(content))
    WHERE role IN ('user', 'assistant') AND visibility <> 'model' AND NOT deleted;

-- What is paid is added up from usage_records below.
DROP INDEX chat_messages_cost;

-- Model calls that were paid for. Kept when their chats are deleted, so no reference to them.
CREATE TABLE usage_records (
    id bigint GENERATED ALWAYS AS IDENTITY PRIMARY KEY,
    organization_id uuid NOT NULL,
    chat_id uuid NOT NULL,
    message_id bigint,
    kind text NOT NULL DEFAULT 'step' CHECK (kind IN ('step', 'compaction', 'title', 'summary')),
    -- Who had asked: the author of the newest message of a person.
    identity text,
    channel text,
    bot text NOT NULL,
    model text,
    input_tokens bigint,
    output_tokens bigint,
    reasoning_tokens bigint,
    cache_read_tokens bigint,
    cache_write_tokens bigint,
    cost_micros bigint,
    runtime_ms bigint,
    created_at timestamptz NOT NULL DEFAULT now()
);
CREATE INDEX usage_records_by_time ON usage_records (organization_id, created_at) INCLUDE (cost_micros);
CREATE INDEX usage_records_by_identity ON usage_records (organization_id, identity, created_at)
    INCLUDE (cost_micros);
CREATE INDEX usage_records_by_channel ON usage_records (organization_id, channel, created_at)
    INCLUDE (cost_micros) WHERE channel IS NOT NULL;

-- Entered by the same trigger that keeps history_version, so no code path can forget it.
CREATE OR REPLACE FUNCTION keep_history_version() RETURNS trigger
LANGUAGE plpgsql AS $$
BEGIN
    UPDATE chats SET history_version = snapshot_version, generation_attempt = 0
    WHERE id IN (SELECT chat_id FROM changed) AND history_version <> snapshot_version;
    IF TG_OP = 'INSERT' THEN
        INSERT INTO usage_records (
            organization_id, chat_id, message_id, kind, identity, channel, bot, model, input_tokens,
            output_tokens, reasoning_tokens, cache_read_tokens, cache_write_tokens, cost_micros, runtime_ms)
        SELECT m.organization_id, m.chat_id, m.id,
            -- What only people see of the model's is the note of a compaction.
            CASE WHEN m.visibility = 'user' THEN 'compaction' ELSE 'step' END, (
                SELECT asked.author ->> 'identity' FROM chat_messages AS asked
                WHERE asked.chat_id = m.chat_id AND asked.id < m.id AND asked.role = 'user'
                  AND asked.visibility <> 'model'
                ORDER BY asked.id DESC LIMIT 1
            ), c.channel, c.bot, m.model,
            (m.usage ->> 'input_tokens')::bigint, (m.usage ->> 'output_tokens')::bigint,
            (m.usage ->> 'reasoning_tokens')::bigint, (m.usage ->> 'cache_read_tokens')::bigint,
            (m.usage ->> 'cache_write_tokens')::bigint, m.cost_micros, m.runtime_ms
        FROM changed AS m JOIN chats AS c ON c.id = m.chat_id
        WHERE m.role = 'assistant' AND (m.usage IS NOT NULL OR m.cost_micros IS NOT NULL);
    END IF;
    RETURN NULL;
END
$$;
INSERT INTO usage_records (
    organization_id, chat_id, message_id, identity, channel, bot, model, input_tokens, output_tokens,
    reasoning_tokens, cache_read_tokens, cache_write_tokens, cost_micros, runtime_ms, created_at)
SELECT m.organization_id, m.chat_id, m.id, c.owner ->> 'identity', c.channel, c.bot, m.model,
       (m.usage ->> 'input_tokens')::bigint, (m.usage ->> 'output_tokens')::bigint,
       (m.usage ->> 'reasoning_tokens')::bigint, (m.usage ->> 'cache_read_tokens')::bigint,
       (m.usage ->> 'cache_write_tokens')::bigint, m.cost_micros, m.runtime_ms, m.created_at
FROM chat_messages AS m JOIN chats AS c ON c.id = m.chat_id
WHERE m.role = 'assistant' AND (m.usage IS NOT NULL OR m.cost_micros IS NOT NULL);

CREATE OR REPLACE FUNCTION keep_chat_versions() RETURNS trigger
LANGUAGE plpgsql AS $$
BEGIN
    IF NEW.snapshot_version = OLD.snapshot_version AND OLD.bumped_by <> pg_current_xact_id() THEN
        NEW.snapshot_version := OLD.snapshot_version + 1;
    END IF;
    NEW.bumped_by := pg_current_xact_id();
    NEW.updated_at := now();
    IF NEW.archived <> OLD.archived THEN
        NEW.archived_at := CASE WHEN NEW.archived THEN now() END;
    END IF;
    IF NEW.retry_state IS DISTINCT FROM OLD.retry_state THEN
        NEW.retry_version := NEW.snapshot_version;
    END IF;
    IF NEW.snapshot_version <> OLD.snapshot_version THEN
        UPDATE deliveries SET is_due = true WHERE chat_id = NEW.id AND NOT is_due;
    END IF;
    RETURN NEW;
END
$$;

-- Code that raises the version with the same statement says so; then there is nothing left to raise.
CREATE OR REPLACE FUNCTION stamp_revision() RETURNS trigger
LANGUAGE plpgsql AS $$
BEGIN
    IF TG_OP = 'UPDATE' OR NEW.revision = 0 THEN
        NEW.revision := coalesce(bump_once(NEW.chat_id), 0);
    END IF;
    RETURN NEW;
END
$$;

-- What may be spent. One period for all limits of an organization; NULL: no limit.
CREATE TABLE spend_policies (
    organization_id uuid PRIMARY KEY REFERENCES organizations (id) ON DELETE CASCADE,
    enabled boolean NOT NULL DEFAULT true,
    period text NOT NULL DEFAULT 'month' CHECK (period IN ('day', 'week', 'month')),
    -- Each person, unless an override or a group says otherwise.
    default_limit_micros bigint CHECK (default_limit_micros >= 0),
    organization_limit_micros bigint CHECK (organization_limit_micros >= 0),
    updated_at timestamptz NOT NULL DEFAULT now()
);
CREATE TABLE spend_limits (
    organization_id uuid NOT NULL REFERENCES organizations (id) ON DELETE CASCADE,
    scope text NOT NULL CHECK (scope IN ('user', 'group', 'channel')),
    -- An identity, a group's name, or a channel as platform:installation:channel.
    subject text NOT NULL,
    limit_micros bigint NOT NULL CHECK (limit_micros >= 0),
    PRIMARY KEY (organization_id, scope, subject)
);
CREATE TABLE people_groups (
    organization_id uuid NOT NULL REFERENCES organizations (id) ON DELETE CASCADE,
    name text NOT NULL,
    PRIMARY KEY (organization_id, name)
);
CREATE TABLE people_group_members (
    organization_id uuid NOT NULL,
    group_name text NOT NULL,
    identity text NOT NULL,
    PRIMARY KEY (organization_id, group_name, identity),
    FOREIGN KEY (organization_id, group_name) REFERENCES people_groups (organization_id, name)
        ON DELETE CASCADE ON UPDATE CASCADE
);
CREATE INDEX people_group_members_identity ON people_group_members (organization_id, identity);

-- Providers and models. Secrets are sealed with AES-GCM; the key id tells by which key.
CREATE TABLE model_providers (
    id uuid PRIMARY KEY DEFAULT gen_random_uuid(),
    name text NOT NULL UNIQUE CHECK (name ~ '^[a-z0-9][a-z0-9_-]{0,62}$'),
    wire text NOT NULL CHECK (wire IN ('chat_completions', 'responses', 'anthropic')),
    display_name text NOT NULL DEFAULT '',
    base_url text NOT NULL,
    enabled boolean NOT NULL DEFAULT true,
    api_key bytea,
    api_key_id text,
    -- Further headers, a JSON object; they may hold secrets.
    headers bytea,
    headers_key_id text,
    central_key_enabled boolean NOT NULL DEFAULT true,
    user_key_allowed boolean NOT NULL DEFAULT false,
    central_key_fallback boolean NOT NULL DEFAULT false,
    -- How it is asked: needs_key, output_limit_field, timeouts.
    options jsonb NOT NULL DEFAULT '{}',
    -- Where it is administered: in a file, or by the API and the command line.
    source text NOT NULL DEFAULT 'admin' CHECK (source IN ('admin', 'file')),
    created_at timestamptz NOT NULL DEFAULT now(),
    updated_at timestamptz NOT NULL DEFAULT now(),
    CHECK (central_key_enabled OR user_key_allowed),
    CHECK (NOT central_key_fallback OR (central_key_enabled AND user_key_allowed)),
    CHECK ((api_key IS NULL) = (api_key_id IS NULL)),
    CHECK ((headers IS NULL) = (headers_key_id IS NULL))
);
CREATE TABLE models (
    id uuid PRIMARY KEY DEFAULT gen_random_uuid(),
    provider_id uuid NOT NULL REFERENCES model_providers (id) ON DELETE CASCADE,
    -- What the provider calls it.
    name text NOT NULL CHECK (name <> ''),
    display_name text NOT NULL DEFAULT '',
    enabled boolean NOT NULL DEFAULT true,
    is_default boolean NOT NULL DEFAULT false,
    context_limit integer NOT NULL CHECK (context_limit > 0),
    compaction_threshold integer NOT NULL DEFAULT 70 CHECK (compaction_threshold BETWEEN 1 AND 100),
    max_output_tokens integer CHECK (max_output_tokens > 0),
    temperature double precision,
    -- Kinds of files that the model reads itself.
    accepts text[] NOT NULL DEFAULT '{}',
    -- Further fields of the provider's request.
    options jsonb NOT NULL DEFAULT '{}',
    -- Per million tokens; NULL: not priced.
    input_price numeric CHECK (input_price >= 0),
    output_price numeric CHECK (output_price >= 0),
    cache_read_price numeric CHECK (cache_read_price >= 0),
    cache_write_price numeric CHECK (cache_write_price >= 0),
    source text NOT NULL DEFAULT 'admin' CHECK (source IN ('admin', 'file')),
    created_at timestamptz NOT NULL DEFAULT now(),
    updated_at timestamptz NOT NULL DEFAULT now(),
    UNIQUE (provider_id, name),
    CHECK (NOT is_default OR enabled)
);
CREATE UNIQUE INDEX models_one_default ON models (is_default) WHERE is_default;
CREATE TABLE user_provider_keys (
    provider_id uuid NOT NULL REFERENCES model_providers (id) ON DELETE CASCADE,
    identity text NOT NULL,
    api_key bytea NOT NULL,
    api_key_id text NOT NULL,
    created_at timestamptz NOT NULL DEFAULT now(),
    PRIMARY KEY (provider_id, identity)
);

-- Raised by every change of what replicas keep in memory, so that one small read tells them.
CREATE TABLE configuration_version (
    only_one boolean PRIMARY KEY DEFAULT true CHECK (only_one),
    version bigint NOT NULL DEFAULT 1
);
INSERT INTO configuration_version DEFAULT VALUES;
CREATE FUNCTION raise_configuration_version() RETURNS trigger
LANGUAGE plpgsql AS $$
BEGIN
    UPDATE configuration_version SET version = version + 1;
    RETURN NULL;
END
$$;
CREATE TRIGGER organizations_configure AFTER INSERT OR UPDATE OR DELETE ON organizations
    FOR EACH STATEMENT EXECUTE FUNCTION raise_configuration_version();
CREATE TRIGGER spend_policies_configure AFTER INSERT OR UPDATE OR DELETE ON spend_policies
    FOR EACH STATEMENT EXECUTE FUNCTION raise_configuration_version();
CREATE TRIGGER spend_limits_configure AFTER INSERT OR UPDATE OR DELETE ON spend_limits
    FOR EACH STATEMENT EXECUTE FUNCTION raise_configuration_version();
CREATE TRIGGER people_group_members_configure AFTER INSERT OR UPDATE OR DELETE ON people_group_members
    FOR EACH STATEMENT EXECUTE FUNCTION raise_configuration_version();
CREATE TRIGGER model_providers_configure AFTER INSERT OR UPDATE OR DELETE ON model_providers
    FOR EACH STATEMENT EXECUTE FUNCTION raise_configuration_version();
CREATE TRIGGER models_configure AFTER INSERT OR UPDATE OR DELETE ON models
    FOR EACH STATEMENT EXECUTE FUNCTION raise_configuration_version();
CREATE TRIGGER user_provider_keys_configure AFTER INSERT OR UPDATE OR DELETE ON user_provider_keys
    FOR EACH STATEMENT EXECUTE FUNCTION raise_configuration_version();

-- Files: the same bytes are stored once in an organization, whatever they are called.
CREATE TABLE file_blobs (
    organization_id uuid NOT NULL,
    sha256 bytea NOT NULL,
    data bytea NOT NULL,
    PRIMARY KEY (organization_id, sha256)
);
ALTER TABLE file_blobs ALTER COLUMN data SET STORAGE EXTERNAL;
CREATE TABLE files (
    id uuid PRIMARY KEY,
    organization_id uuid NOT NULL,
    sha256 bytea NOT NULL,
    name text NOT NULL,
    media_type text NOT NULL,
    size bigint NOT NULL,
    created_by jsonb,
    created_at timestamptz NOT NULL DEFAULT now(),
    FOREIGN KEY (organization_id, sha256) REFERENCES file_blobs (organization_id, sha256)
);
CREATE INDEX files_of_blob ON files (organization_id, sha256);
CREATE INDEX files_by_age ON files (created_at);
CREATE TABLE chat_files (
    chat_id uuid NOT NULL REFERENCES chats (id) ON DELETE CASCADE,
    file_id uuid NOT NULL REFERENCES files (id) ON DELETE CASCADE,
    PRIMARY KEY (chat_id, file_id)
);
CREATE INDEX chat_files_of_file ON chat_files (file_id);

-- The newest message that somebody has seen.
CREATE TABLE chat_reads (
    chat_id uuid NOT NULL REFERENCES chats (id) ON DELETE CASCADE,
    identity text NOT NULL,
    message_id bigint NOT NULL,
    PRIMARY KEY (chat_id, identity)
);

-- What owners are to be told: entered with the report that ends a turn, sent once.
CREATE TABLE notifications (
    id bigint GENERATED ALWAYS AS IDENTITY PRIMARY KEY,
    chat_id uuid NOT NULL REFERENCES chats (id) ON DELETE CASCADE,
    organization_id uuid NOT NULL,
    kind text NOT NULL CHECK (kind IN ('finished', 'needs_answer', 'failed')),
    history_version bigint NOT NULL,
    owner jsonb NOT NULL,
    channel text NOT NULL,
    text text,
    state text NOT NULL DEFAULT 'new' CHECK (state IN ('new', 'ready', 'sending', 'sent', 'dropped')),
    -- Sent along, so that the platform can be asked whether it arrived.
    nonce uuid NOT NULL DEFAULT gen_random_uuid(),
    claimed_by uuid,
    claimed_until timestamptz,
    attempts integer NOT NULL DEFAULT 0,
    created_at timestamptz NOT NULL DEFAULT now(),
    done_at timestamptz,
    UNIQUE (chat_id, history_version, kind)
);
CREATE INDEX notifications_waiting ON notifications (id) WHERE state IN ('new', 'ready', 'sending');
CREATE INDEX notifications_done ON notifications (done_at) WHERE state IN ('sent', 'dropped');

-- Chats whose titles people want made anew.
CREATE TABLE title_requests (
    chat_id uuid PRIMARY KEY REFERENCES chats (id) ON DELETE CASCADE,
    requested_at timestamptz NOT NULL DEFAULT now(),
    claimed_by uuid,
    claimed_until timestamptz
);

-- Model calls as they were made and answered, redacted; only of chats that ask for it.
CREATE TABLE model_call_recordings (
    id bigint GENERATED ALWAYS AS IDENTITY PRIMARY KEY,
    chat_id uuid NOT NULL REFERENCES chats (id) ON DELETE CASCADE,
    organization_id uuid NOT NULL,
    kind text NOT NULL CHECK (kind IN ('step', 'compaction', 'title', 'summary')),
    model text NOT NULL,
    status text NOT NULL CHECK (status IN ('in_progress', 'completed', 'error', 'interrupted')),
    request json NOT NULL,
    response json,
    error jsonb,
    started_at timestamptz NOT NULL DEFAULT now(),
    finished_at timestamptz
);
CREATE INDEX model_call_recordings_of_chat ON model_call_recordings (chat_id, id);
CREATE INDEX model_call_recordings_by_age ON model_call_recordings (started_at);
