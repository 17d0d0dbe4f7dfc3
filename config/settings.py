"""Every setting of Threadwright, typed, frozen and documented where it is declared (pure).

A setting `key` of section `[section]` is the TOML key `section.key` and the environment name
`THREADWRIGHT_<SECTION>_<KEY>`. Values are read once, by `config.load`, and passed inward.
"""

from collections.abc import Mapping
from dataclasses import dataclass, field
from enum import StrEnum
from typing import Final

from config.delivery_settings import DeliverySettings
from config.schema import setting, tables
from config.secret import Secret, SecretUrl
from config.side_settings import NotificationsSettings, SlackNotify, TitlesSettings
from config.slack_app_settings import SlackAppSettings
from config.slack_inbound_settings import SlackInboundSettings

HTTP: Final = ("http", "https")


class Role(StrEnum):
    """A part of the work that a process takes on."""

    API = "api"
    WORKER = "worker"
    SLACK = "slack"
    DISCORD = "discord"
    WEBHOOK = "webhook"
    SCHEDULE = "schedule"


class ModelProvider(StrEnum):
    """Whose wire format the model speaks."""

    AUTO = "auto"
    OPENAI = "openai"
    ANTHROPIC = "anthropic"
    DEMO = "demo"


class ModelWire(StrEnum):
    """Which of its two APIs an OpenAI provider is asked through."""

    CHAT_COMPLETIONS = "chat_completions"
    RESPONSES = "responses"


class BusyBehavior(StrEnum):
    """What becomes of a message that arrives while the agent is running."""

    QUEUE = "queue"
    INTERRUPT = "interrupt"


class LogLevel(StrEnum):
    """The least severe level that is written."""

    DEBUG = "debug"
    INFO = "info"
    WARNING = "warning"
    ERROR = "error"


class LogFormat(StrEnum):
    """How a log line looks; `auto` is text on a terminal and JSON elsewhere."""

    AUTO = "auto"
    JSON = "json"
    TEXT = "text"


@dataclass(frozen=True, slots=True, kw_only=True)
class ServerSettings:
    """The one HTTP port: console, API, webhooks, Slack over HTTP, health."""

    host: str = setting("127.0.0.1", "Address to listen on.", aliases=("THREADWRIGHT_HOST",))
    port: int = setting(
        8080,
        "Port to listen on; 0 lets the system choose.",
        aliases=("THREADWRIGHT_PORT",),
        at_least=0,
        at_most=65_535,
    )
    public_url: str | None = setting(
        None, "Address under which people reach the server, for links and callbacks.", schemes=HTTP
    )
    body_max_bytes: int = setting(
        1_048_576,
        "Largest request body; a larger one gets 413.",
        at_least=1024,
        at_most=104_857_600,
    )


@dataclass(frozen=True, slots=True, kw_only=True)
class DatabaseSettings:
    """Postgres. Without an address an embedded one is started under the state directory."""

    url: SecretUrl | None = setting(
        None, "Postgres address.", aliases=("DATABASE_URL",), schemes=("postgresql", "postgres")
    )
    pool_min: int = setting(2, "Connections kept open per process.", at_least=0, at_most=1000)
    pool_max: int = setting(10, "Most connections per process.", at_least=1, at_most=1000)
    wait_seconds: float = setting(
        30.0, "How long to wait at start for the database to answer.", at_least=0, at_most=3600
    )


@dataclass(frozen=True, slots=True, kw_only=True)
class RedisSettings:
    """Redis, the relay between replicas. Without an address the relay is in memory."""

    url: SecretUrl | None = setting(
        None,
        "Redis or Valkey address; needed as soon as there are two replicas.",
        aliases=("REDIS_URL",),
        schemes=("redis", "rediss", "unix"),
    )


