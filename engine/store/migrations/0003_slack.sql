-- Slack as its users expect it: apps that people install in their workspaces.

-- Where people have installed an app of ours. Tokens are sealed with AES-GCM; the key id tells by which key.
CREATE TABLE installations (
    platform text NOT NULL,
    -- As in bindings, deliveries and the inbox.
    installation text NOT NULL,
    -- The app's name in the settings; empty for the one that has none.
    app text NOT NULL DEFAULT '',
    -- What people call the place.
    name text NOT NULL DEFAULT '',
    -- Who we are there, as the platform says it: a JSON object.
    identity jsonb NOT NULL,
    scopes text[] NOT NULL DEFAULT '{}',
    token bytea NOT NULL,
    token_key_id text NOT NULL,
    refresh_token bytea,
    refresh_token_key_id text,
    -- Rises whenever the tokens change, so that nobody replaces or ends what they have not seen.
    token_version bigint NOT NULL DEFAULT 1,
    expires_at timestamptz,
    -- When a new token is to be asked for next; NULL: the token does not expire.
    refresh_at timestamptz,
    -- The platform's word for why no new token can be had: it must be installed again.
    trouble text,
    installed_by text NOT NULL DEFAULT '',
    installed_at timestamptz NOT NULL DEFAULT now(),
    updated_at timestamptz NOT NULL DEFAULT now(),
    -- Taken away by its people, or refused by the platform; a new installation revives it.
    ended_at timestamptz,
    ended_why text,
    PRIMARY KEY (platform, installation),
    CHECK ((refresh_token IS NULL) = (refresh_token_key_id IS NULL)),
    CHECK (refresh_at IS NULL OR refresh_token IS NOT NULL),
    CHECK ((ended_at IS NULL) = (ended_why IS NULL))
);
CREATE INDEX installations_refresh ON installations (refresh_at) WHERE ended_at IS NULL AND refresh_at IS NOT NULL;

-- Installations that were begun and have not come back. Only hashes: whoever reads them can end none.
CREATE TABLE install_states (
    state bytea PRIMARY KEY,
    platform text NOT NULL,
    app text NOT NULL,
    -- Of the browser that began it.
    browser bytea NOT NULL,
    expires_at timestamptz NOT NULL
);
CREATE INDEX install_states_expiry ON install_states (expires_at);

-- Pages that grow without being edited. Such a message has no nonce before it is closed.
ALTER TABLE receipts ADD COLUMN is_streamed boolean NOT NULL DEFAULT false;
-- A page that was ended on purpose, when its item's text had so many characters; the next one goes on there.
ALTER TABLE receipts ADD COLUMN cut_at integer;

-- Who may answer a question; NULL: anyone. And whoever it was asked for, as authors of messages are kept.
ALTER TABLE required_actions ADD COLUMN answerers jsonb;
ALTER TABLE required_actions ADD COLUMN asker jsonb;

-- Pages of long forms that somebody has filled in, until they send the last one.
CREATE TABLE form_drafts (
    action_id bigint NOT NULL REFERENCES required_actions (id) ON DELETE CASCADE,
    identity text NOT NULL,
    -- By field name.
    answers jsonb NOT NULL,
    updated_at timestamptz NOT NULL DEFAULT now(),
    PRIMARY KEY (action_id, identity)
);

-- What people think of replies: the last word of each. It goes with its chat.
CREATE TABLE feedback (
    chat_id uuid NOT NULL REFERENCES chats (id) ON DELETE CASCADE,
    -- The user message that the reply answers.
    turn_id bigint NOT NULL,
    identity text NOT NULL,
    name text NOT NULL DEFAULT '',
    is_good boolean NOT NULL,
    comment text NOT NULL DEFAULT '',
    organization_id uuid NOT NULL,
    bot text NOT NULL,
    -- Of the reply's last message; where it was shown, as platform:installation:channel.
    model text,
    channel text,
    created_at timestamptz NOT NULL DEFAULT now(),
    updated_at timestamptz NOT NULL DEFAULT now(),
    PRIMARY KEY (chat_id, turn_id, identity)
);
CREATE INDEX feedback_of_organization ON feedback (organization_id, updated_at DESC);

-- What a person has open on a platform while they talk with an agent, by the conversation that they talk in.
CREATE TABLE looks (
    platform text NOT NULL,
    installation text NOT NULL,
    channel text NOT NULL,
    looks_at text NOT NULL,
    updated_at timestamptz NOT NULL DEFAULT now(),
    PRIMARY KEY (platform, installation, channel)
);

-- What a person has begun, and which thread a message of ours is in: neither can wait for a look at every row.
CREATE INDEX chats_of_owner ON chats ((owner ->> 'identity'), created_at DESC, id DESC) WHERE owner IS NOT NULL;
CREATE INDEX receipts_of_message ON receipts (platform_message_id) WHERE platform_message_id IS NOT NULL;
