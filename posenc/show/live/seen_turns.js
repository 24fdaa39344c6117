// How much of its turn each pair has shown in training, and what a larger base does to it.
import { TAU, clamp, grouped, live, nearest, range } from "./runtime.js";

const around = (pair, log_base, pairs) => TAU * 10 ** ((log_base * pair) / pairs);

// Where the name of a line stands: above it at the left, or below it nearer the middle.
function named(line, above, { low, high }) {
  const wanted = line.length * (above ? 0.06 : 0.42);
  const inside = line.filter(([, y]) => low + 0.5 < y && y < high - 0.5);
  const [x, y] = (inside.length ? inside : line).reduce((a, b) =>
    (Math.abs(b[0] - wanted) < Math.abs(a[0] - wanted) ? b : a));
  return { x, y, above: +above };
}

export default live({
  values({ log_base, trained, length }, data) {
    const { pairs, low, high } = data;
    const [before, now] = [nearest(2 ** trained), nearest(2 ** length)];
    const points = (tokens) =>
      range(pairs).map((i) => [i, Math.log10(tokens / around(i, log_base, pairs))]);
    const [seen, longer] = [points(before), points(now)];
    const partly = range(pairs).filter((i) => before < around(i, log_base, pairs)).length;
    const there = range(pairs).filter((i) => {
      const turn = around(i, log_base, pairs);
      return before < turn && (now / turn) % 1 > (before - 1) / turn + 1e-9;
    }).length;
    const middle = Math.floor(pairs / 2);
    return {
      seen,
      now: longer,
      partly,
      split: pairs - partly - 0.5,
      new: now > before ? partly : 0,
      there,
      middle,
      seen_at: clamp(seen[middle][1], low, high),
      now_at: clamp(longer[middle][1], low, high),
      seen_name: named(seen, now < before, data),
      now_name: named(longer, now >= before, data),
      slowest_said: grouped(nearest(around(pairs - 1, log_base, pairs))),
      base_said: grouped(nearest(10 ** log_base)),
      trained_said: grouped(before),
      length_said: grouped(now),
    };
  },
  describe(_, v, { pairs }) {
    const said =
      `Base ${v.base_said}, trained on ${v.trained_said} tokens: ${v.partly} of ${pairs} pairs have ` +
      `not made a full turn; the slowest needs ${v.slowest_said} tokens. `;
    if (!v.new) return said + `A text of ${v.length_said} shows no new angle.`;
    return said + `In a text of ${v.length_said} these ${v.new} meet new angles on the way; at ` +
      `${v.length_said} itself ${v.there} of them point where training never did.`;
  },
  drags: {
    seen: ({ at, state, data: { pairs } }) => ({ trained: tokens(at.y, state, pairs) }),
    now: ({ at, state, data: { pairs } }) => ({ length: tokens(at.y, state, pairs) }),
  },
  tips: {
    pair({ at, state, data: { pairs } }) {
      const i = clamp(nearest(at.x), 0, pairs - 1);
      return `pair ${i}: a turn in ${grouped(nearest(around(i, state.log_base, pairs)))} tokens`;
    },
  },
});

// The text, as a power of two, in which the middle pair makes 10^y turns.
const tokens = (y, { log_base }, pairs) =>
  Math.log2(10 ** y * around(Math.floor(pairs / 2), log_base, pairs));
