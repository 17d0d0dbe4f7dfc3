"""What can go wrong between us and a platform, in terms that delivery can act on.

SurfaceError
├── RateLimited      not done; the platform says when to ask again
├── MessageTooLong   not done; the same text in smaller pages would pass
├── Gone             the message that was to be changed is not there any more
├── StillStreaming   not done; the message is being streamed, so close it first
├── StreamOver       not done; the message is not being streamed any more
├── StreamRefused    not done; it can be said otherwise
├── FilesRefused     not done; the platform takes no files here, or not this one
├── Denied           not done, and asking again will not help until somebody changes something
└── Unavailable      the platform did not answer properly; `outcome_unknown` says whether it may
                     have been done all the same

Every error carries the platform's own code, never a body: bodies hold what people wrote.
"""


class SurfaceError(Exception):
    """The platform refused or failed."""

    def __init__(self, code: str) -> None:
        super().__init__(code)
        self.code = code


class RateLimited(SurfaceError):
    """Too many calls of one kind. Nothing was done."""

    def __init__(self, code: str, *, retry_after_seconds: float) -> None:
        super().__init__(code)
        self.retry_after_seconds = retry_after_seconds


class MessageTooLong(SurfaceError):
    """The platform counts differently than we do. Nothing was done."""


class Gone(SurfaceError):
    """The message does not exist any more."""


class StillStreaming(SurfaceError):
    """A message that is being streamed cannot be edited. Nothing was done."""


class StreamOver(SurfaceError):
    """The message is not being streamed any more. `by_person`: somebody has stopped it."""

    def __init__(self, code: str, *, by_person: bool = False) -> None:
        super().__init__(code)
        self.by_person = by_person


class StreamRefused(SurfaceError):
    """The platform does not stream this, here or at all. It has not shown anything."""


class FilesRefused(SurfaceError):
    """The platform does not take the file. It has not shown anything; words may pass."""


class Denied(SurfaceError):
    """The bot may not do this: removed from the channel, token revoked, channel archived."""


class Unavailable(SurfaceError):
    """No proper answer. `outcome_unknown`: the call may have taken effect."""

    def __init__(self, code: str, *, outcome_unknown: bool) -> None:
        super().__init__(code)
        self.outcome_unknown = outcome_unknown
