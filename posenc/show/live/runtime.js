// What all live figures share: it ties the marks of a figure to numbers, and the reader's hands to
// its state.
//
// A figure is HTML whose first state Python has drawn. Its marks name the numbers that they show:
//   data-set="--turn:hand.3 text:score"    a custom property, the text, the inside ("html") or an
//                                          attribute of the mark, and the value that it follows
//   data-drag="hand.3"  data-go="word.4"  data-tip="hand.3"    what happens when it is pulled,
//                                          pressed or pointed at: a function, and its index
// A module says what the numbers are and what the functions do:
//   values(state, data)             name -> number, text, or a list of them
//   describe(state, values, data)   the figure in words
//   paint(canvas, colours, state, data)    optional: fills a canvas of the figure
//   settle(next, before, data)      optional: the allowed state that is nearest to the wanted one
//   drags, goes, tips               name -> function({ index, state, data, values, at, grip })
// A function of drags or goes returns the part of the state that changes, one of tips a text, or of a
// curve [text, place, …]: where a dot is to stand upon it, in the units of the picture.
//   points                          optional, as tips: the part of the state that is shown meanwhile
// The page sets a part of the state by an event "live:set" of the figure, with it as its detail.

export const TAU = 2 * Math.PI;
export const clamp = (x, low, high) => Math.min(high, Math.max(low, x));
export const wrap = (angle) => angle - TAU * Math.round(angle / TAU);
export const near = (x, place) => Math.max(0, 1 - Math.abs(x - place));
export const nearest = (x) => Math.floor(x + 0.5);
export const sum = (numbers) => numbers.reduce((a, b) => a + b, 0);
export const range = (n) => [...Array(n).keys()];
export const fixed = (x, digits) =>
  x.toFixed(digits).replace(/^-(?=[0.]*$)/, "").replace("-", "−");
export const place = (x) => fixed(x, 1).replace(/\.0$/, "");
export const quoted = (word) => `\u2018${word}\u2019`;
export const grouped = (x) => {
  const [whole, ...rest] = String(x).split(".");
  return [whole.replace(/\B(?=(\d{3})+$)/g, ","), ...rest].join(".");
};

const path = (points) => "M" + points.map(([x, y]) => `${+x.toFixed(4)} ${+y.toFixed(4)}`).join("L");
const still = matchMedia("(prefers-reduced-motion: reduce)");
const [GLIDE, ARRIVAL] = [450, 2200]; // milliseconds of a move
const REST = 700; // and without one before it is said
const ASIDE = 14; // pixels from a dot on a curve to what is said of it

