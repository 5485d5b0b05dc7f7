// Keeps a page up to date while something may change, and adds copy buttons. Pages work without it.
"use strict";

const period = 2000;

function addCopyButtons(root) {
  for (const box of root.querySelectorAll(".copy")) {
    const button = document.createElement("button");
    button.className = "button small";
    button.textContent = "Copy";
    button.addEventListener("click", async () => {
      await navigator.clipboard.writeText(box.querySelector("code").textContent);
      button.textContent = "Copied";
    });
    box.append(button);
  }
}

function stateOfDetails(root) {
  return [...root.querySelectorAll("details")].map((one) => one.open);
}

function isBusy(main) {
  const field = document.activeElement;
  const typing = field instanceof HTMLElement && main.contains(field) && field.matches("input, textarea, summary, button");
  const written = [...main.querySelectorAll("textarea")].some((one) => one.value !== one.defaultValue);
  return typing || written || !getSelection().isCollapsed;
}

let shown = document.querySelector("main").innerHTML;

async function refresh() {
  const main = document.querySelector("main");
  if (document.hidden || isBusy(main)) return;
  const answer = await fetch(location.href, { headers: { Accept: "text/html" } });
  if (!answer.ok) return;
  const page = new DOMParser().parseFromString(await answer.text(), "text/html");
  const fresh = page.querySelector("main");
  if (!fresh || fresh.innerHTML === shown) return;
  const open = stateOfDetails(main);
  shown = fresh.innerHTML;
  main.replaceChildren(...fresh.childNodes);
  const details = main.querySelectorAll("details");
  if (details.length === open.length) details.forEach((one, place) => { one.open = open[place]; });
  addCopyButtons(main);
  document.title = page.title;
}

addCopyButtons(document);
if ("live" in document.body.dataset) {
  setInterval(() => refresh().catch(() => {}), period);
}
