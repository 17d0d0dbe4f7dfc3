// Keeps pages alive: applies what the server sends, and sends forms without leaving the page.
// Everything also works without this file; then pages are loaded anew.
"use strict";

const NEAR_END_PX = 96;
const SIDEBAR_MS = 15000;
const RECONNECT_MS = 2000;

const find = (selector, root = document) => root.querySelector(selector);
const findAll = (selector, root = document) => [...root.querySelectorAll(selector)];

// -- times, in the reader's own zone --------------------------------------------------------------

function localize(root) {
  const today = new Date().toDateString();
  for (const element of findAll("time[datetime]", root)) {
    const at = new Date(element.dateTime);
    if (Number.isNaN(at.getTime())) continue;
    const isToday = at.toDateString() === today;
    const clock = at.toLocaleTimeString([], { hour: "2-digit", minute: "2-digit" });
    const day = at.toLocaleDateString([], { day: "numeric", month: "short" });
    element.textContent = isToday ? clock : "short" in element.dataset ? day : `${day}, ${clock}`;
    element.title = at.toLocaleString();
  }
}

function elementsOf(html) {
  const template = document.createElement("template");
  template.innerHTML = html;
  localize(template.content);
  decorate(template.content);
  return template;
}

// -- small comforts -------------------------------------------------------------------------------

function decorate(root) {
  for (const block of findAll(".prose pre", root)) {
    if (find(".copy", block)) continue;
    const button = document.createElement("button");
    button.type = "button";
    button.className = "copy";
    button.textContent = "Copy";
    block.append(button);
  }
}

document.addEventListener("click", async (event) => {
  const button = event.target.closest(".copy");
  if (!button) return;
  const text = find("code", button.parentElement).textContent;
  try {
    await navigator.clipboard.writeText(text);
    button.textContent = "Copied";
  } catch {
    button.textContent = "Press Ctrl+C";
    getSelection().selectAllChildren(find("code", button.parentElement));
  }
  setTimeout(() => { button.textContent = "Copy"; }, 1600);
});

let toastTimer = 0;
function say(sentence) {
  const toast = find("#toast");
  toast.textContent = sentence;
  toast.hidden = false;
  clearTimeout(toastTimer);
  toastTimer = setTimeout(() => { toast.hidden = true; }, 6000);
}

function newKey() {
  const bytes = crypto.getRandomValues(new Uint8Array(12));
  return [...bytes].map((byte) => byte.toString(16).padStart(2, "0")).join("");
}

// -- writing --------------------------------------------------------------------------------------

document.addEventListener("keydown", (event) => {
  const area = event.target;
  if (!(area instanceof HTMLTextAreaElement) || !area.closest(".composer")) return;
  if (event.key !== "Enter" || event.shiftKey || event.isComposing) return;
  event.preventDefault();
  if (area.value.trim()) area.form.requestSubmit(find("[data-main]", area.form));
});

function grow(area) {
  // Browsers that know field-sizing do this by themselves.
  if (CSS.supports("field-sizing", "content")) return;
  area.style.height = "auto";
  area.style.height = `${Math.min(area.scrollHeight, 240)}px`;
}
document.addEventListener("input", (event) => {
  if (event.target instanceof HTMLTextAreaElement) grow(event.target);
});

async function send(form, submitter) {
  const body = new URLSearchParams(new FormData(form, submitter));
  const address = submitter?.hasAttribute("formaction") ? submitter.formAction : form.action;
  const buttons = findAll("button", form);
  buttons.forEach((button) => { button.disabled = true; });
  try {
    const headers = { Accept: "application/json" };
    const response = await fetch(address, { method: "POST", body, headers });
    if (response.ok) return true;
    if (response.status === 401) location.reload();
    const problem = await response.json().catch(() => ({}));
    say(problem.message ?? "That did not work. Please try again.");
  } catch {
    say("The server cannot be reached. Nothing was sent.");
  } finally {
    buttons.forEach((button) => { button.disabled = false; });
  }
  return false;
}

document.addEventListener("submit", async (event) => {
  const form = event.target;
  if (!form.closest("#thread")) return;
  event.preventDefault();
  const submitter = event.submitter;
  const isMessage = "send" in form.dataset && !(submitter && "stop" in submitter.dataset);
  const area = isMessage ? find("textarea", form) : null;
  if (area && !area.value.trim()) {
    area.focus();
    return;
  }
  // One message at a time: its key is only good for one.
  if (area && "sending" in form.dataset) return;
  const text = area?.value;
  if (area) form.dataset.sending = "";
  const isSent = await send(form, submitter);
  if (area) delete form.dataset.sending;
  if (!isSent) return;
  // What the page's head shows is drawn by the server.
  if ("reload" in form.dataset) return location.reload();
  if (area) {
    // What was typed meanwhile is the beginning of the next message.
    if (area.value.startsWith(text)) area.value = area.value.slice(text.length);
    grow(area);
    find("[name=key]", form).value = newKey();
    toEnd();
    area.focus();
  }
  if ("edit" in form.dataset) form.closest("details").open = false;
  refreshSidebar();
});

