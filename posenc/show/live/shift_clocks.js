// The same step from every position: two hands on each clock, and the matrix between them.
import { clamp, fixed, live, place, range } from "./runtime.js";
import { between, closer, turn } from "./dials.js";

// An entry of the matrix: a turn in each clock's block, 0 outside.
function entry(row, column, k, inv_freq) {
  if (row >> 1 !== column >> 1) return 0;
  const by = k * inv_freq[row >> 1];
  if (row === column) return Math.cos(by);
  return row < column ? -Math.sin(by) : Math.sin(by);
}

export default live({
  values({ position: p, offset: k }, { inv_freq }) {
    const dim = 2 * inv_freq.length;
    const arcs = inv_freq.map((w) => between(p * w, (p + k) * w));
    return {
      p: inv_freq.map((w) => p * w),
      q: inv_freq.map((w) => (p + k) * w),
      from: arcs.map(({ from }) => from),
      arc: arcs.map(({ arc }) => arc),
      turn_said: inv_freq.map((w) => fixed((k * w * 180) / Math.PI, 0)),
      cell: range(dim * dim).map((n) => entry(Math.floor(n / dim), n % dim, k, inv_freq)),
      p_said: place(p),
      k_said: place(k),
      moved_said: place(p + k),
    };
  },
  describe(_, { turn_said, p_said, k_said, moved_said }) {
    const turns = turn_said.map((turn) => `${turn}°`), last = turns.pop();
    const by = turns.length ? `${turns.join(", ")} and ${last}` : last;
    return `From ${p_said} to ${moved_said}: the hands turn on by ${by}, as from every p to p + ${k_said}.`;
  },
  // Pulls the hand that is nearer: the one at p changes the position, the other the offset.
  drags: {
    hand({ at, grip, index, state: { position, offset }, data, values: { p, q } }) {
      grip.name ??= closer(at.angle, p[index], q[index]) ? "position" : "offset";
      const from = grip.name === "position" ? position : offset;
      return { [grip.name]: turn(from, { at, grip, index, data }) };
    },
  },
  tips: {
    hand: ({ index, values: { turn_said, k_said } }) =>
      `clock ${index} turns by ${turn_said[index]}°\nin ${k_said} positions`,
    cell({ at, values: { cell }, data: { inv_freq } }) {
      const dim = 2 * inv_freq.length, inside = (x) => clamp(Math.floor(x), 0, dim - 1);
      const [row, column] = [inside(dim - at.y), inside(at.x)];
      return `channel ${column} at p + k takes ${fixed(cell[row * dim + column], 2)}\nof channel ${row} at p`;
    },
  },
});
