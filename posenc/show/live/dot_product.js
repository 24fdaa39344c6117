// The dot product of two encodings over their distance: it falls, and comes back.
import { fixed, grouped, live, nearest, place, range, sum } from "./runtime.js";

const speeds = ({ pairs, log_base }) =>
  range(nearest(pairs)).map((i) => 10 ** ((-log_base * i) / nearest(pairs)));
const mean = (k, w) => sum(w.map((speed) => Math.cos(k * speed))) / w.length;

export default live({
  values(state, { longest }) {
    const w = speeds(state);
    const curve = range(4 * longest + 1).map((i) => [i / 4, mean(i / 4, w)]);
    const height = mean(state.k, w);
    const rise = range(longest).find((k) => curve[4 * k + 4][1] > curve[4 * k][1]);
    return {
      curve,
      distance: state.k,
      height,
      height_said: fixed(height, 2),
      rise: rise ?? longest,
      k_said: place(state.k),
      dim_said: String(2 * w.length),
      base_said: grouped(nearest(10 ** state.log_base)),
    };
  },
  describe(_, v, { longest }) {
    const said =
      `${v.dim_said} channels, base ${v.base_said}: at distance ${v.k_said} the dot product is ` +
      `${v.height_said} of its value at 0. `;
    if (v.rise === longest) return said + `It falls all the way to distance ${longest}.`;
    return said + `It falls up to distance ${v.rise}, and rises there.`;
  },
  drags: { distance: ({ at }) => ({ k: at.x }) },
  tips: {
    curve({ at: { x }, state }) {
      const height = mean(x, speeds(state));
      return [`distance ${place(x)}: ${fixed(height, 3)}`, [x, height]];
    },
  },
});
