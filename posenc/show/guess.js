// One question that is answered by hand. `root` holds two pictures, for a screen and for a phone,
// sliders and the data that Python wrote: what is true, in plain numbers, and how numbers become
// places in each picture.
(root) => {
  const data = JSON.parse(root.querySelector("script[type='application/json']").textContent);
  const said = root.querySelector(".said"), controls = root.querySelector(".controls");
  const sliders = [...root.querySelectorAll("input")], compare = root.querySelector("button");
  const open = root.querySelector(".open");
  const values = () => sliders.map((slider) => +slider.value);
  const WAITS = data.kind === "curve" ? 0.5 : 0; // the share where a ring stands that nobody has set
  const MOST = 0.8; // of the axis
  const isSet = (slider) => !slider.matches(".unset");
  const clamp = (x, low = 0, high = 1) => Math.min(high, Math.max(low, x));

  // The place on an axis that a share of it is.
  const number = (share) => {
    const [low, high] = data.limits;
    const x = data.log ? low * (high / low) ** share : low + (high - low) * share;
    return data.whole ? Math.round(x) : x;
  };

  // How far off, in the units of the question, and where the furthest.
  const off = {
    curve(v) {
      const at = data.places.map((share, n) => {
        const k = Math.min(v.length - 2, Math.floor(share * (v.length - 1)));
        const part = share * (v.length - 1) - k;
        return Math.abs((1 - part) * v[k] + part * v[k + 1] - data.truth[n]) * data.unit;
      });
      return at.reduce((a, b) => a + b) / at.length;
    },
    point([v]) {
      const [is, said] = [number(data.truth), number(v)];
      return data.log ? Math.max(is / said, said / is) : Math.abs(is - said);
    },
    angle([v]) {
      const apart = Math.abs(v - data.truth) % 1;
      return Math.min(apart, 1 - apart) * data.unit;
    },
  }[data.kind];

  // How far a curve climbs at most, from any place to a later one.
  const climb = (v) => {
    let lowest = Infinity, most = 0;
    for (const y of v) {
      lowest = Math.min(lowest, y);
      most = Math.max(most, y - lowest);
    }
    return most * data.unit;
  };
  const down = (v) => v.map((y) => -y);

  // A curve may be near and miss the point: where the truth clearly rises or falls, it must as well.
  const missed = (v) => {
    if (data.kind !== "curve") return "";
    const misses = (way) => climb(way(data.truth)) > data.within &&
      climb(way(v)) < 0.3 * climb(way(data.truth));
    return misses((y) => y) ? "rises" : misses(down) ? "falls" : "";
  };

  function set(slider, value) {
    slider.value = value;
    slider.classList.remove("unset");
  }

  const rounded = (x, digits) => (Number(x.toPrecision(digits)) || 0) // no -0
    .toLocaleString("en", { maximumSignificantDigits: digits }).replace("-", "\u2212");

  const spoken = (share) =>
    data.kind === "angle" ? `${rounded(share, 2)} of a turn` : rounded(number(share), 3);

  // Far off is what misses by more than three times what is still right.
  const limit = data.kind === "point" && data.log ? data.within ** 3 : 3 * data.within;
  const close = (far, right) => right ? "Close enough" : far > limit ? "Far off" : "Not quite";

  // What is true and what was said, or how far off a curve is.
  function verdict(v, far, right, miss) {
    const grade = close(far, right);
    if (data.kind === "curve")
      return `${grade}: you are off by ${rounded(far, 2)}${data.of} on average` +
        (miss ? `, and the true curve ${miss} where yours does not.` : ".");
    const [is, said] = [spoken(data.truth), spoken(v[0])];
    return is === said ? `Right: it is ${is}${data.of}.`
      : `${grade}: it is ${is}${data.of}, and you said ${said}.`;
  }

  // One of the pictures: how it shows values, which are shares (0 to 1) of an axis or a turn.
  function view(svg) {
    const kind = svg.classList[0], [left, top, width, height] = data.boxes[kind];
    const centre = [left + width / 2, top + height / 2];
    const r = kind === "phone" ? 10 : data.kind === "point" ? 9 : 6;
    const part = (name) => svg.querySelector(`.${name}`);
    const words = [part("you"), part("is")];

    // Where the handles are.
    const spots = {
      curve: (v) => v.map((share, k) =>
        [left + (width * k) / (v.length - 1), top + height * (1 - share)]),
      point: ([share]) => [[left + width * share, top + height / 2]],
      angle: ([share]) => [[centre[0] + (height / 2) * Math.sin(2 * Math.PI * share),
        centre[1] - (height / 2) * Math.cos(2 * Math.PI * share)]],
    }[data.kind];
    const ring = ([x, y]) => `M${x - r},${y}a${r},${r} 0 1 0 ${2 * r},0a${r},${r} 0 1 0 ${-2 * r},0`;

    // A line through spots, which turns only where they do.
    function smooth(at) {
      const pairs = at.slice(1).map((spot, k) => [at[k], spot]);
      const slopes = pairs.map(([[a, b], [x, y]]) => (y - b) / (x - a));
      const inner = slopes.slice(1).map((next, k) => (Math.sign(slopes[k]) + Math.sign(next)) *
        Math.min(Math.abs(slopes[k]), Math.abs(next), Math.abs(slopes[k] + next) / 4));
      const end = (slope, beside = slope) => (3 * slope - beside) / 2;
      const tangents = [end(slopes[0], inner[0]), ...inner, end(slopes.at(-1), inner.at(-1))];
      return `M${at[0]}h0` + pairs.map(([[a, b], [x, y]], k) => {
        const third = (x - a) / 3;
        return `C${a + third},${b + tangents[k] * third} ` +
          `${x - third},${y - tangents[k + 1] * third} ${x},${y}`;
      }).join("");
    }

    // What is drawn for handles that are set: a line through them, an upright line, a hand.
    const draw = {
      curve: (at) => at.reduce((runs, spot, k) => {
        if (!isSet(sliders[k])) return runs;
        if (k && isSet(sliders[k - 1])) runs.at(-1).push(spot);
        else runs.push([spot]);
        return runs;
      }, []).map(smooth).join(""),
      point: ([[x]]) => `M${x},${top}v${height}`,
      angle: ([at]) => `M${centre}L${at}`,
    }[data.kind];

    // Where the pointer is: shares of a curve's axes, or what the only slider is set to.
    const aim = {
      curve: (x, y) => [clamp((x - left) / width), clamp(1 - (y - top) / height)],
      point: (x) => [clamp((x - left) / width)],
      angle: (x, y) =>
        [(Math.atan2(x - centre[0], centre[1] - y) / (2 * Math.PI) + 1) % 1],
    }[data.kind];

    function show(v) {
      const some = sliders.some(isSet), all = sliders.every(isSet);
      part("mine").setAttribute("d", some ? draw(spots(v)) : "");
      part("mine").toggleAttribute("hidden", !some);
      const wait = spots(sliders.map(() => WAITS));
      part("waiting").setAttribute("d",
        wait.map((at, k) => (isSet(sliders[k]) ? "" : ring(at))).join(""));
      part("waiting").toggleAttribute("hidden", all);
      part("hint").toggleAttribute("hidden", some); // or the line goes through its words
    }

    // Which is whose: beside the lines' right ends, above upright ones, beyond a hand's tip. Without
    // an answer there is the true one alone.
    function name(v) {
      const truth = [data.truth].flat();
      const ends = [v ?? truth, truth].map((shares) => data.kind === "curve"
        ? [left + width, top + height * (1 - shares.at(-1))] : spots(shares)[0]);
      const axis = +(data.kind === "curve"), first = +(ends[0][axis] > ends[1][axis]);
      const near = v ? Math.max(0, 30 - Math.abs(ends[0][1] - ends[1][1])) : 0;
      const apart = near / 2; // or one covers the other
      const beside = Math.abs(ends[0][0] - ends[1][0]) < 60; // so are the words at two hands' tips
      const above = +(ends[0][1] > ends[1][1]);
      const [low, high] = [left + 30, left + width - 34]; // room for a word before, and after
      words.forEach((word, n) => {
        const [x, y] = ends[n], before = n === first, right = x >= centre[0];
        const place = {
          curve: [x + 8, y + 6 + (before ? -apart : apart), "start"],
          point: [before ? clamp(x - 2, low, high - 4) : clamp(x + 2, low + 4, high), top - 5,
            before ? "end" : "start"],
          angle: [x + (right ? 8 : -8),
            y + (y - centre[1]) * 0.1 + 5 + (beside ? (n === above ? -apart : apart) : 0),
            right ? "start" : "end"],
        }[data.kind];
        ["x", "y", "text-anchor"].forEach((key, i) => word.setAttribute(key, place[i]));
        word.toggleAttribute("hidden", word === part("you") && !v);
      });
    }

    // What lies between the curve that was drawn and the true one.
    function shade(v) {
      const back = data.truth.map((share, n) =>
        [left + width * data.places[n], top + height * (1 - share)]).reverse();
      part("between").setAttribute("d", `${smooth(spots(v))}L${back.join("L")}Z`);
      part("between").removeAttribute("hidden");
    }

    function reveal(v) {
      if (v && data.kind === "curve") shade(v);
      if (!v) for (const gone of ["hint", "waiting", "mine"]) part(gone).setAttribute("hidden", "");
      part("truth").removeAttribute("hidden");
      name(v);
    }

    let last = null; // where the pointer was before
    let drawn = []; // where it was in this stroke
    let held = null; // a curve's handle that was taken hold of, and the height it has in a stroke

    // A handle follows the pointer as long as it is the nearest to where it was taken. Once the
    // pointer goes further it draws: each handle gets the height of the stroke where it passes.
    function stroke(x, y) {
      const n = sliders.length - 1, near = Math.round(x * n);
      if (!last) held = { at: near, y };
      const [from, height] = last ?? [x, y], forward = Math.sign(x - from);
      for (let k = 0; k <= n; k++) {
        const part = (k / n - from) / (x - from); // of the way since then
        if (!forward || part <= 0 || part > 1) continue;
        const passed = height + part * (y - height);
        set(sliders[k], passed);
        if (held?.at === k) held.y = passed;
      }
      if (held && held.at !== near) {
        set(sliders[held.at], held.y);
        held = null;
      }
      if (held || Math.sign(near / n - x) === forward) set(sliders[near], y);
      last = [x, y];
      drawn.push(last);
    }

    // A stroke over most of the axis means all of it: what it left open at its ends goes on level.
    function extend() {
      const n = sliders.length - 1, way = drawn.sort((a, b) => a[0] - b[0]);
      drawn = [];
      if (!way.length || way.at(-1)[0] - way[0][0] < MOST) return;
      sliders.forEach((slider, k) => {
        if (isSet(slider)) return;
        if (k / n < way[0][0]) set(slider, way[0][1]);
        if (k / n > way.at(-1)[0]) set(slider, way.at(-1)[1]);
      });
      showAll();
    }

    function follow(event) {
      const place = new DOMPoint(event.clientX, event.clientY)
        .matrixTransform(svg.getScreenCTM().inverse());
      const aimed = aim(place.x, place.y);
      if (data.kind === "curve") stroke(...aimed);
      else set(sliders[0], aimed[0]);
      showAll();
    }
    // A finger may be on its way down the page: it answers by a tap, by a move that begins sideways,
    // or on what keeps it, a ring or a curve that was drawn.
    let waits = null;
    const keeps = ({ target }) => target.closest(".waiting, .curve .mine");
    svg.addEventListener("touchstart", (event) => {
      if (keeps(event)) event.preventDefault(); // or the page scrolls
    }, { passive: false });
    svg.addEventListener("pointerdown", (event) => {
      if (controls.hidden) return;
      event.preventDefault(); // or the browser selects text
      svg.setPointerCapture(event.pointerId);
      last = null;
      drawn = [];
      waits = event.pointerType === "touch" && !keeps(event) ? event : null;
      if (!waits) follow(event);
    });
    for (const kind of ["pointermove", "pointerup"])
      svg.addEventListener(kind, (event) => {
        if (!svg.hasPointerCapture(event.pointerId)) return;
        if (waits) {
          const [x, y] = [event.clientX - waits.clientX, event.clientY - waits.clientY];
          if (kind === "pointermove" && Math.abs(x) <= Math.abs(y)) return;
          follow(waits);
          waits = null;
        }
        if (kind === "pointermove") follow(event);
        else extend();
      });

    part("truth").setAttribute("hidden", "");
    part("hint").removeAttribute("hidden");
    return { show, reveal };
  }

  // What nobody has set is not drawn, and nothing is compared before all is set.
  function showAll() {
    for (const { show } of views) show(values());
    const missing = sliders.filter((slider) => !isSet(slider)).length;
    compare.disabled = missing > 0;
    open.textContent = missing === sliders.length ? ""
      : missing ? `${missing} of ${sliders.length} points still to draw`
      : data.kind === "curve" ? "or draw once more over what is wrong" : "";
    sliders.filter(isSet).forEach((slider) => {
      const text = spoken(+slider.value);
      slider.setAttribute("aria-valuetext", text);
      slider.nextElementSibling.textContent = text;
    });
  }

  function revealAll() {
    const v = values(), far = off(v), miss = missed(v);
    const right = far <= data.within && !miss;
    const first = Object.assign(document.createElement("b"),
      { textContent: verdict(v, far, right, miss) });
    said.replaceChildren(first, ` ${data.says}`);
    root.classList.add(right ? "right" : "wrong");
    finish(v);
    return right;
  }

  // Shows the truth, beside an answer or alone, and takes no other.
  function finish(v) {
    root.classList.add("compared");
    for (const { reveal } of views) reveal(v);
    sliders.forEach((slider) => { slider.disabled = true; });
    controls.hidden = true;
  }

  const views = [...root.querySelectorAll("svg")].map(view);
  root.querySelector(".answer").replaceWith(said); // a fold for those without scripts
  said.dataset.says = said.textContent; // for paper
  said.textContent = "";
  controls.hidden = false;
  for (const slider of sliders) {
    slider.classList.add("unset");
    slider.value = WAITS;
    slider.setAttribute("aria-valuetext", "not set");
    for (const event of ["input", "click"]) // a click may agree with where it stands
      slider.addEventListener(event, () => {
        set(slider, slider.value);
        showAll();
      });
  }
  showAll();
  compare.addEventListener("click", () => {
    root.classList.add("fresh");
    const detail = { right: revealAll(), guess: values() };
    root.dispatchEvent(new CustomEvent("guess:compared", { bubbles: true, detail }));
  });
  root.addEventListener("guess:restore", ({ detail }) => {
    detail.forEach((value, k) => set(sliders[k], value));
    showAll();
    revealAll();
  });
  root.addEventListener("guess:show", () => {
    said.textContent = said.dataset.says;
    finish();
  });
}
