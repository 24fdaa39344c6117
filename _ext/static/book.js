// What the pages need beside the theme. The interactive figures bring their own script.

// The theme decides between light and dark when all else is there; then all would be set twice.
const { dataset } = document.documentElement;
if (!["light", "dark"].includes(dataset.mode))
  dataset.theme = matchMedia("(prefers-color-scheme: dark)").matches ? "dark" : "light";

// The theme's button goes round three modes, of which two look alike. Here it goes from light to
// dark and back, and says where to.
const system = matchMedia("(prefers-color-scheme: dark)");
document.addEventListener("click", ({ target }) => {
  if (!target.closest?.(".theme-switch-button")) return;
  const own = system.matches ? "dark" : "light";
  localStorage.setItem("mode", dataset.theme === own ? "auto" : dataset.theme); // the next is the other
}, true);
const nameSwitch = () => {
  const name = `Switch to the ${dataset.theme === "dark" ? "light" : "dark"} theme`;
  for (const button of document.querySelectorAll(".theme-switch-button"))
    for (const said of ["aria-label", button.title ? "title" : "data-bs-original-title"])
      button.setAttribute(said, name);
};
document.addEventListener("DOMContentLoaded", nameSwitch);
new MutationObserver(nameSwitch)
  .observe(document.documentElement, { attributes: true, attributeFilter: ["data-theme"] });

// Each of the theme's scripts waits for the whole page, and all would run in one long task; in a
// task each, the reader's hand comes between.
const listen = document.addEventListener;
document.addEventListener = (type, react, ...options) => listen.call(document, type,
  type === "DOMContentLoaded" ? (event) => setTimeout(() => react(event)) : react, ...options);

// A face that is asked for when its first letter is met comes late, and the page is laid out again.
for (const face of document.fonts) if (face.family.includes("Source")) face.load();

// What is far below is laid out when it comes near, with heights that are guessed until then. So
// whoever jumps, or comes to anywhere but a page's top, has all of it laid out before.
const whole = () => document.documentElement.classList.add("whole");
document.addEventListener("click", ({ target }) => {
  if (!target.closest?.("a[href*='#']")) return;
  whole();  // and once more when it has arrived, should a figure have grown on the way
  const arrive = () => document.querySelector(":target")?.scrollIntoView({ behavior: "instant" });
  document.addEventListener("scrollend", arrive, { once: true });
}, true);
if (location.hash || performance.getEntriesByType("navigation")[0]?.type !== "navigate") whole();

// The contents mark the section that crosses a line below the window's top. The theme's measure, a tenth
// of a section, is never in view of a long one, and no more of one that grows when a question is answered.
window.addEventListener("load", () =>
  Object.assign(document.body.dataset, { bsRootMargin: "-14% 0px -86%", bsThreshold: "0,1" }));

// Once a note has folded them, the contents stay folded, and name the section that is read, until the
// page's top or until the margin is free for two windows more: nothing opens and shuts beside a reader.
document.addEventListener("DOMContentLoaded", () => {
  const contents = document.querySelector("div.bd-sidebar-secondary");
  const title = contents?.querySelector(".onthispage");
  if (!title) return;
  const bar = document.querySelector(".page-name"); // of a phone
  // At the page's end the last section is read, wherever that line is.
  const links = [...contents.querySelectorAll("a.nav-link")];
  let crossed, ended = false;
  const name = (here) => (title.dataset.here = bar.dataset.here = here.textContent);
  const mark = (here) => {
    for (const link of links) link.classList.toggle("active", link === here);
    if (here) name(here);
  };
  document.addEventListener("activate.bs.scrollspy", ({ relatedTarget }) => {
    crossed = relatedTarget;
    if (ended) mark(links.at(-1));
    else name(crossed);
  });
  window.addEventListener("scroll", () => {
    const now = scrollY > 0 && scrollY + innerHeight > document.documentElement.scrollHeight - 2;
    if (now === ended) return;
    ended = now;
    mark(ended ? links.at(-1) : crossed);
  }, { passive: true });
  const atTop = () => scrollY < 50, near = new Set(); // near: what stands in the margin, or reaches there
  const keep = () => {
    if (contents.matches(".hide:not(.kept)") && !atTop()) contents.classList.add("kept");
  };
  const open = () => {
    if (atTop() || !near.size) contents.classList.remove("kept");
  };
  const watch = new IntersectionObserver((seen) => {
    for (const { target, isIntersecting } of seen) near[isIntersecting ? "add" : "delete"](target);
    open();
  }, { rootMargin: "0px 0px 200% 0px" });
  for (const part of document.querySelectorAll("article :is(.margin, .popout)"))
    watch.observe(part.closest("section > *, .covered > *"));
  new MutationObserver(keep).observe(contents, { attributeFilter: ["class"] });
  window.addEventListener("scroll", open);
});

