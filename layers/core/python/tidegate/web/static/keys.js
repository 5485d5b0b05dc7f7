"use strict";
// On a narrow screen the menu scrolls: to the page that is shown.
document.querySelector(".menu [aria-current]")?.scrollIntoView({ block: "nearest", inline: "center" });
// Puts the focus into the search box on "/" and on Control or Command and K.
document.addEventListener("keydown", (event) => {
  const find = document.getElementById("find");
  const typing = event.target.closest("input, textarea, select, [contenteditable]");
  const asks = (event.key === "/" && !typing && !event.ctrlKey && !event.metaKey && !event.altKey)
    || (event.key.toLowerCase() === "k" && (event.ctrlKey || event.metaKey) && !event.altKey);
  if (!find || !asks) return;
  event.preventDefault();
  find.focus();
  find.select();
});
