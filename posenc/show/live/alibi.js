// ALiBi's slopes as prices of distance, and the attention that they leave.
import { clamp, fixed, live, nearest, place, range, sum } from "./runtime.js";

export default live({
  values({ head, j }, { slopes, tokens, top }) {
    const [here, back] = [nearest(head), nearest(j)];
    const slope = slopes[here];
    const raw = range(tokens).map((i) => Math.exp(-slope * i));
    const whole = sum(raw);
    const weight = raw[back] / whole;
    return {
      head: here,
      penalty: [[0, 0], [tokens - 1, -slope * (tokens - 1)]],
      weights: raw.map((w, i) => [i, w / whole]),
      j: back,
      price: Math.max(-slope * back, top),
      price_said: fixed(-slope * back, 2),
      weight,
      weight_said: `${fixed(100 * weight, 1)}%`,
      share: sum(raw.slice(0, back + 1)) / whole,
      head_said: `${here}, slope ${fixed(slope, 4)}`,
      j_said: place(back),
    };
  },
  describe(_, v) {
    return (
      `Head ${v.head_said}: a key ${v.j_said} back pays ${v.price_said} and gets ${v.weight_said} of ` +
      `the attention; it and all nearer keys get ${fixed(100 * v.share, 0)}%.`
    );
  },
  drags: {
    // Pulling up or down takes the head whose line is nearest.
    price({ at, data: { slopes } }) {
      const far = slopes.map((slope) => Math.abs(-slope * at.x - at.y));
      return at.x < 1 ? { j: at.x } : { j: at.x, head: far.indexOf(Math.min(...far)) };
    },
    weight: ({ at }) => ({ j: at.x }),
  },
  tips: {
    price: ({ at, data: { slopes, tokens } }) => {
      const j = clamp(nearest(at.x), 0, tokens - 1);
      const far = slopes.map((slope) => Math.abs(-slope * j - at.y));
      const head = far.indexOf(Math.min(...far));
      return `head ${head}, ${j} back: ${fixed(-slopes[head] * j, 2)}`;
    },
    weight: ({ at, values: { weights } }) => {
      const j = clamp(nearest(at.x), 0, weights.length - 1);
      return `${j} back: ${fixed(100 * weights[j][1], 1)}%`;
    },
  },
});
