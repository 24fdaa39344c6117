// Two positions on the clocks, in the table and on the curve: only their distance counts.
import { clamp, fixed, live, near, place, sum, wrap } from "./runtime.js";
import { between, closer, turn } from "./dials.js";

const dot = (distance, inv_freq) => sum(inv_freq.map((w) => Math.cos(w * distance))) / inv_freq.length;

export default live({
  values({ p, q }, { inv_freq, words }) {
    const cos = inv_freq.map((w) => Math.cos(w * q - w * p));
    const mean = sum(cos) / cos.length;
    return {
      p: inv_freq.map((w) => p * w),
      q: inv_freq.map((w) => q * w),
      from: inv_freq.map((w) => between(p * w, q * w).from),
      arc: inv_freq.map((w) => between(p * w, q * w).arc),
      cos,
      cos_said: cos.map((c) => fixed(c, 2)),
      near_p: words.map((_, i) => near(p, i)),
      near_q: words.map((_, i) => near(q, i)),
      row_p: words.length - 1 - p,
      row_q: words.length - 1 - q,
      distance: q - p,
      mean,
      mean_said: fixed(mean, 2),
      p_said: place(p),
      q_said: place(q),
    };
  },
  describe(_, v, { inv_freq }) {
    return (
      `Positions ${v.p_said} and ${v.q_said}: a distance of ${place(v.distance)}. ` +
      `The mean of the ${inv_freq.length} cosines is ${v.mean_said}.`
    );
  },
  // Tied together, the two keep their distance and stay within the sentence.
  settle(next, before, { words }) {
    if (!next.together || !before.together) return next;
    const moved = next.p !== before.p ? next.p - before.p : next.q - before.q;
    const low = -Math.min(before.p, before.q);
    const high = words.length - 1 - Math.max(before.p, before.q);
    const by = clamp(moved, low, high);
    return { ...next, p: before.p + by, q: before.q + by };
  },
  drags: {
    hand({ at, grip, index, state, data }) {
      const w = data.inv_freq[index];
      grip.name ??= closer(at.angle, state.p * w, state.q * w) ? "p" : "q";
      return { [grip.name]: turn(state[grip.name], { at, grip, index, data }) };
    },
    row({ at, grip, state, data }) {
      const row = data.words.length - at.y - 0.5;
      grip.name ??= Math.abs(row - state.p) <= Math.abs(row - state.q) ? "p" : "q";
      return { [grip.name]: row };
    },
    distance: ({ at, state, data: { words } }) =>
      state.together ? {} : atDistance(clamp(at.x, 1 - words.length, words.length - 1), state, words.length - 1),
  },
  goes: {
    word: ({ index, state: { p, q } }) =>
      Math.abs(index - p) <= Math.abs(index - q) ? { p: index } : { q: index },
  },
  tips: {
    hand: ({ index, values: { cos_said }, state: { p, q }, data: { inv_freq } }) =>
      `pair ${index}: ${fixed((Math.abs(wrap((q - p) * inv_freq[index])) * 180) / Math.PI, 0)}° between ` +
      `its hands,\ncosine ${cos_said[index]}`,
    cell({ at, data: { words, table } }) {
      const row = clamp(Math.floor(words.length - at.y), 0, words.length - 1);
      const channel = clamp(Math.floor(at.x), 0, table[0].length - 1);
      return `${words[row]}, position ${row}, channel ${channel}: ${fixed(table[row][channel], 2)}`;
    },
    curve({ at: { x }, data: { inv_freq } }) {
      const mean = dot(x, inv_freq);
      return [`distance ${place(x)}: mean cosine ${fixed(mean, 2)}`, [x, mean]];
    },
  },
});

// The second position goes where the distance asks for; the first gives way at the sentence's ends.
function atDistance(distance, { p }, last) {
  const q = clamp(p + distance, 0, last);
  return { p: clamp(q - distance, 0, last), q };
}
