"use strict";
// Selects all plans of a stack or of a change, and tells how many are selected. Without it, each has a checkbox.
(() => {
  const boxes = (root) => [...root.querySelectorAll("input[name=plan]")];

  function show() {
    document.querySelectorAll("[data-all]").forEach((all) => {
      const its = boxes(all.closest("section") || document), chosen = its.filter((one) => one.checked).length;
      all.checked = its.length > 0 && chosen === its.length;
      all.indeterminate = chosen > 0 && chosen < its.length;
    });
    const count = document.getElementById("chosen");
    if (count) count.textContent = `${boxes(document).filter((one) => one.checked).length} selected`;
  }

  document.addEventListener("change", (event) => {
    if (event.target.matches("[data-all]")) {
      boxes(event.target.closest("section") || document).forEach((one) => { one.checked = event.target.checked; });
    }
    show();
  });
  document.addEventListener("tidegate:shown", show);
  document.documentElement.classList.add("scripted-page");
  show();
})();
