// How alike the rows of a table become while it is trained.
import { paint } from "./heat.js";
import { clamp, fixed, grouped, live, nearest, range, sum } from "./runtime.js";

// The cosine of two rows. Rows a and b are as alike as b and a: each pair is kept once.
function cosines({ seed, step }, { n, maps }) {
  const map = maps[+seed][nearest(step)];
  return (a, b) => {
    const [low, high] = a < b ? [a, b] : [b, a];
    return map[low * n - (low * (low - 1)) / 2 + high - low] / 100;
  };
}

const within = (x, n) => clamp(nearest(x), 0, n - 1);

export default live({
  values(state, data) {
    const { n, every, maps } = data, like = cosines(state, data);
    const [step, r, c] = [state.step, state.r, state.c].map(nearest);
    const beside = range(n - 1).map((i) => like(i, i + 1));
    const worst = beside.indexOf(Math.min(...beside));
    return {
      on: maps[0].map((_, i) => +(i === step)),
      curve: range(n).map((i) => [i, like(r, i)]),
      r,
      c,
      down: n - 1 - r,
      value: like(r, c),
      value_said: fixed(like(r, c), 2),
      mean_said: fixed(sum(beside) / (n - 1), 2),
      least_said: fixed(beside[worst], 2),
      worst,
      step_said: grouped(every * step),
      r_said: String(r),
      c_said: String(c),
    };
  },
  describe({ seed }, v) {
    return (
      `Step ${v.step_said}, seed ${seed}: rows ${v.r} and ${v.c} have a cosine of ${v.value_said}. ` +
      `Neighbours: ${v.mean_said} in the mean, at worst ${v.least_said} (rows ${v.worst} and ${v.worst + 1}).`
    );
  },
  paint(canvas, colours, state, data) {
    const step = canvas.dataset.step ?? state.step; // the small ones stay at theirs
    paint(canvas, colours, data.n, data.n, cosines({ ...state, step: +step }, data));
  },
  settle: (next) => ({ ...next, step: nearest(next.step) }),
  goes: { step: ({ index }) => ({ step: index }) },
  drags: {
    cell: ({ at: { x, y }, data: { n } }) => ({ r: within(n - 1 - y, n), c: within(x, n) }),
    row: ({ at: { x }, data: { n } }) => ({ c: within(x, n) }),
  },
  tips: {
    cell({ at: { x, y }, state, data }) {
      const [r, c] = [within(data.n - 1 - y, data.n), within(x, data.n)];
      return `rows ${r} and ${c}: ${fixed(cosines(state, data)(r, c), 2)}`;
    },
    row({ at: { x }, values: { r, curve }, data }) {
      const c = within(x, data.n);
      return [`rows ${r} and ${c}: ${fixed(curve[c][1], 2)}`, curve[c]];
    },
  },
});