// -- the growing page -----------------------------------------------------------------------------

const thread = find("#thread");
const scroll = find("#scroll");
const preview = find("#preview");
let lastId = thread?.dataset.after ?? "0";

const isNearEnd = () => scroll.scrollHeight - scroll.scrollTop - scroll.clientHeight < NEAR_END_PX;
function toEnd() {
  if (!scroll) return;
  scroll.scrollTop = scroll.scrollHeight;
  find("#to-end").hidden = true;
}

function fill(element, html) {
  const template = elementsOf(html);
  // What is unchanged stays, with whatever somebody is filling in.
  if (template.innerHTML !== element.innerHTML) element.replaceChildren(template.content);
}

const CHANGES = {
  put({ id, html }) {
    const shown = document.getElementById(id);
    if (shown?.contains(document.activeElement) && find("details.edit[open]", shown)) return;
    const template = elementsOf(html);
    if (shown) {
      const isOpen = findAll("details", shown).map((details) => details.open);
      findAll("details", template.content).forEach((details, at) => { details.open = isOpen[at] ?? false; });
      shown.replaceWith(template.content);
    } else {
      find("#transcript").append(template.content);
    }
  },
  region({ id, html }) {
    fill(document.getElementById(id), html);
  },
  preview({ from, blocks }) {
    const prose = find(".prose", preview);
    while (prose.children.length > from) prose.lastElementChild.remove();
    for (const html of blocks) {
      const block = document.createElement("div");
      block.className = "block";
      block.append(elementsOf(html).content);
      prose.append(block);
    }
    preview.hidden = prose.children.length === 0;
  },
  clear() {
    find(".prose", preview).replaceChildren();
    preview.hidden = true;
  },
  reset({ after }) {
    for (const entry of findAll("#transcript .entry")) {
      if (Number(entry.dataset.id) > after) entry.remove();
    }
  },
  state({ status, archived }) {
    const before = thread.dataset.status;
    thread.dataset.status = status;
    thread.dataset.archived = archived ? "yes" : "no";
    if (before !== status) refreshSidebar();
  },
};

function apply(changes) {
  const wasNearEnd = isNearEnd();
  for (const change of changes) CHANGES[change.do](change);
  if (wasNearEnd) toEnd();
  else find("#to-end").hidden = false;
}

let source = null;
function connect() {
  if (!thread || source || document.hidden) return;
  source = new EventSource(`${thread.dataset.live}?after=${lastId}`);
  source.onmessage = (event) => {
    lastId = event.lastEventId || lastId;
    apply(JSON.parse(event.data));
  };
  source.onopen = () => document.body.classList.remove("offline");
  source.onerror = () => {
    document.body.classList.add("offline");
    if (source?.readyState !== EventSource.CLOSED) return;
    disconnect();
    setTimeout(connect, RECONNECT_MS);
  };
}
function disconnect() {
  source?.close();
  source = null;
}

// -- the list of chats ----------------------------------------------------------------------------

let refreshing = 0;
function refreshSidebar() {
  clearTimeout(refreshing);
  refreshing = setTimeout(async () => {
    const list = find("#chats");
    if (!list?.dataset.refresh) return;
    try {
      const response = await fetch(list.dataset.refresh);
      if (response.ok) fill(list, await response.text());
    } catch {
      // The stream says that the server is away.
    }
  }, 150);
}

// -- start ----------------------------------------------------------------------------------------

localize(document);
decorate(document);
if (thread) {
  toEnd();
  find("#to-end").addEventListener("click", toEnd);
  scroll.addEventListener("scroll", () => {
    if (isNearEnd()) find("#to-end").hidden = true;
  }, { passive: true });
  if (matchMedia("(hover: hover)").matches) find("#text")?.focus();
  connect();
}
// Browsers keep few connections to a host; a page that nobody looks at needs none.
document.addEventListener("visibilitychange", () => {
  if (document.hidden) {
    disconnect();
  } else {
    connect();
    refreshSidebar();
  }
});
addEventListener("pagehide", disconnect);
addEventListener("pageshow", connect);
setInterval(() => { if (!document.hidden) refreshSidebar(); }, SIDEBAR_MS);
