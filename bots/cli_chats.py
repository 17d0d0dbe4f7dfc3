"""`threadwright chats`: find, show, put away and remove chats, and record their model calls for debugging."""

import json
from collections.abc import Awaitable, Callable
from typing import TYPE_CHECKING, Any
from uuid import UUID

import click

from bots.cli_store import Run, with_store
from bots.errors import OperatorError

if TYPE_CHECKING:
    from engine.chat.ids import ChatId
    from engine.store.chat_list import ListedChat
    from engine.store.pool import Pool
    from engine.store.recordings import Recording

IDENTITY = "cli"
RECORDING_ID_MAX = 2**63 - 1
_LIST_FIRST = "see `threadwright chats list`"
Work = Callable[["Pool", "ChatId"], Awaitable[None]]


def chats_commands(run: Run) -> click.Group:
    """The group, given what loads the settings and runs a coroutine with them."""

    def on_chat(environ: dict[str, str], chat_id: UUID, work: Work) -> None:
        async def on_pool(pool: "Pool") -> None:
            from engine.chat.ids import ChatId

            await work(pool, ChatId(chat_id))

        run(environ, lambda settings: with_store(settings, on_pool))

    @click.group(
        epilog="\b\nExamples:\n  threadwright chats list --filter 'status:error label:env:prod'\n"
        "  threadwright chats list --filter 'search:\"lost at sea\"'"
    )
    def chats() -> None:
        """See chats, put them away, remove them, and look into their model calls."""

    @chats.command("list")
    @click.option("--filter", "text", default="", help="Terms such as status:error search:boat.")
    @click.option("--limit", type=click.IntRange(1, 1000), default=50, show_default=True)
    @click.pass_obj
    def list_(environ: dict[str, str], *, text: str, limit: int) -> None:
        """List chats, pinned first, then newest first: id, status, bot, title."""
        run(environ, lambda settings: with_store(settings, lambda pool: _list(pool, text, limit)))

    @chats.command()
    @click.argument("chat_id", type=click.UUID)
    @click.pass_obj
    def show(environ: dict[str, str], *, chat_id: UUID) -> None:
        """Show all that is known of the chat CHAT_ID but what was said in it, as JSON."""
        on_chat(environ, chat_id, _show)

    @chats.command()
    @click.argument("chat_id", type=click.UUID)
    @click.pass_obj
    def archive(environ: dict[str, str], *, chat_id: UUID) -> None:
        """Put the chat CHAT_ID away; what runs in it is stopped."""
        on_chat(environ, chat_id, _archive)

    @chats.command()
    @click.argument("chat_id", type=click.UUID)
    @click.option("--yes", is_flag=True, help="Do not ask.")
    @click.pass_obj
    def delete(environ: dict[str, str], *, chat_id: UUID, yes: bool) -> None:
        """Remove the chat CHAT_ID for good with everything in it. What it cost stays in the reports."""
        if not yes:
            click.confirm("Remove the chat and everything in it for good?", abort=True)
        on_chat(environ, chat_id, _delete)

    chats.add_command(_debug_commands(on_chat))
    return chats


def _debug_commands(on_chat: Callable[[dict[str, str], UUID, Work], None]) -> click.Group:
    @click.group()
    def debug() -> None:
        """Record a chat's model calls, from its next turn on, and look at them."""

    @debug.command("on")
    @click.argument("chat_id", type=click.UUID)
    @click.pass_obj
    def switch_on(environ: dict[str, str], *, chat_id: UUID) -> None:
        """Record what models are sent and answer in CHAT_ID, redacted."""
        on_chat(environ, chat_id, lambda pool, found: _record(pool, found, wanted=True))

    @debug.command("off")
    @click.argument("chat_id", type=click.UUID)
    @click.pass_obj
    def switch_off(environ: dict[str, str], *, chat_id: UUID) -> None:
        """Record no more of CHAT_ID. What was recorded is kept for its time."""
        on_chat(environ, chat_id, lambda pool, found: _record(pool, found, wanted=False))

    @debug.command("show")
    @click.argument("chat_id", type=click.UUID)
    @click.option(
        "--call",
        "recording_id",
        type=click.IntRange(1, RECORDING_ID_MAX),
        help="One call, whole, as JSON.",
    )
    @click.pass_obj
    def show_calls(environ: dict[str, str], *, chat_id: UUID, recording_id: int | None) -> None:
        """List the recorded calls of CHAT_ID, newest first, or show one of them."""
        on_chat(environ, chat_id, lambda pool, found: _show_calls(pool, found, recording_id))

    return debug