@dataclass(frozen=True, slots=True, kw_only=True)
class ModelSettings:
    """The model that bots use unless their own file, or the database, says otherwise."""

    provider: ModelProvider = setting(
        ModelProvider.AUTO,
        "Who is asked; `auto` is openai with its key or an address, else anthropic with its, else "
        "the scripted demo model.",
    )
    wire: ModelWire = setting(
        ModelWire.CHAT_COMPLETIONS, "The API of OpenAI; compatible servers mostly have the first."
    )
    name: str | None = setting(None, "Model name; empty means the provider's default.")
    base_url: str | None = setting(
        None,
        "Address of the provider or of a compatible server.",
        aliases=("OPENAI_BASE_URL", "ANTHROPIC_BASE_URL"),
        schemes=HTTP,
    )
    api_key: Secret | None = setting(
        None, "Key for the provider.", aliases=("OPENAI_API_KEY", "ANTHROPIC_API_KEY")
    )
    side_name: str | None = setting(
        None,
        "Model for titles and summaries, as `provider:model` or by its name; empty means the bot's.",
    )
    show_reasoning: bool = setting(
        default=False,
        doc="Whether the console and the API show what a model thought before it answered.",
    )
    context_limit: int = setting(
        128_000, "Context window in tokens.", at_least=1024, at_most=100_000_000
    )
    max_output_tokens: int | None = setting(
        None, "Most tokens of one answer; empty leaves it to the provider.", at_least=1
    )
    temperature: float | None = setting(
        None, "Sampling temperature; empty leaves it to the provider.", at_least=0, at_most=2
    )
    first_token_timeout_seconds: float = setting(
        60.0, "Longest wait for the first part of an answer.", at_least=1, at_most=86_400
    )
    silence_timeout_seconds: float = setting(
        600.0,
        "Longest silence within an answer; 0 switches the check off.",
        at_least=0,
        at_most=86_400,
    )


@dataclass(frozen=True, slots=True, kw_only=True)
class WorkerSettings:
    """How chats are acquired, held and run."""

    lease_seconds: float = setting(
        30.0, "A chat whose holder is silent for this long is taken over.", at_least=1, at_most=3600
    )
    heartbeat_seconds: float = setting(
        10.0, "How often a holder says that it is alive.", at_least=0.1, at_most=1200
    )
    poll_seconds: float = setting(
        1.0,
        "How often runnable chats are looked for when no hint arrives.",
        at_least=0.05,
        at_most=86_400,
    )
    chats_max: int = setting(
        1000, "Most chats one replica runs at a time.", at_least=1, at_most=100_000
    )
    retry_attempts_max: int = setting(
        25, "Attempts at one model call before the turn fails.", at_least=1, at_most=1000
    )
    steps_max: int = setting(
        1200, "Model calls in one turn before it is ended.", at_least=1, at_most=100_000
    )


@dataclass(frozen=True, slots=True, kw_only=True)
class ToolsSettings:
    """Tools that are answered outside the engine."""

    # A program answers in seconds, but people in a thread go to lunch and sleep: a day.
    action_timeout_seconds: float = setting(
        86_400.0,
        "How long a chat waits for people or clients to answer.",
        at_least=1,
        at_most=2_592_000,
    )


@dataclass(frozen=True, slots=True, kw_only=True)
class FilesSettings:
    """Files of chats, kept in the database. A file that no message names goes after a day."""

    bytes_max: int = setting(
        10_485_760, "Largest file; a larger one gets 413.", at_least=1024, at_most=104_857_600
    )
    organization_bytes_max: int = setting(
        0, "Most bytes kept for one organization; 0 is any number.", at_least=0, at_most=2**50
    )
    retention_days: int = setting(
        0,
        "Days after which a file is removed, sent or not; 0 is never.",
        at_least=0,
        at_most=36_500,
    )


@dataclass(frozen=True, slots=True, kw_only=True)
class RetentionSettings:
    """What becomes of chats that nobody goes on with. Days are counted from midnight, UTC."""

    archive_days: int = setting(
        0,
        "A chat in which nothing was said for so many days is put away, unless it is pinned or at "
        "work; 0: never.",
        at_least=0,
        at_most=3650,
    )
    delete_days: int = setting(
        0,
        "A chat that was put away so many days ago is removed for good with everything in it; what "
        "it cost is kept; 0: never.",
        at_least=0,
        at_most=3650,
    )


@dataclass(frozen=True, slots=True, kw_only=True)
class RecordingSettings:
    """Debug recordings of model calls, of the chats for which they are switched on."""

    days: int = setting(7, "How long a recorded call is kept.", at_least=1, at_most=3650)


@dataclass(frozen=True, slots=True, kw_only=True)
class StreamSettings:
    """Live parts on their way to readers."""

    buffer_bytes_max: int = setting(
        1_000_000, "Live parts kept per generation attempt.", at_least=10_000, at_most=1_000_000_000
    )
    coalesce_ms: int = setting(
        30, "Parts of this long are sent to other replicas together.", at_least=0, at_most=5000
    )


