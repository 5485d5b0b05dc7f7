"use strict";
// Keeps a page up to date: fetches it again and replaces its content when that has changed.
// Keeps what is open, selected or typed, and scroll positions. Replaces nothing while a button or field has the focus.
(() => {
  const main = document.getElementById("main");

  // Times are told as seen from now: they go on also where nothing else of the page changes.
  function tell(time) {
    const minutes = Math.round((Date.parse(time.dateTime) - Date.now()) / 60000), past = Math.abs(minutes);
    if (past >= 43200) return;
    const words = past >= 1440 ? `${Math.floor(past / 1440)} d` : past >= 60 ? `${Math.floor(past / 60)} h` : `${past} min`;
    time.textContent = !past ? "just now" : minutes > 0 ? `in ${words}` : `${words} ago`;
  }
  setInterval(() => document.querySelectorAll("time[data-relative]").forEach(tell), 60000);

  const seconds = Number(main.dataset.live || 0);
  if (!seconds) return;
  let shown = main.innerHTML; // Before other scripts change it.

  // Names parts that open by their ids, or by what they say and which of these they are: others come and go.
  function parts(root) {
    const seen = {};
    return [...root.querySelectorAll("details")].map((one) => {
      const name = one.id || one.querySelector("summary").textContent;
      seen[name] = (seen[name] || 0) + 1;
      return [`${name} ${seen[name]}`, one];
    });
  }

  // Says that the page is out of date: outside of what is replaced, so that screen readers read it.
  const told = document.createElement("p");
  told.className = "stale"; told.hidden = true; told.setAttribute("role", "status");
  told.textContent = "Live updates fail. The page shows what was so before, and tries again.";
  const spoken = document.createElement("p");
  spoken.className = "hidden"; spoken.setAttribute("role", "status");
  main.before(told, spoken);

  // Asks once, by a button, whether the browser may notify of a new state while the page is in the background.
  function offerNotifications() {
    if (!("Notification" in window) || Notification.permission !== "default") return;
    const button = document.createElement("button");
    button.type = "button"; button.className = "plain notify"; button.textContent = "Notify me";
    button.addEventListener("click", async () => { await Notification.requestPermission(); button.remove(); });
    document.querySelector(".top .who")?.before(button);
  }

  // The title is the state in words: it follows, and what changes in the background is notified.
  function entitle(title) {
    if (title === document.title) return;
    document.title = title; spoken.textContent = title;
    if (document.hidden && "Notification" in window && Notification.permission === "granted") {
      new Notification(title, { tag: location.pathname }).onclick = () => window.focus();
    }
  }

  // Names what people select and type. The value of a checkbox names what it selects, which may be another thing meanwhile.
  const fields = () => [...main.querySelectorAll("input:not([type=hidden])")].map((one) => [
    `${one.form ? one.form.action : ""} ${one.name} ${one.type === "checkbox" ? one.value : ""}`, one]);

  async function refresh() {
    const answer = await fetch(location.pathname + location.search, { redirect: "error" });
    if (!answer.ok) throw new Error(String(answer.status));
    const fetched = new DOMParser().parseFromString(await answer.text(), "text/html");
    const fresh = fetched.getElementById("main");
    told.hidden = true;
    entitle(fetched.title);
    const text = fresh.innerHTML;
    const busy = main.contains(document.activeElement) && document.activeElement.matches("button, input, select");
    if (text === shown || busy) return Boolean(fresh.dataset.live);
    const boxes = () => [...main.querySelectorAll(".scroll, .picture, .output")];
    const places = boxes().map((one) => [one.scrollLeft, one.scrollTop]);
    const open = new Map(parts(main).map(([name, one]) => [name, one.open]));
    const given = new Map(fields().map(([name, one]) => [name, [one.checked, one.value]]));
    main.replaceChildren(...fresh.childNodes);
    fields().forEach(([name, one]) => { if (given.has(name)) [one.checked, one.value] = given.get(name); });
    parts(main).forEach(([name, one]) => { if (open.has(name)) one.open = open.get(name); });
    boxes().forEach((one, number) => { if (number in places) [one.scrollLeft, one.scrollTop] = places[number]; });
    shown = text;
    document.dispatchEvent(new Event("tidegate:shown"));
    return Boolean(fresh.dataset.live);
  }

  async function follow() {
    let wait = seconds, more = true;
    const notifies = "Notification" in window && Notification.permission === "granted";
    if (document.hidden && notifies) wait = 4 * seconds;
    if (!document.hidden || notifies) {
      try { more = await refresh(); } catch { wait = 4 * seconds; told.hidden = false; }
    }
    if (more) setTimeout(follow, wait * 1000);
  }
  offerNotifications();
  setTimeout(follow, seconds * 1000);
})();
