// One channel pair of a query and a key, turned by their positions: RoPE in the plane.
import { clamp, fixed, live, place, wrap } from "./runtime.js";
import { between, turn } from "./dials.js";

const degrees = (angle) => fixed((angle * 180) / Math.PI, 0);

// The arrow that is meant: what it moves, and where it points. Where two lie on each other, it is
// the turned one.
const meant = ({ angle }, { turned, rest }) => {
  const far = ([, other]) => Math.abs(wrap(angle - other));
  return [["m", turned[0]], ["n", turned[1]], ["q", rest[0]], ["k", rest[1]]]
    .reduce((found, arrow) => (far(arrow) < far(found) ? arrow : found));
};

export default live({
  values({ m, n, q, k }, { w, lengths }) {
    const turned = [q + m * w, k + n * w];
    const score = lengths[0] * lengths[1] * Math.cos(turned[1] - turned[0]);
    const { from, arc } = between(...turned);
    return {
      rest: [q, k],
      turned,
      from,
      arc,
      turn_q: m * w,
      turn_k: n * w,
      score,
      score_said: fixed(score, 2),
      between_said: degrees(arc),
      m_said: place(m),
      n_said: place(n),
      q_said: `${degrees(q)}°`,
      k_said: `${degrees(k)}°`,
    };
  },
  describe(_, v) {
    return (
      `Query at ${v.m_said}, key at ${v.n_said}: the turned arrows are ${v.between_said}° apart, ` +
      `and the score is ${v.score_said}.`
    );
  },
  // Tied together, the two positions keep their distance.
  settle(next, before, { last }) {
    if (!next.together || !before.together) return next;
    const moved = next.m !== before.m ? next.m - before.m : next.n - before.n;
    const by = clamp(moved, -Math.min(before.m, before.n), last - Math.max(before.m, before.n));
    return { ...next, m: before.m + by, n: before.n + by };
  },
  drags: {
    // A turned arrow is pulled along its turn, by its position, and a faint one by its own angle.
    arrow({ at, grip, state, values, data: { w } }) {
      grip.name ??= meant(at, values)[0];
      const turns = "mn".includes(grip.name);
      grip.now = turn(grip.now ?? state[grip.name], { at, grip, index: 0, data: { inv_freq: [turns ? w : 1] } });
      return { [grip.name]: turns ? grip.now : wrap(grip.now) };
    },
  },
  tips: {
    arrow: ({ at, values, data: { lengths } }) => {
      const [name, angle] = meant(at, values);
      const i = "mq".includes(name) ? 0 : 1;
      const [a, b] = [Math.cos(angle), Math.sin(angle)].map((x) => fixed(lengths[i] * x, 2));
      return `${["query", "key"][i]}${"mn".includes(name) ? ", turned" : ""}: (${a}, ${b})`;
    },
  },
});