@dataclass(frozen=True, slots=True, kw_only=True)
class SlackSettings(SlackInboundSettings):
    """The Slack app without a name, further ones, and how all of them behave."""

    api_url: str = setting("https://slack.com/api/", "Address of the Slack Web API.", schemes=HTTP)
    edit_interval_ms_min: int = setting(
        3000,
        "Least time between two edits of a message; Slack asks for 3 s.",
        at_least=100,
        at_most=60_000,
    )
    call_rate: float = setting(
        1.0,
        "How many calls this app may make, as a multiple of what Slack publishes: less where other "
        "programs use the app too, more where Slack has granted more.",
        at_least=0.05,
        at_most=100.0,
    )
    busy_behavior: BusyBehavior = setting(
        BusyBehavior.QUEUE, "What becomes of text typed while the agent is running."
    )
    stop_words: tuple[str, ...] = setting(
        ("stop", "!stop"), "A message in the thread that is only this stops the agent."
    )
    stop_reaction: str = setting(
        "octagonal_sign", "A reaction with this emoji on any message of the thread stops the agent."
    )
    notify: SlackNotify = setting(
        SlackNotify.DM,
        "How owners are told that a long turn has ended: by direct message, by a mention in the "
        "thread, or not at all. Never in a direct message with the bot, where the reply tells it.",
    )
    apps: Mapping[str, SlackAppSettings] = tables(
        SlackAppSettings,
        "Further Slack apps beside the one of [slack], each in a table of its own.",
    )


@dataclass(frozen=True, slots=True, kw_only=True)
class DiscordSettings:
    """One Discord application. Not used yet."""

    token: Secret | None = setting(None, "Bot token; not used yet.", aliases=("DISCORD_TOKEN",))
    api_url: str = setting(
        "https://discord.com/api/v10", "Address of the Discord API.", schemes=HTTP
    )
    gateway_url: str | None = setting(
        None, "Address of the gateway; empty asks the API for it.", schemes=("ws", "wss")
    )


@dataclass(frozen=True, slots=True, kw_only=True)
class AdminSettings:
    """The administrator's way in."""

    token: Secret | None = setting(
        None, "Bearer token with every right, for the console and to make the first API token."
    )


@dataclass(frozen=True, slots=True, kw_only=True)
class LogSettings:
    """What is written to standard error."""

    level: LogLevel = setting(LogLevel.INFO, "Least severe level that is written.")
    format: LogFormat = setting(
        LogFormat.AUTO, "`auto` writes text to a terminal and JSON elsewhere."
    )


@dataclass(frozen=True, slots=True, kw_only=True)
class Settings:
    """The whole configuration of one process."""

    state_dir: str = setting("~/.local/state/threadwright", "Folder for the embedded database.")
    secret_key: Secret | None = setting(
        None,
        "Seals the keys of providers in the database and signs sessions of the console; the same on "
        "every replica, at least 16 characters. The embedded database has one of its own.",
    )
    secret_key_previous: Secret | None = setting(
        None,
        "The secret key before, until `threadwright secrets rotate` has sealed everything anew.",
    )
    providers_file: str | None = setting(
        None, "TOML file with providers and models, which is applied at every start."
    )
    bots_dir: str | None = setting(
        None, "Folder with one folder per bot; empty means the bots that come with Threadwright."
    )
    roles: tuple[Role, ...] = setting(
        (),
        "What this process does; empty means api and worker, and slack when its tokens are set. "
        "discord, webhook and schedule are not available in this version.",
    )
    server: ServerSettings = field(default_factory=ServerSettings)
    database: DatabaseSettings = field(default_factory=DatabaseSettings)
    redis: RedisSettings = field(default_factory=RedisSettings)
    model: ModelSettings = field(default_factory=ModelSettings)
    worker: WorkerSettings = field(default_factory=WorkerSettings)
    tools: ToolsSettings = field(default_factory=ToolsSettings)
    files: FilesSettings = field(default_factory=FilesSettings)
    titles: TitlesSettings = field(default_factory=TitlesSettings)
    notifications: NotificationsSettings = field(default_factory=NotificationsSettings)
    retention: RetentionSettings = field(default_factory=RetentionSettings)
    recording: RecordingSettings = field(default_factory=RecordingSettings)
    stream: StreamSettings = field(default_factory=StreamSettings)
    delivery: DeliverySettings = field(default_factory=DeliverySettings)
    slack: SlackSettings = field(default_factory=SlackSettings)
    discord: DiscordSettings = field(default_factory=DiscordSettings)
    admin: AdminSettings = field(default_factory=AdminSettings)
    log: LogSettings = field(default_factory=LogSettings)
