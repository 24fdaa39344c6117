// Leads each result to the first section that has most of the words, and shows the sentence that
// has them, from the texts of `texts.js`.
DOCUMENTATION_OPTIONS.SHOW_SEARCH_SUMMARY = false; // Sphinx would fetch the pages
Object.assign(Documentation.TRANSLATIONS, {
  "Search finished, found ${resultCount} page(s) matching the search query.": "Places found: ${resultCount}.",
  "Your search did not match any documents. Please make sure that all words are spelled correctly and that you've selected enough categories.":
    "No page has all of these words.",
});

document.addEventListener("DOMContentLoaded", () => {
  const results = document.getElementById("search-results");
  const words = (new URLSearchParams(location.search).get("q") ?? "").toLowerCase().split(/\s+/);

  function lead(link) {
    const { pathname, hash } = new URL(link.href);
    const page = Object.keys(BOOK_TEXTS).find((name) => pathname.endsWith(`/${name}.html`));
    const [top, ...below] = Object.entries(BOOK_TEXTS[page] ?? {}).filter(([anchor]) => anchor);
    const title = link.textContent.toLowerCase();
    if (hash || !top || words.every((word) => title.includes(word))) return; // the page is about it
    const has = ([, text]) => words.filter((word) => word && text.toLowerCase().includes(word)).length;
    const best = below.reduce((found, section) => (has(section) > has(found) ? section : found), top);
    if (best !== top) link.hash = best[0];
  }

  function excerpt(link) {
    const { pathname, hash } = new URL(link.href);
    const page = Object.keys(BOOK_TEXTS).find((name) => pathname.endsWith(`/${name}.html`));
    const texts = BOOK_TEXTS[page] ?? {};
    const has = (text) => words.some((word) => word && text?.toLowerCase().includes(word));
    const own = hash && texts[decodeURIComponent(hash.slice(1))]; // its name may have been found
    const text = own || texts[""];
    if (!text || (!own && !has(text))) return null;
    const places = words.filter(Boolean).map((word) => text.toLowerCase().indexOf(word))
      .filter((place) => place >= 0);
    const at = places.length ? Math.min(...places) : 0;
    const from = at < 100 ? 0 : text.indexOf(" ", at - 100) + 1;
    const until = text.length < from + 260 ? text.length : text.lastIndexOf(" ", from + 260);
    return (from ? "… " : "") + text.slice(from, until) + (until < text.length ? " …" : "");
  }

  const shown = new Set();
  new MutationObserver(() => {
    for (const item of results.querySelectorAll("li:not([data-shown])")) {
      const link = item.querySelector("a");
      if (!link) continue;
      item.dataset.shown = "";
      lead(link);
      const text = excerpt(link);
      if (!text || shown.has(text)) continue; // a page, after its entry
      shown.add(text);
      item.append(Object.assign(document.createElement("p"), { className: "context", textContent: text }));
    }
  }).observe(results, { childList: true, subtree: true });
});
