// Key minus query for all pairs of words: what is equal lies on a diagonal.
import { clamp, fixed, live, nearest, quoted, range } from "./runtime.js";

const cell = ({ x, y }, { words: { length } }) => ({
  i: clamp(Math.floor(length - y), 0, length - 1),
  j: clamp(Math.floor(x), 0, length - 1),
});

export default live({
  values(state, { words }) {
    const [i, j, c] = [state.i, state.j, state.clip].map(nearest);
    const clipped = range(words.length ** 2).map((n) =>
      clamp((n % words.length) - Math.floor(n / words.length), -c, c),
    );
    const here = clipped[i * words.length + j];
    const same = range(words.length ** 2).filter((n) => clipped[n] === here);
    const corner = (n) => [n % words.length, words.length - 1 - Math.floor(n / words.length)];
    return {
      cell: clipped.map((relative) => (0.6 * relative) / (words.length - 1)),
      said_of: clipped.map((relative) => fixed(relative, 0)),
      frames: same.map((n) => `M${corner(n).join(" ")}h1v1h-1z`).join(""),
      row: words.length - 1 - i,
      column: j,
      i_on: words.map((_, n) => +(n === i)),
      j_on: words.map((_, n) => +(n === j)),
      relative: here,
      relative_said: fixed(here, 0),
      true_said: fixed(j - i, 0),
      count: same.length,
      kinds: new Set(clipped).size,
      query: words[i],
      key: words[j],
      i_said: String(i),
      j_said: String(j),
      clip_said: String(c),
    };
  },
  describe(_, v) {
    const told = v.relative_said === v.true_said ? "" : `, told as ${v.relative_said}`;
    return (
      `From ${quoted(v.query)} at ${v.i_said} to ${quoted(v.key)} at ${v.j_said}: ` +
      `${v.true_said}${told}, as in ${v.count} cells. There are ${v.kinds} different relative positions.`
    );
  },
  drags: { cell: ({ at, data }) => cell(at, data) },
  tips: {
    cell({ at, data }) {
      const { i, j } = cell(at, data);
      return `from ${quoted(data.words[i])} at ${i} to ${quoted(data.words[j])} at ${j}: ${fixed(j - i, 0)}`;
    },
  },
});
