// A query's and a key's hand on each clock: RoPE's score pair by pair, and what training saw.
import { TAU, fixed, live, place, range, sum } from "./runtime.js";
import { closer, turn } from "./dials.js";

const pairs = (x) => range(x.length / 2).map((i) => [x[2 * i], x[2 * i + 1]]);
const angle = ([a, b]) => Math.atan2(b, a); // clockwise from 12, first channel up
const length = ([a, b]) => Math.hypot(a, b);

function row({ d, n }, speeds, { query, key, width, top, most }) {
  const [q, k] = [pairs(query), pairs(key)];
  const part = speeds.map(
    (w, i) => length(q[i]) * length(k[i]) * Math.cos(angle(q[i]) - angle(k[i]) + d * w),
  );
  const apart = +place(d); // a turn is new at the distance that is told
  const isNew = speeds.map((w, i) => +((apart * w) % TAU > width[i] + 1e-9));
  return {
    q: speeds.map((w, i) => angle(q[i]) + (n + d) * w),
    k: speeds.map((w, i) => angle(k[i]) + n * w),
    ring: speeds.map((w, i) => angle(q[i]) + n * w),
    part,
    bar: part.map((x) => x / top),
    part_said: part.map((x) => fixed(x, 2)),
    new: isNew,
    news: sum(isNew),
    score: sum(part),
    score_said: fixed(sum(part), 2),
    sum: sum(part) / most,
  };
}

const news = (count) =>
  count
    ? `, with ${count} turn${count > 1 ? "s" : ""} that training has not seen.`
    : ", and training has seen every turn.";

// Pulls the hand that is nearer: the query's changes the distance, the key's the key's position.
function pull(r, { at, grip, index, state: { d, n }, data, values }) {
  const { q, k } = values.rows[r];
  grip.name ??= closer(at.angle, q[index], k[index]) ? "d" : "n";
  const given = { at, grip, index, data: { inv_freq: data.rows[r] } };
  return grip.name === "d" ? { d: turn(d, given) } : { n: turn(n, given) };
}

const point = (r, { index, values: { rows } }) =>
  `pair ${index} adds ${rows[r].part_said[index]}` +
  (rows[r].new[index] ? "\nat a turn that training has not seen" : "");

export default live({
  values: (state, data) => ({
    rows: data.rows.map((speeds) => row(state, speeds, data)),
    d_said: place(state.d),
    n_said: place(state.n),
    m_said: place(state.n + state.d),
  }),
  describe(_, { rows: [first, ...others], d_said, n_said, m_said }, { trained }) {
    const said =
      `Query at ${m_said}, key at ${n_said}, distance ${d_said}: ` +
      `the score is ${first.score_said}`;
    if (trained === null) return `${said}.`;
    const more = others.map((row) => ` Stretched: ${row.score_said}${news(row.news)}`);
    return said + news(first.news) + more.join("");
  },
  drags: { hand0: (given) => pull(0, given), hand1: (given) => pull(1, given) },
  tips: { hand0: (given) => point(0, given), hand1: (given) => point(1, given) },
});
