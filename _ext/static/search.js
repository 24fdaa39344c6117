// Finds the places of the book that have all words of a query: in the field that Ctrl+K opens while
// they are typed, and on the search page, instead of Sphinx's search. The texts of `texts.js` come
// with the first letter. Chapters stand before the reference page, unless a name of it is typed.
(() => {
  const root = document.documentElement.dataset.content_root;
  const bring = () => (bring.texts ??= new Promise((there) => {
    const script = document.createElement("script");
    document.head.append(Object.assign(script, { src: `${root}_static/texts.js`, onload: there }));
  }));

  const wordsOf = (query) => query.toLowerCase().match(/[\p{L}\p{N}_.]+/gu) ?? [];
  // "rotating" finds "rotates": words begin with what is left without an ending.
  const patterns = (words) => words.map((word) => {
    const stem = word.length > 4 ? word.replace(/(?:ies|ing|ed|es|[sey])$/, "") : word;
    return new RegExp(`(?<![\\p{L}\\p{N}])${stem.replaceAll(".", "\\.")}`, "giu");
  });

  function find(query) {
    const words = wordsOf(query), all = patterns(words), name = words.join(" "), found = [];
    for (const [page, places] of words.length ? Object.entries(BOOK_TEXTS) : []) {
      const reference = page.endsWith("/api"), chapter = /\/\d\d_[^/]+$/.test(page);
      for (const [anchor, [title, text]] of Object.entries(places)) {
        const [named, there] = [title, text].map((where) => all.map((p) => where.match(p)?.length ?? 0));
        if (all.some((_, i) => !named[i] && !there[i])) continue;
        let score = chapter ? 10 : 0;
        for (const i of all.keys()) score += Math.min(there[i], 5) + (named[i] && (anchor ? 10 : 25));
        if (words.length > 1 && text.toLowerCase().includes(name)) score += 10;
        if (reference) score += title.toLowerCase() === name || title.toLowerCase().endsWith(`.${name}`) ? 100 : -100;
        found.push({ page, anchor, title, score, text: sentence(text || places[""]?.[1] || "", all) });
      }
    }
    return found.sort((a, b) => b.score - a.score);
  }

  // The first sentence that has most of the words, cut if it is long.
  function sentence(text, all) {
    const has = (part) => all.filter((p) => part.search(p) >= 0).length;
    const parts = text.split(/(?<=[.?!])\s+(?=\p{Lu}|\d)/u);
    const best = parts.reduce((one, other) => (has(other) > has(one) ? other : one));
    if (best.length <= 220) return best;
    const at = Math.max(0, Math.min(...all.map((p) => best.search(p)).filter((i) => i >= 0)) - 80);
    const from = at && at < Infinity ? best.indexOf(" ", at) + 1 : 0;
    return (from ? "… " : "") + best.slice(from, best.lastIndexOf(" ", from + 220)) + " …";
  }

  // A place as an entry of a list. Its page will mark the words, as Sphinx has it.
  function entry({ page, anchor, title, text }, query) {
    const item = document.createElement("li"), link = item.appendChild(document.createElement("a"));
    link.href = `${root}${page}.html${anchor && `#${anchor}`}`;
    link.textContent = title;
    const own = BOOK_TEXTS[page][""]?.[0] ?? "";
    if (anchor && own) link.append(Object.assign(document.createElement("small"), { textContent: ` ${own}` }));
    item.append(Object.assign(document.createElement("p"), { className: "context", textContent: text }));
    link.addEventListener("click", () => {
      try {
        localStorage.setItem("sphinx_highlight_terms", wordsOf(query).join(" "));
      } catch { /* nothing may be stored */ }
    });
    return item;
  }

  if (typeof Search !== "undefined") Search.performSearch = async (query) => {
    await bring();
    const found = find(query), list = Object.assign(document.createElement("ul"), { className: "search" });
    list.append(...found.map((place) => entry(place, query)));
    const said = found.length ? `Places found: ${found.length}.` : "No place has all of these words.";
    document.getElementById("search-results").append(
      Object.assign(document.createElement("p"), { className: "search-summary", textContent: said }), list);
  };

  const box = document.querySelector(".search-button__search-container"), field = box.querySelector("input");
  box.role = "search";
  const list = box.appendChild(Object.assign(document.createElement("ul"), { className: "hits", hidden: true }));
  field.addEventListener("input", async () => {
    await bring();
    const query = field.value, found = query.trim().length > 1 ? find(query).slice(0, 8) : [];
    list.replaceChildren(...found.map((place) => entry(place, query)));
    list.hidden = !found.length;
  });
  box.addEventListener("keydown", (event) => {
    const stops = [field, ...list.querySelectorAll("a")], at = stops.indexOf(document.activeElement);
    const next = stops[at + ({ ArrowDown: 1, ArrowUp: -1 }[event.key] ?? NaN)];
    if (next) {
      event.preventDefault();
      next.focus();
    }
    if (event.key === "Escape" && at > 0) document.querySelector(".search-button__overlay").click();
  });
})();
