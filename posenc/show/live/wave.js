// A turning hand and the waves that it draws: one height is not a place, two are.
import { TAU, fixed, live, near, place, range, wrap } from "./runtime.js";

// The place of the same sine that is nearest to p, if there is one in the sentence.
function twin(p, w, last) {
  const first = Math.PI / w - p; // sin(w (pi/w - p)) = sin(w p)
  let best = null;
  for (let other = first + Math.ceil((-first * w) / TAU) * (TAU / w); other <= last; other += TAU / w)
    if (Math.abs(other - p) > 0.05 && (best === null || Math.abs(other - p) < Math.abs(best - p)))
      best = other;
  return best;
}

export default live({
  values({ p, w }, { words, steps }) {
    const last = words.length - 1;
    const x = range(steps + 1).map((i) => (last * i) / steps);
    const other = twin(p, w, last);
    const sin = Math.sin(p * w);
    return {
      hand: p * w,
      sines: x.map((at) => [at, Math.sin(at * w)]),
      cosines: x.map((at) => [at, Math.cos(at * w)]),
      at: p,
      sin,
      cos: Math.cos(p * w),
      dots: words.map((_, i) => Math.sin(i * w)),
      twin: other ?? p,
      has_twin: +(other !== null),
      level: [[0, sin], [last, sin]],
      near_p: words.map((_, i) => near(p, i)),
      p_said: place(p),
      w_said: fixed(w, 2),
    };
  },
  describe(_, v) {
    const said = `Position ${v.p_said}: sine ${fixed(v.sin, 2)}, cosine ${fixed(v.cos, 2)}. `;
    if (!v.has_twin) return said + "No other place of this turn has that sine here.";
    return said + `At ${fixed(v.twin, 1)} the sine is the same, and the cosine ${fixed(-v.cos, 2)}.`;
  },
  drags: {
    hand({ at, grip, state: { p, w } }) {
      const moved = wrap(at.angle - (grip.angle ?? at.angle));
      grip.angle = at.angle;
      return { p: p + moved / w };
    },
    wave: ({ at }) => ({ p: at.x }),
  },
  goes: { word: ({ index }) => ({ p: index }) },
  tips: {
    hand: ({ state: { p, w } }) => `${fixed((p * w * 180) / Math.PI, 0)}° from 12`,
    wave({ at: { x }, state: { w } }) {
      const [sine, cosine] = [Math.sin(x * w), Math.cos(x * w)];
      return [`at ${place(x)}: sine ${fixed(sine, 2)}, cosine ${fixed(cosine, 2)}`, [x, sine], [x, cosine]];
    },
  },
});
