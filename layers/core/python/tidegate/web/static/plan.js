"use strict";
// Plans as rows: filters them at once, expands all, and fetches attributes when a row is opened.
// Everything works without it: chips, the filter and rows are links and a form.
(() => {
  const rowsOf = (plan) => [...plan.querySelectorAll("details.resource")];
  const planOf = (element) => element.closest(".plan-rows");

  function show(plan) {
    const chosen = plan.querySelector(".chip[aria-current]"), kind = chosen ? chosen.dataset.kind : "";
    const field = plan.querySelector("input[type=search]"), words = field ? field.value.trim().toLowerCase() : "";
    let count = 0;
    for (const section of plan.querySelectorAll("section.module")) {
      let any = false;
      for (const row of section.querySelectorAll("details.resource")) {
        const address = row.querySelector("code").textContent.toLowerCase();
        const fits = (!kind || (row.classList.contains(kind) && section.dataset.section === "resources")) && address.includes(words);
        row.hidden = !fits;
        if (fits) { any = true; count += 1; }
      }
      section.hidden = !any;
    }
    const all = rowsOf(plan).length;
    plan.querySelector(".found").textContent = count === all ? "" : `${count.toLocaleString("en")} of ${all.toLocaleString("en")} rows`;
  }

  // Replaces the link in a folded part by what it leads to. Each is fetched once.
  async function load(part) {
    const url = part.dataset.plan;
    delete part.dataset.plan;
    try {
      const answer = await fetch(url, { redirect: "error" });
      if (!answer.ok) throw new Error(String(answer.status));
      const page = new DOMParser().parseFromString(await answer.text(), "text/html");
      const isRow = part.classList.contains("resource");
      const fresh = page.querySelector(isRow ? "details.resource .attributes" : ".plan-rows");
      fresh.querySelectorAll("[id]").forEach((one) => one.removeAttribute("id"));
      (isRow ? part.querySelector(".attributes") : part.querySelector("p")).replaceWith(document.adoptNode(fresh));
    } catch { part.dataset.plan = url; } // The link stays.
  }

  function arrive() {
    const row = location.hash.length > 1 && document.getElementById(location.hash.slice(1));
    if (row && row.matches("details.resource")) { row.open = true; row.scrollIntoView(); }
  }

  document.addEventListener("click", (event) => {
    const link = event.target.closest(".plan-rows[data-complete] .chip, .plan-rows[data-complete] .expand");
    if (!link || event.ctrlKey || event.metaKey || event.shiftKey) return;
    const plan = planOf(link);
    if (link.matches(".expand")) {
      if (plan.querySelector("details.resource[data-plan]")) return; // A page of its own shows their attributes.
      event.preventDefault();
      const open = link.textContent.startsWith("Expand");
      rowsOf(plan).forEach((row) => { if (!row.hidden) row.open = open; });
      link.textContent = open ? "Collapse all" : "Expand all";
      return;
    }
    event.preventDefault();
    plan.querySelectorAll(".chip").forEach((one) => one.removeAttribute("aria-current"));
    link.setAttribute("aria-current", "true");
    show(plan);
  });
  document.addEventListener("input", (event) => {
    if (event.target.matches(".plan-rows[data-complete] input[type=search]")) show(planOf(event.target));
  });
  document.addEventListener("submit", (event) => {
    if (event.target.matches(".plan-rows[data-complete] form")) event.preventDefault();
  });
  document.addEventListener("toggle", (event) => {
    if (event.target.open && event.target.dataset.plan) load(event.target);
  }, true);
  window.addEventListener("hashchange", arrive);
  arrive();
})();
