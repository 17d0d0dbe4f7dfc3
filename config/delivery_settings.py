"""Settings of replies on their way into threads (pure)."""

from dataclasses import dataclass

from config.schema import setting


@dataclass(frozen=True, slots=True, kw_only=True)
class DeliverySettings:
    """Replies on their way into threads."""

    lease_seconds: float = setting(
        30.0,
        "A reply whose deliverer is silent for this long is taken over.",
        at_least=1,
        at_most=3600,
    )
    heartbeat_seconds: float = setting(
        10.0, "How often a deliverer says that it is alive.", at_least=0.1, at_most=1200
    )
    poll_seconds: float = setting(
        1.0,
        "How often deliveries are looked for when no hint arrives.",
        at_least=0.05,
        at_most=86_400,
    )
    pages_max: int = setting(
        12,
        "A reply of more messages than this is shown with its first ones, and as a file with all of it.",
        at_least=1,
        at_most=1000,
    )
    file_bytes_max: int = setting(
        10 * 1024 * 1024,
        "Larger files of an agent are named in the thread and not uploaded; 0: no file is uploaded.",
        at_least=0,
        at_most=1024**3,
    )
