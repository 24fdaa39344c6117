// What the pages need beside the theme. The interactive figures bring their own script.

// Definitions of terms are shown by the style sheet; Escape hides them until the pointer moves.
document.addEventListener("keydown", (event) => {
  if (event.key === "Escape") document.documentElement.classList.add("no-definitions");
});
for (const event of ["pointerover", "focusin"]) {
  document.addEventListener(event, ({ target }) => {
    document.documentElement.classList.remove("no-definitions");
    const term = target.closest?.(".has-definition");
    if (term) place(term.querySelector("[role=tooltip]"));
  });
}

// Moves a definition to where it can be read: not over the right edge, and above its term if
// there is no room below.
function place(definition) {
  definition.style.translate = "none";
  const { right, bottom } = definition.getBoundingClientRect();
  const { top } = definition.parentElement.getClientRects()[0];
  const x = Math.min(0, document.documentElement.clientWidth - 8 - right);
  const y = bottom > window.innerHeight ? top - bottom : 0;
  definition.style.translate = `${x}px ${y}px`;
}

// Paper is white.
let theme;
window.addEventListener("beforeprint", () => {
  theme = document.documentElement.dataset.theme;
  document.documentElement.dataset.theme = "light";
});
window.addEventListener("afterprint", () => {
  document.documentElement.dataset.theme = theme;
});

// A page opened as a file may not read other files: there, search shows titles without excerpts.
if (location.protocol === "file:" && typeof DOCUMENTATION_OPTIONS !== "undefined") {
  DOCUMENTATION_OPTIONS.SHOW_SEARCH_SUMMARY = false;
}