async def _list(pool: "Pool", text: str, limit: int) -> None:
    from engine.chat.chat_query import QueryInvalid, parse_chat_query
    from engine.store.chat_list import ChatLists, ListTooSlow

    try:
        wanted = parse_chat_query(text)
        found = await ChatLists(pool).list_chats(wanted, identity=IDENTITY, limit=limit)
    except QueryInvalid as error:
        raise OperatorError(f"the filter {error.detail}", mend="correct --filter") from error
    except ListTooSlow as error:
        what = "the search took too long and was ended"
        raise OperatorError(what, mend="add another term to --filter") from error
    for listed in found:
        chat = listed.chat
        marks = "".join(
            mark
            for mark, is_set in (("pinned ", chat.pinned), ("archived ", chat.archived))
            if is_set
        )
        title = " ".join((chat.title or "").split())
        click.echo(f"{chat.id}\t{chat.created_at:%Y-%m-%d %H:%M}\t{marks}{chat.status.value}\t"
                   f"{chat.bot}\t{title}")  # fmt: skip


async def _show(pool: "Pool", chat_id: "ChatId") -> None:
    from engine.store.chat_list import ChatLists

    listed = await ChatLists(pool).read_listed(chat_id, IDENTITY)
    if listed is None:
        raise _no_chat(chat_id)
    click.echo(json.dumps(_described(listed), indent=2, ensure_ascii=False))


def _described(listed: "ListedChat") -> Any:
    import msgspec

    return msgspec.to_builtins(listed.chat)


async def _archive(pool: "Pool", chat_id: "ChatId") -> None:
    from engine.chat.commands import Archive
    from engine.chat.decision import Refusal
    from engine.store.chat_machine import ChatMachine

    outcome = await ChatMachine(pool, lambda _change: None).submit(chat_id, Archive())
    if outcome is None:
        raise _no_chat(chat_id)
    if isinstance(outcome, Refusal):
        what = f"the chat {chat_id} is {outcome.reason.value}"
        raise OperatorError(what, mend="nothing is left to do")
    click.echo(f"Chat {chat_id} is put away.")


async def _delete(pool: "Pool", chat_id: "ChatId") -> None:
    from engine.store.retention import Retention

    if not await Retention(pool, lambda _change: None).delete_chat(chat_id):
        raise _no_chat(chat_id)
    click.echo(f"Chat {chat_id} is removed.")


async def _record(pool: "Pool", chat_id: "ChatId", *, wanted: bool) -> None:
    from engine.chat.details import DetailsChange
    from engine.store.details import Details

    details = Details(pool, lambda _change: None)
    if not await details.change(chat_id, DetailsChange(records_calls=wanted)):
        raise _no_chat(chat_id)
    click.echo(
        f"Model calls of {chat_id} are {'' if wanted else 'not '}recorded from its next turn on."
    )


async def _show_calls(pool: "Pool", chat_id: "ChatId", recording_id: int | None) -> None:
    from engine.store.recordings import Recordings

    recordings = Recordings(pool)
    if recording_id is None:
        for call in await recordings.list_recordings(chat_id, limit=1000):
            click.echo(_line_of(call))
        return
    found = await recordings.read_recording(chat_id, recording_id)
    if found is None:
        what = f"the chat {chat_id} has no recorded call {recording_id}"
        raise OperatorError(what, mend=f"see `threadwright chats debug show {chat_id}`")
    import msgspec

    click.echo(json.dumps(msgspec.to_builtins(found), indent=2, ensure_ascii=False))


def _line_of(call: "Recording") -> str:
    ended = (
        ""
        if call.finished_at is None
        else f"{(call.finished_at - call.started_at).total_seconds():.1f} s"
    )
    error = "" if call.error is None else call.error.message
    return "\t".join(
        (str(call.id), f"{call.started_at:%Y-%m-%d %H:%M:%S}", call.kind.value, call.model,
         call.status.value, ended, error)
    )  # fmt: skip


def _no_chat(chat_id: "ChatId") -> OperatorError:
    return OperatorError(f"there is no chat {chat_id}", mend=_LIST_FIRST)
