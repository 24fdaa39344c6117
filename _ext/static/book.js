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

// A page opened as a file may not read other files, so there search shows titles only.
if (location.protocol === "file:" && window.DOCUMENTATION_OPTIONS === undefined) {
  try {
    DOCUMENTATION_OPTIONS.SHOW_SEARCH_SUMMARY = false;
  } catch {
    // pages without search
  }
}
