// ALiBi's slopes as prices of distance, and how far the attention then goes in a long text.
import { fixed, grouped, live, nearest, place } from "./runtime.js";

const whole = (at) => Math.max(1, nearest(2 ** at));
const percent = (share) => `${fixed(100 * share, 2)}%`;

// The head whose price at a distance is nearest to a height.
function headAt(n, height, slopes) {
  const far = slopes.map((slope) => Math.abs(-slope * n - height));
  return far.indexOf(Math.min(...far));
}

export default live({
  values({ head, at }, { slopes, drawn, top }) {
    const [here, n] = [nearest(head), whole(at)];
    const slope = slopes[here];
    const share = Math.exp(-slope * n); // of the key n back and all farther ones
    return {
      head: here,
      prices: drawn.map((n) => [Math.log2(n), -slope * n]),
      shares: drawn.map((n) => [Math.log2(n), Math.exp(-slope * n)]),
      x: Math.log2(n),
      price: Math.max(-slope * n, top),
      price_said: slope * n < 100 ? fixed(-slope * n, 2) : grouped(fixed(-slope * n, 0)),
      weight_said: percent((1 - Math.exp(-slope)) * share),
      share,
      share_said: percent(share),
      head_said: `${here}, slope 1/${place(1 / slope)}`,
      distance_said: grouped(n),
    };
  },
  describe(_, { head_said, distance_said: n, price_said, weight_said, share_said }) {
    return (
      `Head ${head_said}: a key ${n} back pays ${price_said} and gets ${weight_said} of the ` +
      `attention in a long text. All keys ${n} or more back together get ${share_said}.`
    );
  },
  drags: {
    // Pulling takes the head whose curve is nearest. Near the top, where all meet, it stays.
    price({ at, data: { slopes } }) {
      return at.y > -0.5 ? { at: at.x } : { at: at.x, head: headAt(2 ** at.x, at.y, slopes) };
    },
    share: ({ at }) => ({ at: at.x }),
  },
  tips: {
    price({ at, data: { slopes } }) {
      const n = whole(at.x), head = headAt(n, at.y, slopes);
      return [`head ${head}, ${n} back: ${fixed(-slopes[head] * n, 2)}`, [Math.log2(n), -slopes[head] * n]];
    },
    share({ at, state, data: { slopes } }) {
      const n = whole(at.x), share = Math.exp(-slopes[nearest(state.head)] * n);
      return [`${n} or more back: ${percent(share)}`, [Math.log2(n), share]];
    },
  },
});