class Model {
  #values;
  #heard = [];
  constructor(values) { this.#values = values; }
  get(name) { return this.#values[name]; }
  set(name, value) {
    this.#values[name] = value;
    for (const [event, hear] of this.#heard) if (event === `change:${name}`) hear();
  }
  on(event, hear) { this.#heard.push([event, hear]); }
  save_changes() {}
}

// Every mark with the value that it follows: [how to show it, where to find it].
function bindings(el) {
  return [...el.querySelectorAll("[data-set]")].flatMap((mark) =>
    mark.dataset.set.split(" ").map((token) => {
      const [name, key] = token.split(":");
      const keys = key.split(".");
      let last;
      return (values) => {
        let value = keys.reduce((found, k) => found[k], values);
        if (typeof value === "number") value = String(+value.toFixed(5));
        if (Array.isArray(value)) value = path(value);
        if (value === last) return;
        last = value;
        if (name === "text") mark.textContent = value;
        else if (name === "html") mark.innerHTML = value;
        else if (name.startsWith("--")) mark.style.setProperty(name, value);
        else mark.setAttribute(name, value);
      };
    }),
  );
}

// Where a pointer is, in the units of the mark's picture; y goes up, angles clockwise from 12. Pixels
// are those of one unit.
function where(mark, event) {
  const svg = mark.closest("svg") ?? mark.closest(".frame").querySelector("svg");
  const { left, top, width, height } = svg.getBoundingClientRect();
  const box = svg.viewBox.baseVal;
  const x = box.x + ((event.clientX - left) / width) * box.width;
  const y = -(box.y + ((event.clientY - top) / height) * box.height);
  const pixels = [width / box.width, height / box.height];
  return { x, y, angle: Math.atan2(x, y), pixels };
}

// The tip of the hand of a dial that is nearest to a pointer; a plot has none.
function tipAt(mark, { clientX, clientY }) {
  const tips = mark.closest("svg")?.querySelectorAll(".hand > :last-child") ?? [];
  const found = [...tips].map((tip) => {
    const { left, top, width, height } = tip.getBoundingClientRect();
    const [x, y] = [left + width / 2, top + height / 2];
    return { clientX: x, clientY: y, far: Math.hypot(x - clientX, y - clientY) };
  });
  return found.sort((a, b) => a.far - b.far)[0];
}

// Whether a mark keeps the finger that is put on it: a knob does, and the tip of a hand.
function keeps(mark, at) {
  if (!mark.matches(".hit")) return getComputedStyle(mark).touchAction === "none";
  const room = clamp(mark.getBoundingClientRect().width / 5, 12, 22); // 24 to 44 pixels across
  return tipAt(mark, at)?.far <= room;
}

// Points of the page along the lines of a plot.
const course = (svg) => [...svg.querySelectorAll("path.line")].flatMap((line) => {
  const [on, long] = [line.getScreenCTM(), line.getTotalLength()];
  return range(301).map((n) => line.getPointAtLength((long * n) / 300).matrixTransform(on));
});

// Where a text beside a dot begins: right or left of it and over or under it, within the room that
// there is and where it covers least of the lines, above all of what is near the dot.
function beside([x, y], { offsetWidth: wide, offsetHeight: tall }, [left, top, right, bottom], points) {
  const covered = ([from, head]) => {
    if (from < left || from + wide > right || head < top || head + tall > bottom) return Infinity;
    const under = points.filter((at) =>
      from < at.x && at.x < from + wide && head < at.y && at.y < head + tall);
    return sum(under.map((at) => 1 / ((at.x - x) ** 2 + (at.y - y) ** 2)));
  };
  const corners = [x + ASIDE, x - ASIDE - wide].flatMap((from) =>
    [y - 6 - tall, y + 6].map((head) => [from, head]));
  return corners.reduce((best, corner) => (covered(corner) < covered(best) ? corner : best));
}

// Red, green and blue of the colours that heat maps are painted in.
function colours(el) {
  const pencil = document.createElement("canvas").getContext("2d");
  const rgb = (name) => {
    pencil.fillStyle = getComputedStyle(el).getPropertyValue(name); // also a system colour
    return [1, 3, 5].map((i) => parseInt(pencil.fillStyle.slice(i, i + 2), 16));
  };
  const weights = range(5).map((stop) => rgb(`--weight-${stop}`));
  return { pos: rgb("--pos"), neg: rgb("--neg"), weights };
}

export const live = (figure) => ({
  render({ model, el }) {
    if (!el.firstElementChild) el.innerHTML = model.get("html"); // a host that brings none
    const data = model.get("data");
    const marks = bindings(el);
    const controls = [...el.querySelectorAll("[name]")];
    const [tip, heard, reset] = [".tip", "[role=status]", ".reset"].map((part) => el.querySelector(part));
    const state = () => model.get("state"), first = state();
    const values = (of = state()) => {
      const found = figure.values(of, data);
      return { ...found, said: figure.describe(of, found, data) };
    };
    let frame, rest, motion, pointed, arriving = false; // pointed: what is shown while it is pointed at
    const quiet = () => {
      if (pointed) soon();
      pointed = undefined;
      tip.hidden = true;
      for (const dot of el.querySelectorAll(".spot")) dot.remove();
    };

    const draw = () => {
      frame = 0;
      const found = values({ ...state(), ...pointed });
      for (const show of marks) show(found);
      for (const control of controls) {
        const value = state()[control.name];
        if (control.type === "checkbox") control.checked = value;
        else control.value = value;
      }
      const moved = !arriving && Object.keys(first).some((name) => state()[name] !== first[name]);
      if (!moved && document.activeElement === reset) // which is about to go
        controls[0].focus({ preventScroll: true });
      reset.hidden = !moved;
      if (!figure.paint) return;
      const inks = colours(el);
      for (const canvas of el.querySelectorAll("canvas")) figure.paint(canvas, inks, state(), data);
    };
    const soon = () => (frame ||= requestAnimationFrame(draw));
    const change = (part) => {
      const next = { ...state(), ...part };
      for (const { type, name, min, max, step } of controls)
        if (type === "range")
          next[name] = clamp(step === "1" ? nearest(next[name]) : next[name], +min, +max);
      model.set("state", figure.settle?.(next, state(), data) ?? next);
      model.save_changes();
    };
    model.on("change:state", () => {
      soon();
      clearTimeout(rest);
      if (arriving) return; // nobody asked for it
      rest = setTimeout(() => (heard.textContent = values().said), REST);
    });

    // One motion at a time: a step a frame, until it says that it is done.
    const playing = (button, on) => {
      button?.toggleAttribute("data-playing", on);
      if (button) button.lastChild.data = on ? "Pause" : "Play";
    };
    const stop = () => {
      quiet(); // it tells of what is about to change
      cancelAnimationFrame(motion);
      arriving = false;
      playing(el.querySelector("[data-playing]"), false);
    };
    const move = (step) => {
      const begun = performance.now();
      const tick = (now) => {
        motion = requestAnimationFrame(tick);
        if (step(Math.max(0, now - begun))) stop();
      };
      motion = requestAnimationFrame(tick);
    };
    const glide = (part, long = GLIDE, from = state()) => {
      stop();
      const numbers = Object.keys(part).filter((name) => typeof part[name] === "number");
      if (still.matches || !numbers.length) return change(part);
      move((passed) => {
        const t = Math.min(1, passed / long);
        const between = (name) => from[name] + (part[name] - from[name]) * t * t * (3 - 2 * t);
        const moved = numbers.map((name) => [name, t < 1 ? between(name) : part[name]]);
        change({ ...part, ...Object.fromEntries(moved) });
        return t === 1;
      });
    };
    // What is a position of a word is let go at a word.
    const land = () => {
      const between = controls.filter(({ name, dataset }) => "rests" in dataset && state()[name] % 1);
      if (between.length)
        glide(Object.fromEntries(between.map(({ name }) => [name, nearest(state()[name])])));
    };
    const play = (button) => {
      const { play: name, speed, playing: on } = button.dataset;
      stop();
      if (on !== undefined) return land();
      playing(button, true);
      const { min, max } = controls.find((control) => control.name === name);
      const from = state()[name] < +max ? state()[name] : +min;
      move((passed) => {
        const now = from + (speed * passed) / 1000;
        change({ [name]: still.matches ? Math.floor(now) : now });
        return now >= +max;
      });
    };

    const call = (kind, mark, more) => {
      const [name, index] = mark.dataset[kind].split(".");
      const given = { index: +index, state: state(), data, values: values(), ...more };
      return figure[{ drag: "drags", go: "goes", tip: "tips" }[kind]][name](given);
    };
    el.addEventListener("input", ({ target }) => {
      stop();
      const kinds = { checkbox: target.checked, range: +target.value };
      change({ [target.name]: kinds[target.type] ?? target.value });
    });
    el.addEventListener("change", land);
    el.addEventListener("click", ({ target }) => {
      const button = target.closest("[data-play], [data-go], .reset");
      if (button === reset && button) glide(first);
      else if (button?.dataset.play) play(button);
      else if (button) glide(call("go", button));
    });
    el.addEventListener("live:set", ({ detail }) => glide(detail));
    el.addEventListener("keydown", (event) => {
      const { name, type, dataset, step: by } = event.target;
      const steps = { ArrowLeft: -1, ArrowDown: -1, ArrowRight: 1, ArrowUp: 1, PageUp: 5, PageDown: -5 };
      if (type !== "range" || !steps[event.key]) return;
      event.preventDefault();
      stop();
      const part = event.shiftKey && by === "any" ? 0.1 : 1;
      const step = steps[event.key] * dataset.step * part;
      let from = state()[name]; // what rests at whole numbers goes on from one, wherever it was stopped
      if ("rests" in dataset && part === 1) from = step > 0 ? Math.floor(from) : Math.ceil(from);
      change({ [name]: Math.round((from + step) * 1e6) / 1e6 });
    });
    // A row of words is one stop of the Tab key; arrows lead along it.
    const row = el.querySelector(".words"), words = [...row?.children ?? []];
    const rove = (to) => words.forEach((word) => (word.tabIndex = word === to ? 0 : -1));
    if (row) Object.assign(row, { role: "toolbar", ariaLabel: "words" });
    rove(words[0]);
    row?.addEventListener("focusin", ({ target }) => rove(target));
    row?.addEventListener("keydown", (event) => {
      const by = { ArrowLeft: -1, ArrowRight: 1 }[event.key];
      const next = by && words[words.indexOf(event.target) + by];
      if (!next) return;
      event.preventDefault();
      next.focus();
    });
    // A finger that begins to scroll on a slider sets it first: then it stands as it stood.
    let stood;
    el.addEventListener("pointerdown", ({ target }) => {
      stood = target.type === "range" && state();
    }, true);
    el.addEventListener("pointercancel", () => {
      if (stood) change(stood);
      stood = undefined;
    });
    // Parts of a picture cannot say by themselves what a finger may do there.
    el.addEventListener("touchstart", (event) => {
      const mark = event.target.closest(".hit");
      if (mark && keeps(mark, event.touches[0])) event.preventDefault(); // or the page scrolls
    }, { passive: false });
    el.addEventListener("pointerdown", (event) => {
      const mark = event.target.closest("[data-drag]");
      if (!mark || event.button) return;
      event.preventDefault(); // or the browser selects text
      stop();
      const grip = {}; // what a drag remembers while it lasts
      // A finger may be on its way down the page: it pulls by a tap or a move sideways, or by what
      // keeps it. A tap on a dial brings the nearest hand there.
      let waits = event.pointerType === "touch" && !keeps(mark, event);
      const pull = (e) => {
        const [x, y] = [e.clientX - event.clientX, e.clientY - event.clientY].map(Math.abs);
        if (waits && e.type !== "pointerup" && x <= y) return;
        const from = waits && e.type === "pointerup" && tipAt(mark, event);
        waits = false;
        for (const place of from ? [from, e] : [e])
          change(call("drag", mark, { at: where(mark, place), grip }));
      };
      const moves = ["pointermove", "pointerup"];
      const release = () => {
        delete el.dataset.dragging;
        for (const move of moves) mark.removeEventListener(move, pull);
        land();
      };
      el.dataset.dragging = "";
      mark.setPointerCapture(event.pointerId);
      for (const move of moves) mark.addEventListener(move, pull);
      mark.addEventListener("lostpointercapture", release, { once: true });
      pull(event);
    });
    el.addEventListener("pointermove", (event) => {
      const mark = event.target.closest("[data-tip]");
      quiet();
      if (!mark || event.pointerType === "touch" || "dragging" in el.dataset) return;
      const at = where(mark, event), [wide, tall] = at.pixels;
      const [text, ...places] = [call("tip", mark, { at })].flat();
      pointed = figure.points?.[mark.dataset.tip]?.({ at, state: state(), data });
      if (pointed) soon();
      tip.textContent = text;
      tip.hidden = false;
      const { left, top, width } = el.getBoundingClientRect();
      const bar = parseFloat(getComputedStyle(document.documentElement).scrollPaddingTop) || 0;
      const high = tip.offsetHeight + 4;
      const dots = places.map(([x, y]) =>
        [event.clientX + (x - at.x) * wide, event.clientY - (y - at.y) * tall]);
      for (const [x, y] of dots) {
        const dot = document.createElement("i");
        dot.className = "spot";
        dot.style.translate = `calc(${x - left}px - 50%) calc(${y - top}px - 50%)`;
        tip.before(dot);
      }
      if (dots.length) {
        const [x, y] = beside(dots[0], tip, [left, bar, left + width, window.innerHeight], course(mark));
        tip.style.translate = `${x - left}px ${y - top}px`;
        return;
      }
      const x = clamp(event.clientX - left, tip.offsetWidth / 2, width - tip.offsetWidth / 2);
      let y = event.clientY - 10;
      if (mark.matches(".hit")) // over the dial, or it hides a hand
        y = Math.max(mark.getBoundingClientRect().top, bar + high);
      else if (y - high < bar) y += high + 32; // below the pointer, or the bar of the page hides it
      tip.style.translate = `calc(${x}px - 50%) calc(${y - top}px - 100% - 2px)`;
    });
    el.addEventListener("pointerleave", quiet);

    // Light ink means a dark theme, wherever a notebook is shown; the book's own pages tell theirs.
    const inked = () => {
      const [red, green, blue] = getComputedStyle(el).color.match(/[\d.]+/g);
      return 0.3 * red + 0.6 * green + 0.1 * blue > 128;
    };
    const shade = () => {
      el.toggleAttribute("data-dark", !document.documentElement.dataset.theme && inked());
      if (figure.paint && !frame) draw();
    };
    const watch = new MutationObserver(shade);
    for (const e of [document.documentElement, document.body])
      watch.observe(e, { attributes: true, attributeFilter: ["class", "data-theme", "theme", "style"] });
    matchMedia("(prefers-color-scheme: dark)").addEventListener("change", shade);

    // The edge of a phone's screen holds the controls as soon as some of the figure can be seen above
    // them, and then they have an edge of their own.
    new IntersectionObserver(([{ isIntersecting }]) => el.toggleAttribute("data-near", isIntersecting),
      { rootMargin: "0px 0px -45% 0px" }).observe(el);
    const edge = new IntersectionObserver(([{ target, intersectionRatio, boundingClientRect }]) =>
      target.toggleAttribute("data-stuck", intersectionRatio < 1 && boundingClientRect.top > 0),
      { rootMargin: "0px 0px -1px 0px", threshold: [0, 1] });
    for (const row of el.querySelectorAll(".controls, .foot")) edge.observe(row);

    // A figure that arrives does so once, as soon as most of it is seen and if no hand was faster.
    const seen = new IntersectionObserver(([{ isIntersecting }]) => {
      if (!isIntersecting) return;
      seen.disconnect();
      if (still.matches || state() !== first) return;
      glide(first, ARRIVAL, { ...first, ...JSON.parse(el.dataset.arrives) });
      arriving = true;
      playing(el.querySelector("[data-play]"), true); // it can be stopped
    }, { threshold: 0.6 });
    if (el.dataset.arrives) seen.observe(el);

    el.live = { model, values };
    soon(); // and not at once: a page that is still being read would be laid out for it
    shade();
  },
});

// Brings all figures of a kind to life that stand in the page and are not alive yet.
export function start(kind, { render }) {
  for (const el of document.querySelectorAll(`.live[data-figure="${kind}"]:not([data-on])`)) {
    el.dataset.on = "";
    const given = el.querySelector("script[type='application/json']").textContent;
    render({ model: new Model(JSON.parse(given)), el });
  }
}
