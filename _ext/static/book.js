// What the pages need beside the theme. The interactive figures bring their own script.

// Definitions of terms are shown by the style sheet; Escape hides them until the pointer moves.
document.addEventListener("keydown", (event) => {
  if (event.key === "Escape") document.documentElement.classList.add("no-definitions");
});
for (const event of ["pointermove", "focusin"]) {
  document.addEventListener(event, () => {
    document.documentElement.classList.remove("no-definitions");
  });
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