// A margin note stands beside the paragraph that follows it; without a margin it comes after that,
// and after a formula that ends its sentence.
const narrow = matchMedia("(max-width: 1199px)"), beside = new Map();
const placeNotes = () => {
  for (const note of document.querySelectorAll("aside.margin")) {
    if (!beside.has(note)) beside.set(note, note.nextElementSibling);
    let below = beside.get(note);
    if (!below?.matches("p")) continue;
    if (!narrow.matches) { below.before(note); continue; }
    const formula = below.nextElementSibling;
    (formula?.matches("div.math") ? formula : below).after(note);
  }
};
document.addEventListener("DOMContentLoaded", placeNotes);
narrow.addEventListener("change", placeNotes);

// On a phone a line of code that is too long goes on below, further in: to its right nobody looks.
const phone = matchMedia("(max-width: 600px)");
const breakCode = () => {
  if (!phone.matches) return;
  for (const code of document.querySelectorAll("article .highlight pre:not(:has(> .line))")) {
    const lines = [[]];
    for (const token of code.childNodes)
      for (const text of token.textContent.split(/(?<=\n)/)) {
        if (token.nodeType === Node.TEXT_NODE) // where a bracket opens it may be broken
          text.split(/(?<=\()/).forEach((part, n) => lines.at(-1).push(...n ? [document.createElement("wbr"), part] : [part]));
        else lines.at(-1).push(Object.assign(token.cloneNode(), { textContent: text }));
        if (text.endsWith("\n")) lines.push([]);
      }
    code.replaceChildren(...lines.filter((parts) => parts.length).map((parts) => {
      const line = document.createElement("span");
      line.className = "line";
      line.append(...parts);
      line.style.setProperty("--in", `${line.textContent.search(/\S|$/) + 6}ch`);
      return line;
    }));
  }
};
document.addEventListener("DOMContentLoaded", breakCode);
phone.addEventListener("change", breakCode);

// The lower edge of a phone's bar says how far one has come.
document.addEventListener("scroll", () => {
  const { scrollTop, scrollHeight, clientHeight } = document.documentElement;
  const share = scrollTop / Math.max(1, scrollHeight - clientHeight);
  if (phone.matches) document.querySelector(".bd-header-article").style.setProperty("--read", share.toFixed(3));
}, { passive: true });

// Code that opens below its figure was touched at the figure's end. What follows is pushed down; the
// browser would keep that in place, and push the figure up.
document.addEventListener("click", ({ target }) => {
  if (!target.closest?.(".cell > details.hide > summary")) return;
  const { style } = document.documentElement;
  style.overflowAnchor = "none";
  setTimeout(() => (style.overflowAnchor = ""), 300);
}, true);

// Definitions of terms are shown by the style sheet; Escape hides them until the pointer moves.
document.addEventListener("keydown", (event) => {
  if (event.key === "Escape") document.documentElement.classList.add("no-definitions");
});
for (const event of ["pointerover", "focusin"]) {
  document.addEventListener(event, ({ target }) => {
    document.documentElement.classList.remove("no-definitions");
    const term = target.closest?.(".has-definition");
    if (!term) return;
    if (frame(term)) return;
    place(term.querySelector("[role=tooltip]"));
    portray(term);
  });
}

// A figure that is in view has a frame instead of a second picture, as long as the link is pointed at.
function frame(term) {
  const { hash, pathname } = term.querySelector(":scope > a");
  const figure = hash.startsWith("#fig-") && pathname === location.pathname && document.getElementById(hash.slice(1));
  if (!figure) return false;
  const { top, bottom, height } = figure.getBoundingClientRect();
  const seen = Math.min(bottom, window.innerHeight) - Math.max(top, 0) > height / 2;
  term.classList.toggle("in-view", seen);
  figure.classList.toggle("pointed-at", seen);
  const gone = () => figure.classList.toggle("pointed-at", term.matches(":hover, :focus-within") && seen);
  for (const event of ["pointerleave", "focusout"]) term.addEventListener(event, () => setTimeout(gone), { once: true });
  return seen;
}

// Another page, once it was read. From a folder it may not be.
const others = {};
const other = ({ origin, pathname }) => others[pathname] ??= location.protocol === "file:" ? document
  : fetch(origin + pathname).then((found) => found.text())
    .then((html) => new DOMParser().parseFromString(html, "text/html"), () => document);

// What is shown of a figure has its picture, whole and small: as it stands, or begins on another page.
async function portray(term) {
  const link = term.querySelector(":scope > a"), here = link.pathname === location.pathname;
  if (!link.hash.startsWith("#fig-") || term.querySelector(".picture")) return;
  const page = here ? document : await other(link), figure = page.getElementById(link.hash.slice(1));
  const shown = figure?.matches("figure") && figure.querySelector(".live, .drawing");
  if (!shown || !(here || term.matches(":is(:hover, :focus-within):not(:has(.picture))"))) return;
  document.querySelector(".picture")?.remove();
  const picture = document.createElement("span"), copy = shown.cloneNode(true);
  Object.assign(picture, { className: "picture", ariaHidden: "true", inert: true });
  for (const part of copy.querySelectorAll("script, style, .controls, .rail, .reading, .reset, .tip, .spot, [role=status]"))
    part.remove();
  const painted = shown.querySelectorAll("canvas");
  copy.querySelectorAll("canvas").forEach((canvas, n) => canvas.getContext("2d").drawImage(painted[n], 0, 0));
  delete copy.dataset.figure;
  picture.append(copy);
  if (!document.querySelector(".live style")) picture.append(page.querySelector(".live style") ?? "");
  const text = term.querySelector("[role=tooltip]"), { top, bottom } = term.getClientRects()[0];
  const room = Math.max(top - 56, window.innerHeight - bottom) - text.offsetHeight - 24; // above it or below
  if (room < 60) return; // on a phone, below long words
  text.prepend(picture);
  const width = shown.offsetWidth || 690; // of another page, as wide as its column
  Object.assign(copy.style, { width: `${width}px`, margin: "0 auto" });
  const height = shown.offsetHeight || copy.offsetHeight;
  copy.style.zoom = Math.min(picture.clientWidth / width, Math.min(0.28 * window.innerHeight, room) / height);
  place(text);
}

// The contents of the book and of a page, where they are drawers: one closes by a button, by Escape
// wherever the focus is, and once an entry is chosen.
const overlay = matchMedia("(min-width: 992px) and (max-width: 1599px)");
document.addEventListener("DOMContentLoaded", () => {
  for (const [which, what] of [["primary", "book's contents"], ["secondary", "contents"]]) {
    const drawer = document.querySelector(`.bd-sidebar-${which}`);
    if (!drawer) continue;
    const close = document.createElement("button"), sign = document.createElement("span");
    sign.className = "fa-solid fa-xmark";
    close.append(sign);
    close.type = "button";
    close.className = "close-contents";
    close.ariaLabel = `Close the ${what}`;
    drawer.prepend(close);
    const box = document.getElementById(`pst-${which}-sidebar-checkbox`); // of a drawer, and of what slides in
    const toggle = document.querySelector(`.${which}-toggle`);
    const shut = (back) => {
      box.checked = false;
      if (back) toggle.focus({ preventScroll: true });
    };
    drawer.addEventListener("click", ({ target }) => {
      if (target.closest("a, .close-contents")) shut(target.closest("button"));
    });
    document.addEventListener("click", ({ target }) => { // over a wide page the book's is no dialog
      const beside = !drawer.contains(target) && !toggle.contains(target);
      if (which === "primary" && overlay.matches && beside) shut();
    });
    document.addEventListener("keydown", ({ key }) => {
      if (key === "Escape" && box.checked && drawer.checkVisibility({ visibilityProperty: true })) shut(true);
    });
  }
});

// Words that set a single slider pull it, too: to a side, as far as the knob of the slider goes, or by
// the arrow keys.
const sliderOf = ({ dataset: { of: figure, state } }) =>
  document.querySelector(`#${figure} .live [name="${Object.keys(JSON.parse(state))[0]}"]`);
document.addEventListener("keydown", (event) => {
  const button = event.target.closest?.("button.pulls"), { key, shiftKey } = event;
  if (!button || !key.startsWith("Arrow")) return;
  event.preventDefault();
  const slider = sliderOf(button);
  slider.dispatchEvent(new KeyboardEvent("keydown", { key, shiftKey, bubbles: true }));
  slider.dispatchEvent(new Event("change", { bubbles: true })); // what it shows is said
});
let pulling = null; // the slider, from when it has moved until the press has ended
document.addEventListener("pointerdown", (down) => {
  pulling = null;
  const button = down.target.closest?.("button.pulls");
  if (!button || down.button) return;
  const slider = sliderOf(button), from = +slider.value;
  const pull = ({ clientX }) => {
    const by = clientX - down.clientX;
    if (!pulling && Math.abs(by) < 4) return;
    pulling = slider;
    slider.value = from + (by / slider.offsetWidth) * (slider.max - slider.min);
    slider.dispatchEvent(new Event("input", { bubbles: true }));
  };
  button.setPointerCapture(down.pointerId);
  button.addEventListener("pointermove", pull);
  button.addEventListener("lostpointercapture", () => {
    button.removeEventListener("pointermove", pull);
    pulling?.dispatchEvent(new Event("change", { bubbles: true }));
  }, { once: true });
});
document.addEventListener("selectstart", (event) => pulling && event.preventDefault());
document.addEventListener("click", (event) => {
  if (!pulling || !event.detail) return; // a press by keyboard has none
  event.stopImmediatePropagation(); // it was pulled, and stays where it is
  pulling = null;
}, true);

// Words in a sentence that set a figure. One that is out of view is gone to; Back leads back. Of one
// that is too high for the window, the top is shown: there is what the words speak of.
const fits = ({ top, bottom }) =>
  bottom - top <= window.innerHeight - parseFloat(getComputedStyle(document.documentElement).scrollPaddingTop);
document.addEventListener("click", ({ target }) => {
  const button = target.closest?.("button.sets");
  if (!button) return;
  const { of: name, state } = button.dataset;
  const figure = document.querySelector(`#${name} .live`);
  figure.dispatchEvent(new CustomEvent("live:set", { detail: JSON.parse(state) }));
  const box = figure.getBoundingClientRect();
  if (box.top > window.innerHeight || box.bottom < 0) {
    whole();
    history.pushState(null, "", `#${name}`);
  }
  figure.scrollIntoView({ block: fits(box) ? "nearest" : "start" });
});

// Where a link, or such words, lead far away on the page, the bar above has a way back until the reader
// is there again.
document.addEventListener("click", ({ target }) => {
  const from = target.closest?.("article :is(a[href^='#']:not(.headerlink), button.sets)");
  const to = from?.hash ? from.hash.slice(1) : from?.dataset.of;
  const goal = to && document.getElementById(decodeURIComponent(to));
  if (!goal || from.parentElement === untouched) return; // a first tap leads nowhere
  const here = from.getBoundingClientRect().top, box = goal.getBoundingClientRect();
  const seen = from.matches("button") && fits((goal.querySelector(".live") ?? goal).getBoundingClientRect());
  const ends = seen ? [box.top, box.bottom] : [box.top]; // of a figure that is seen whole, the nearer
  const far = Math.min(...ends.map((end) => Math.abs(end - here)));
  if (goal.checkVisibility() && far < window.innerHeight) return; // what is covered is far
  document.querySelector(".back-to-text")?.remove();
  const back = document.createElement("button");
  Object.assign(back, { type: "button", className: "back-to-text", textContent: "Back to the text" });
  document.querySelector(".page-name").after(back);
  back.addEventListener("click", () => {
    from.focus({ preventScroll: true });
    from.scrollIntoView({ block: "center", behavior: "instant" });
  });
  let left = false;
  new IntersectionObserver(([{ isIntersecting }], watch) => {
    if (left && isIntersecting) watch.disconnect(), back.remove();
    left ||= !isIntersecting;
  }).observe(from);
}, true);

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
  theme = dataset.theme;
  dataset.theme = "light";
});
window.addEventListener("afterprint", () => {
  dataset.theme = theme;
});

