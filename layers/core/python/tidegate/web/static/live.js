"use strict";
// Keeps a page up to date: fetches it again and replaces its content when that has changed.
// Keeps open what is open, and scroll positions. Replaces nothing while a button or field has the focus.
(() => {
  const main = document.getElementById("main");
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

  async function refresh() {
    const answer = await fetch(location.pathname + location.search, { redirect: "error" });
    if (!answer.ok) throw new Error(String(answer.status));
    const fresh = new DOMParser().parseFromString(await answer.text(), "text/html").getElementById("main");
    const text = fresh.innerHTML;
    const busy = main.contains(document.activeElement) && document.activeElement.matches("button, input, select");
    if (text === shown || busy) return Boolean(fresh.dataset.live);
    const boxes = () => [...main.querySelectorAll(".scroll, .picture, .output")];
    const places = boxes().map((one) => [one.scrollLeft, one.scrollTop]);
    const open = new Map(parts(main).map(([name, one]) => [name, one.open]));
    main.replaceChildren(...fresh.childNodes);
    parts(main).forEach(([name, one]) => { if (open.has(name)) one.open = open.get(name); });
    boxes().forEach((one, number) => { if (number in places) [one.scrollLeft, one.scrollTop] = places[number]; });
    shown = text;
    return Boolean(fresh.dataset.live);
  }

  async function follow() {
    let wait = seconds, more = true;
    if (!document.hidden) {
      try { more = await refresh(); } catch { wait = 4 * seconds; }
    }
    if (more) setTimeout(follow, wait * 1000);
  }
  setTimeout(follow, seconds * 1000);
})();
