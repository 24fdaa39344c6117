// Counting, digits, digits without jumps, hands: four ways to write one position.
import { fixed, live, near, place } from "./runtime.js";
import { turn } from "./dials.js";

const digit = (p, k, base) => Math.floor((p + 0.5) / base ** k) % base;
const hand = (p, w) => (p + 0.5) * w + Math.PI; // from 6 o'clock
const smooth = (p, w, base) => ((base - 1) * (1 + Math.sin(hand(p, w)))) / 2;

export default live({
  values({ p }, { inv_freq, words, base }) {
    const found = inv_freq.map((_, k) => digit(p, k, base));
    return {
      hand: inv_freq.map((w) => hand(p, w)),
      at: p,
      digit: found,
      digit_said: found.map(String),
      smooth: inv_freq.map((w) => smooth(p, w, base)),
      near_p: words.map((_, i) => near(p, i)),
      p_said: place(p),
    };
  },
  describe(_, v, { base }) {
    return (
      `Position ${v.p_said} has the digits ${v.digit_said.join(" ")} in base ${base}, ` +
      "fastest first. The hands, which do not jump, say " +
      `${v.smooth.map((s) => fixed(s, 2)).join(", ")}, from 0 (far left) to ${base - 1} (far right).`
    );
  },
  drags: {
    hand: (given) => ({ p: turn(given.state.p, given) }),
    place: ({ at }) => ({ p: at.x }),
  },
  goes: { word: ({ index }) => ({ p: index }) },
  tips: {
    hand: ({ index, state: { p }, data: { inv_freq } }) =>
      `wheel ${index}: ${fixed((hand(p, inv_freq[index]) * 180) / Math.PI, 0)}° from 12`,
    place({ at: { x }, index, data: { inv_freq, base } }) {
      const [jumps, turns] = [digit(x, index, base), smooth(x, inv_freq[index], base)];
      return [`at ${place(x)}: digit ${jumps}, without jumps ${fixed(turns, 2)}`, [x, turns], [x, jumps]];
    },
  },
});
