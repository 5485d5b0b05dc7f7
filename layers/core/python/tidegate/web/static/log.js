"use strict";
// Follows a job's log. Lines arrive as pieces of text with the names of their styles and are only ever set as text.
(() => {
  const byId = (id) => document.getElementById(id);
  const log = byId("log"), status = byId("status"), more = byId("more");
  const wrap = byId("wrap"), follow = byId("follow"), search = byId("search"), matches = byId("matches");
  const QUICK = 400, SLOW = 1500, HIDDEN = 5000; // Milliseconds between requests.
  const BLOCK = 500; // Lines that a browser lays out together.
  const AT_ONCE = 10000; // Lines that are loaded without a click on Load more.
  const WORDS = {
    waiting: "Waiting for a runner", running: "Running", ended: "Ended",
    lost: "The runner ended without storing the whole log",
  };
  let next = Number(log.dataset.next), ended = "ended" in log.dataset, state = log.dataset.state;
  let room = AT_ONCE, timer = 0, asking = false, found = [], at = -1;

  function draw(number, pieces) {
    const line = document.createElement("div"), name = document.createElement("a"), text = document.createElement("span");
    line.className = "l"; line.id = `L${number}`;
    name.className = "n"; name.href = `#L${number}`; name.textContent = String(number);
    name.setAttribute("aria-label", `Line ${number}`);
    text.className = "t";
    for (const [words, style] of pieces) {
      if (!style) { text.append(words); continue; }
      const piece = document.createElement("span");
      piece.className = style; piece.textContent = words;
      text.append(piece);
    }
    line.append(name, text);
    return line;
  }

  function add(lines) {
    let number = next, block = log.lastElementChild;
    for (const pieces of lines) {
      if (!block || block.childElementCount >= BLOCK) {
        block = document.createElement("div");
        block.className = "block";
        log.append(block);
      }
      block.append(draw(++number, pieces));
    }
  }

  async function ask() {
    const answer = await fetch(`${log.dataset.lines}?after=${next}`, { redirect: "error" });
    if (answer.status === 401) { location.reload(); return false; }
    if (!answer.ok) throw new Error(String(answer.status));
    const page = await answer.json();
    add(page.lines);
    next = page.next; ended = page.ended; state = page.state; room -= page.lines.length;
    return page.lines.length > 0;
  }

  async function turn() {
    if (asking || ended) return;
    asking = true; clearTimeout(timer);
    let wait = state === "waiting" ? SLOW : QUICK;
    try {
      const came = await ask();
      status.textContent = WORDS[state]; status.className = `status ${state}`;
      if (came) { byId("waiting").hidden = true; wait = state === "ended" ? 0 : wait; if (search.value) look(); }
      if (ended) { byId("waiting").hidden = true; byId("following-label").hidden = true; }
      if (came && follow.checked) bottom();
      if (came) arrive();
    } catch { wait = HIDDEN; status.textContent = "Connection lost; retrying"; }
    asking = false;
    const full = room <= 0 && !follow.checked;
    more.hidden = !full || ended;
    if (!ended && !full) timer = setTimeout(turn, document.hidden ? HIDDEN : wait);
  }

  function bottom() { window.scrollTo(0, document.documentElement.scrollHeight); }

  // A link to a line (#L120) marks it, and loads the log as far as it.
  let arrived = false;
  function arrive() {
    const target = /^#L([1-9][0-9]{0,8})$/.exec(location.hash);
    if (!target || arrived) return;
    const line = byId(`L${target[1]}`);
    if (line) {
      arrived = true;
      document.querySelectorAll(".here").forEach((one) => one.classList.remove("here"));
      line.classList.add("here"); line.scrollIntoView({ block: "center" });
    } else if (!ended) room = Math.max(room, 1);
  }

  function look() {
    const words = search.value.toLowerCase();
    found.forEach((line) => line.classList.remove("match"));
    found = words ? [...log.querySelectorAll(".l")].filter((line) => line.lastChild.textContent.toLowerCase().includes(words)) : [];
    found.forEach((line) => line.classList.add("match"));
    matches.textContent = words ? `${found.length} ${found.length === 1 ? "line" : "lines"}${ended ? "" : " so far"}` : "";
  }

  function step(by) {
    if (!found.length) return;
    at = (at + by + found.length) % found.length;
    follow.checked = false;
    document.querySelectorAll(".here").forEach((one) => one.classList.remove("here"));
    found[at].classList.add("here"); found[at].scrollIntoView({ block: "center" });
    matches.textContent = `${at + 1} of ${found.length}`;
  }

  document.querySelector(".scripted").hidden = false;
  follow.checked = (state === "waiting" || state === "running") && !location.hash;
  wrap.addEventListener("change", () => log.classList.toggle("wrapped", wrap.checked));
  follow.addEventListener("change", () => { if (follow.checked) { bottom(); turn(); } });
  search.addEventListener("input", () => { at = -1; room = Infinity; look(); turn(); });
  search.addEventListener("keydown", (event) => {
    if (event.key !== "Enter") return;
    event.preventDefault();
    step(event.shiftKey ? -1 : 1);
  });
  byId("previous").addEventListener("click", () => step(-1));
  byId("following").addEventListener("click", () => step(1));
  more.addEventListener("click", () => { room = AT_ONCE; turn(); });
  window.addEventListener("hashchange", () => { arrived = false; arrive(); turn(); });
  window.addEventListener("wheel", (event) => { if (event.deltaY < 0) follow.checked = false; }, { passive: true });
  document.addEventListener("visibilitychange", () => { if (!document.hidden) turn(); });
  arrive();
  if (!ended) turn();
})();