// On a screen that is touched, the first tap on a term shows its definition and the second follows.
let untouched = null; // the term under the finger, if its definition was not there yet
document.addEventListener("pointerdown", ({ target, pointerType }) => {
  const term = target.closest?.(".has-definition");
  untouched = pointerType === "mouse" || !term || term.matches(":focus-within") ? null : term;
}, true);
document.addEventListener("click", (event) => {
  const link = event.target.closest?.(".has-definition > a");
  if (!link || link.parentElement !== untouched) return;
  event.preventDefault();
  untouched = null;
  link.focus();
});

// What is wider than its place is scrolled by keyboard too: code, formulas, tables.
const width = new ResizeObserver((seen) => {
  for (const { target } of seen) {
    const caption = target.querySelector(":scope > table > caption"); // it stays where it is
    if (caption) target.onscroll = () => (caption.style.translate = `${target.scrollLeft}px`);
    if (target.scrollWidth > target.clientWidth) target.tabIndex = 0;
    else target.removeAttribute("tabindex");
  }
});
window.addEventListener("load", () => {
  const wide = "article :is(pre, .formula, .text_html, .pst-scrollable-table-container)";
  for (const place of document.querySelectorAll(wide)) width.observe(place);
  for (const button of document.querySelectorAll("button.sets")) button.disabled = false;
});
