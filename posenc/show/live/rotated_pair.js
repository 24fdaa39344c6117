// One channel pair of a query and a key, turned by their positions: RoPE in the plane.
import { clamp, fixed, live, place, wrap } from "./runtime.js";
import { between, closer } from "./dials.js";

const degrees = (angle) => fixed((angle * 180) / Math.PI, 0);

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
    arrow({ at, grip, state, values: { turned }, data: { w } }) {
      grip.name ??= closer(at.angle, ...turned) ? "q" : "k";
      grip.off ??= wrap(at.angle - turned[grip.name === "q" ? 0 : 1]);
      const turn = (grip.name === "q" ? state.m : state.n) * w;
      return { [grip.name]: wrap(at.angle - grip.off - turn) };
    },
  },
  tips: {
    arrow: ({ at, values: { turned }, data: { lengths } }) => {
      const i = closer(at.angle, ...turned) ? 0 : 1;
      const [a, b] = [Math.cos(turned[i]), Math.sin(turned[i])].map((x) => fixed(lengths[i] * x, 2));
      return `${["query", "key"][i]}, turned: (${a}, ${b})`;
    },
  },
});
