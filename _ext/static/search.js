// Finds the places of the book that have all words of a query: in the field that Ctrl+K opens while
// they are typed, and on the search page, instead of Sphinx's search. The texts of `texts.js` come
// with the first letter. Chapters stand before the reference page, unless a name of it is typed; and
// what a word names, a page, an entry of the glossary, a section, before what only has it. First of
// all stands the entry that is called just so.
(() => {
  const root = document.documentElement.dataset.content_root;
  const make = (tag, what) => Object.assign(document.createElement(tag), what);
  const bring = () => (bring.texts ??= new Promise((there) => {
    document.head.append(make("script", { src: `${root}_static/texts.js`, onload: there }));
  }));

  // Other names of a page, and of the section that says what the name means.
  const NAMES = {
    "chapters/05_rope": "RoPE, rotation",
    "chapters/08_stretching#a-knob-that-spares-the-first-pairs": "NTK-aware scaling",
    "chapters/08_stretching#a-sharper-eye": "YaRN",
  };

  const BESIDE = /Traps$|Exercises$|Proofs and details$|Where this comes from$/; // its story
  const elsewhere = ({ ctrlKey, metaKey, shiftKey }) => ctrlKey || metaKey || shiftKey; // a tab or window of its own
  const wordsOf = (query) => query.toLowerCase().match(/[\p{L}\p{N}_.]+/gu) ?? [];
  // "rotating" finds "rotates": words begin with what is left without an ending.
  const patterns = (words) => words.map((word) => {
    const stem = word.length > 4 ? word.replace(/(?:ies|ing|ed|es|[sey])$/, "") : word;
    return new RegExp(`(?<![\\p{L}\\p{N}])${stem.replaceAll(".", "\\.")}[\\p{L}\\p{N}]*`, "giu");
  });

  // All words, or, with `few`, at least so many of them, and as many as any place has.
  function find(query, few) {
    const words = wordsOf(query), all = patterns(words), name = words.join(" "), found = [];
    for (const [page, places] of words.length ? Object.entries(BOOK_TEXTS) : []) {
      const reference = page.endsWith("/api"), chapter = /\/\d\d_[^/]+$/.test(page);
      const about = all.every((p) => `${places[""]?.[0]} ${NAMES[page] ?? ""}`.search(p) >= 0);
      for (const [anchor, [title, text]] of Object.entries(places)) {
        const called = `${title} ${NAMES[page + (anchor && `#${anchor}`)] ?? ""}`;
        const [named, there] = [called, text].map((where) => all.map((p) => where.match(p)?.length ?? 0));
        const has = all.filter((_, i) => named[i] || there[i]).length;
        if (has < (few ?? all.length)) continue;
        const term = anchor.startsWith("term-");
        const worth = term ? (words.length === wordsOf(title).length ? 35 : 15) : !chapter ? 12 : anchor ? 40 : 60;
        let score = chapter ? 10 * (1 + about - BESIDE.test(title)) : 0;
        for (const i of all.keys()) score += Math.min(there[i], 5) + (named[i] && worth);
        if (words.length > 1 && text.toLowerCase().includes(name)) score += 10;
        if (term && wordsOf(title).join(" ") === name) score += 1000; // that is what was asked for
        if (reference) score += title.toLowerCase() === name || title.toLowerCase().endsWith(`.${name}`) ? 100 : -100;
        found.push({ page, anchor, title, has, score, text: sentence(text || places[""]?.[1] || "", all) });
      }
    }
    // What sums up a chapter is covered until its questions are answered: only where nothing else has it.
    const told = ({ page, title }) => title.endsWith("What to remember") && found.filter((p) => p.page === page).length > 1;
    const most = Math.max(...found.map(({ has }) => has));
    return found.filter((place) => place.has === most && !told(place)).sort((a, b) => b.score - a.score);
  }

  // How many letters are to be added, left out, changed or swapped to make one word of another.
  function apart(one, other) {
    const rows = [[...Array(other.length + 1).keys()]];
    for (let i = 1; i <= one.length; i++) for (let j = 0; j <= other.length; j++) {
      const swapped = one[i - 1] === other[j - 2] && one[i - 2] === other[j - 1];
      (rows[i] ??= [])[j] = !j ? i : Math.min(rows[i - 1][j] + 1, rows[i][j - 1] + 1,
        rows[i - 1][j - 1] + (one[i - 1] !== other[j - 1]), swapped ? rows[i - 2][j - 2] + 1 : Infinity);
    }
    return rows.at(-1).at(-1);
  }

  // The query, each word that the book lacks exchanged for the nearest that it has, the commonest first.
  function meant(query) {
    const counts = new Map(), all = Object.values(BOOK_TEXTS).map(Object.values).join(" ");
    for (const word of wordsOf(all)) counts.set(word, (counts.get(word) ?? 0) + 1);
    const words = wordsOf(query).map((word) => {
      const [known] = patterns([word]);
      if ([...counts.keys()].some((other) => other.search(known) === 0)) return word;
      const near = [...counts].map(([other, count]) => [apart(word, other) - count / 1e6, other]);
      const long = word.length > 4; // a short one is not cut to another
      const most = long ? 2 : word.length / 3;
      const fits = near.filter(([far, other]) => far <= most && (long || other.length >= word.length));
      return fits.length ? fits.reduce((a, b) => (b[0] < a[0] ? b : a))[1] : word;
    }).join(" ");
    return words;
  }

  // What a query finds; if that is nothing, what the words find that it may have meant, or most of them.
  function ask(query) {
    const found = find(query);
    if (found.length) return { found, words: query, exact: true };
    const words = meant(query), better = find(words);
    return better.length ? { found: better, words } : { found: find(words, 1), words, few: true };
  }

  // Says that there is nothing, and what may have been meant, with what a press of that does.
  function nothing(query, { found, words, few }, place, react) {
    if (few && found.length) place.append(`No place has all of “${words}”. These have most of it.`);
    else place.append(`Nothing found for “${query}”`);
    if (few && !found.length) {
      const to = (page, textContent) => make("a", { href: `${root}chapters/${page}`, textContent });
      place.append(". See the ", to("index.html#the-chapters", "chapters"), " or the ", to("glossary.html", "glossary"), ".");
    }
    if (few) return;
    const link = make("a", { href: `${root}search.html?q=${encodeURIComponent(words)}`, textContent: words });
    if (react) link.addEventListener("click", (event) => elsewhere(event) || react(event, words));
    place.append(". Did you mean ", link, "?");
  }

  // The first sentence that has most of the words, from near the first of them. A row of a table says
  // less than a sentence, and "YaRN." nothing.
  function sentence(text, all) {
    const says = (part) => all.filter((p) => part.search(p) >= 0).length
      - (part.includes(" · ") && 0.5) - (wordsOf(part).length < 4 && 1.5);
    const parts = text.split(/\n|(?<=[.?!])\s+(?=\p{Lu}|\d)/u);
    const best = parts.reduce((one, other) => (says(other) > says(one) ? other : one));
    const at = Math.min(...all.map((p) => best.search(p)).filter((i) => i >= 0)) - 50;
    const from = at > 20 && at < Infinity ? best.indexOf(" ", at) + 1 : 0;
    const to = best.length > from + 220 ? best.lastIndexOf(" ", from + 220) : undefined;
    return (from ? "… " : "") + best.slice(from, to) + (to ? " …" : "");
  }

  // A place as an entry of a list, with the words marked. Its page will mark them, as Sphinx has it.
  function entry({ page, anchor, title, text }, query) {
    const item = make("li"), href = `${root}${page}.html${anchor && `#${anchor}`}`;
    const link = item.appendChild(make("a", { href, textContent: title }));
    const own = BOOK_TEXTS[page][""]?.[0] ?? "";
    if (anchor && own) link.append(make("small", { textContent: ` ${own}` }));
    const marks = new RegExp(`(${patterns(wordsOf(query)).map((p) => p.source).join("|")})`, "giu");
    const quoted = text.split(marks).map((part, i) => (i % 2 ? make("mark", { textContent: part }) : part));
    item.appendChild(make("p", { className: "context" })).append(...quoted);
    link.addEventListener("click", (event) => {
      const away = elsewhere(event);
      const here = !away && link.pathname === location.pathname && document.getElementById(anchor);
      if (!away) close(here && (here.querySelector("h1, h2, h3, h4") ?? here));
      try {
        if (!here) localStorage.setItem("sphinx_highlight_terms", wordsOf(query).join(" "));
      } catch { /* nothing may be stored */ }
    });
    return item;
  }

  if (typeof Search !== "undefined") Search.performSearch = async (query) => {
    await bring();
    const answer = ask(query), list = make("ul", { className: "search" });
    list.append(...answer.found.map((place) => entry(place, answer.words)));
    const said = make("p", { className: "search-summary" });
    if (answer.exact) said.textContent = `Places found: ${answer.found.length}.`;
    else nothing(query, answer, said);
    document.getElementById("search-results").append(said, list);
  };

  const box = document.querySelector(".search-button__search-container"), field = box.querySelector("input");
  box.role = "search";
  const list = box.appendChild(make("ul", { className: "hits", hidden: true }));
  field.addEventListener("input", async () => {
    await bring();
    const query = field.value.trim(), asked = query.length > 1;
    const answer = asked ? ask(query) : { found: [], exact: true }, { found, exact } = answer;
    list.replaceChildren(...found.slice(0, 8).map((place) => entry(place, answer.words)));
    list.hidden = !asked;
    if (exact && found.length <= 8) return;
    const said = make("span", { role: "status" }), href = `${root}search.html?q=${encodeURIComponent(query)}`;
    const item = make("li", { className: "said" });
    item.append(said);
    list[exact ? "append" : "prepend"](item);
    if (!exact) nothing(query, answer, said, (event, words) => {
      event.preventDefault();
      field.value = words;
      field.focus();
      field.dispatchEvent(new Event("input"));
    });
    else said.append(make("a", { href, textContent: `All ${found.length} places` }));
  });
  // The theme opens it, by a class, and closes it by the keys that open it, and around it. Closed, it
  // gives the focus back, or to the place of the page that was chosen, once the browser has gone there.
  const { classList } = box.parentElement, go = (to) => to?.focus({ preventScroll: true });
  let open = false, back;
  const close = (goal) => {
    if (goal) (back = goal).tabIndex = -1;
    classList.remove("show");
  };
  box.addEventListener("focusin", ({ relatedTarget }) => open || (back = relatedTarget));
  document.addEventListener("keydown", ({ key }) => key === "Escape" && close());
  new MutationObserver(() => {
    if (open && !classList.contains("show")) requestAnimationFrame(() => setTimeout(go, 0, back));
    open = classList.contains("show");
  }).observe(box.parentElement, { attributeFilter: ["class"] });
  // The arrows go through the places, and Tab round; what is typed there goes on in the field.
  box.addEventListener("keydown", (event) => {
    const { key, target, shiftKey } = event, stops = [field, ...(list.hidden ? [] : list.querySelectorAll("a"))];
    const at = stops.indexOf(target), round = (at + (shiftKey ? -1 : 1)) % stops.length;
    const next = key === "Tab" ? stops.at(round) : stops[at + ({ ArrowDown: 1, ArrowUp: -1 }[key] ?? NaN)];
    if (next) event.preventDefault();
    if (next) next.focus();
    else if (/^(.|Backspace)$/u.test(key) && !event.ctrlKey && !event.metaKey && !event.altKey) field.focus();
  });
})();
