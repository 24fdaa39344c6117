// How much of its turn each pair has shown in training, and what a larger base does to it.
import { TAU, clamp, grouped, live, nearest, range } from "./runtime.js";

const around = (pair, log_base, pairs) => TAU * 10 ** ((log_base * pair) / pairs);

// Where the name of a line stands: above it at the left, or below it nearer the middle. The line of
// one turn does not go through it.
function named(line, above, { low, high, tall }) {
  const wanted = line.length * (above ? 0.06 : 0.42);
  const [foot, head] = above ? [-tall, 0] : [0, tall];
  const inside = line.filter(([, y]) =>
    low + 0.5 < y && y < high - 0.5 && !(foot < y && y < head));
  const [x, y] = (inside.length ? inside : line).reduce((a, b) =>
    (Math.abs(b[0] - wanted) < Math.abs(a[0] - wanted) ? b : a));
  return { x, y, above: +above };
}

// Left, right, foot and head of a name.
function box({ x, y, above }, share, { pairs, tall }) {
  const wide = share * (pairs - 1), left = above ? x : x - wide, foot = above ? y : y - tall;
  return [left, left + wide, foot, foot + tall];
}

// Where the line of one turn is named: at an end, above or below, where the room is.
function oneTurn(lines, names, data) {
  const crowd = ({ x, right, above }) => {
    const wide = data.wide.one * (data.pairs - 1);
    const [from, to] = right ? [x - wide, x] : [x, x + wide];
    const [foot, head] = above ? [0, data.tall] : [-data.tall, 0];
    const covered = names.filter((n) => from < n[1] && n[0] < to && foot < n[3] && n[2] < head);
    const struck = lines.filter((line) =>
      line.some(([i, y]) => from <= i && i <= to && foot < y && y < head));
    return 10 * covered.length + struck.length;
  };
  const places = [1, 0].flatMap((above) =>
    [{ x: 0, right: 0, above }, { x: data.pairs - 1, right: 1, above }]);
  return places.reduce((best, place) => (crowd(place) < crowd(best) ? place : best));
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
    const [seen_name, now_name] =
      [named(seen, now < before, data), named(longer, now >= before, data)];
    const names = [box(seen_name, data.wide.seen, data), box(now_name, data.wide.now, data)];
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
      seen_name,
      now_name,
      one: oneTurn([seen, longer], names, data),
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
    pair({ at, state, values: { seen, now }, data: { pairs, low, high } }) {
      const i = clamp(nearest(at.x), 0, pairs - 1);
      const said = `pair ${i}: a turn in ${grouped(nearest(around(i, state.log_base, pairs)))} tokens`;
      return [said, ...[seen[i], now[i]].filter(([, y]) => low <= y && y <= high)];
    },
  },
});

// The text, as a power of two, in which the middle pair makes 10^y turns.
const tokens = (y, { log_base }, pairs) =>
  Math.log2(10 ** y * around(Math.floor(pairs / 2), log_base, pairs));
