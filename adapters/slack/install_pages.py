"""The pages that people see who install an app: in plain words, everything escaped (pure)."""

from dataclasses import dataclass
from html import escape
from typing import Final

PAGE_HEADERS: Final = {
    "Content-Security-Policy": "default-src 'none'; style-src 'unsafe-inline'; base-uri 'none'; "
    "form-action 'none'; frame-ancestors 'none'",
    "X-Content-Type-Options": "nosniff",
    # The address of these pages has held a code.
    "Referrer-Policy": "no-referrer",
    "Cache-Control": "no-store",
}
_STYLE: Final = (
    "body{font:16px/1.5 system-ui,sans-serif;max-width:34rem;margin:15vh auto;padding:0 1.5rem;"
    "color:#1f2937;background:#fff}h1{font-size:1.4rem}"
    "a.go{display:inline-block;padding:.6rem 1.2rem;border-radius:.4rem;background:#1f2937;"
    "color:#fff;text-decoration:none}"
    "@media(prefers-color-scheme:dark){body{color:#e5e7eb;background:#111827}"
    "a.go{background:#e5e7eb;color:#111827}}"
)


@dataclass(frozen=True, slots=True, kw_only=True)
class InstallPage:
    """One page. `link`: what its only button says, and where it leads."""

    title: str
    text: str
    status: int = 200
    link: tuple[str, str] | None = None


STARTING: Final = InstallPage(
    status=503,
    title="One moment",
    text="The server is just starting. Please try again in a minute.",
)
STORE_AWAY: Final = InstallPage(
    status=503,
    title="Not now",
    text="The database does not answer, so nothing was changed. Please try again in a minute.",
)


def invitation(bot: str, *, start: str) -> InstallPage:
    """Before anything happens."""
    return InstallPage(
        title=f"{bot} for Slack",
        text=f"Slack asks you next whether {bot} may read and answer where it is invited.",
        link=("Add to Slack", start),
    )


def installed(bot: str, place: str, *, address: str) -> InstallPage:
    """It has worked."""
    return InstallPage(
        title=f"{bot} is in {place}",
        text="Invite it to a channel and mention it, or write it a direct message.",
        link=("Open Slack", address),
    )


def denied(*, again: str) -> InstallPage:
    """The person, or an administrator, said no."""
    return InstallPage(
        status=403,
        title="Not installed",
        text="It was not allowed in Slack, so nothing was installed. If your workspace asks an "
        "administrator for approval, come back when it has been given.",
        link=("Try again", again),
    )


def not_open(place: str) -> InstallPage:
    """This workspace is not among those that may."""
    return InstallPage(
        status=403,
        title="Not open to this workspace",
        text=f"Whoever runs this app has not opened it to {place}, so it was not installed and has "
        "kept nothing. Ask them, and name your workspace.",
    )


def stale(*, again: str) -> InstallPage:
    """The state is used, too old, or none of ours."""
    return InstallPage(
        status=400,
        title="This link is used up",
        text="An installation goes through once, within ten minutes. Nothing was changed now; if it "
        "has gone through before, all is well.",
        link=("Start again", again),
    )


def other_browser(*, again: str) -> InstallPage:
    """Somebody else began it, or the browser keeps no cookies."""
    return InstallPage(
        status=400,
        title="Begun in another browser",
        text="For your safety an installation ends in the browser that began it, with cookies "
        "allowed. Nothing was changed.",
        link=("Start again here", again),
    )


def wrong_code(*, again: str) -> InstallPage:
    """Slack does not know the code."""
    return InstallPage(
        status=400,
        title="Slack does not know this installation",
        text="What came back from Slack was too old or used already. Nothing was changed.",
        link=("Start again", again),
    )


def slack_away(*, again: str) -> InstallPage:
    """Slack failed to answer."""
    return InstallPage(
        status=502,
        title="Slack does not answer",
        text="Nothing was installed. Please try again in a minute.",
        link=("Try again", again),
    )


def misconfigured() -> InstallPage:
    """Slack refuses us, not the person."""
    return InstallPage(
        status=500,
        title="This app is not set up right",
        text="Slack refused the app, not you. Whoever runs it finds in the log what is to be mended.",
    )


def html_of(page: InstallPage) -> str:
    """The page as HTML. Whatever is in its texts is text."""
    link = ""
    if page.link is not None:
        label, address = page.link
        link = f'<p><a class="go" href="{escape(address)}">{escape(label)}</a></p>'
    return (
        '<!doctype html><html lang="en"><head><meta charset="utf-8">'
        '<meta name="viewport" content="width=device-width">'
        f"<title>{escape(page.title)}</title><style>{_STYLE}</style></head>"
        f"<body><h1>{escape(page.title)}</h1><p>{escape(page.text)}</p>{link}</body></html>"
    )
