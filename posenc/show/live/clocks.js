// Words and a row of clocks: where a word stands is what the clocks show.
import { fixed, live, near, nearest, place, quoted, TAU } from "./runtime.js";
import { turn } from "./dials.js";

const period = (words) => fixed(words, words < 10 ? 1 : 0);

export default live({
  values({ p }, { inv_freq, words, links }) {
    const here = words[nearest(p)];
    return {
      hand: inv_freq.map((w) => p * w),
      near_p: words.map((_, i) => near(p, i)),
      same: words.map((word) => +(word === here)),
      link: links.map(([i]) => +(words[i] === here)),
      at: place(p),
    };
  },
  describe({ p }, { at }, { words }) {
    const here = nearest(p);
    const others = [...words.keys()].filter((i) => i !== here && words[i] === words[here]);
    if (at.includes(".")) {
      const two = [0, 1].map((step) => quoted(words[Math.floor(p) + step]));
      const said = `Position ${at}, between ${two.join(" and ")}.`;
      return others.length ? `${said} Dashed: ${quoted(words[here])} elsewhere.` : said;
    }
    const said = `Position ${at}: ${quoted(words[here])}. `;
    if (!others.length) return said + "No other word is the same.";
    return said + `The same word stands at ${others.join(", ")}: dashed hands.`;
  },
  drags: { hand: (given) => ({ p: turn(given.state.p, given) }) },
  goes: { word: ({ index }) => ({ p: index }) },
  tips: {
    hand: ({ index, state: { p }, data: { inv_freq } }) =>
      `pair ${index}: ${fixed((p * inv_freq[index] * 180) / Math.PI, 0)}° from 12\n` +
      `once round in ${period(TAU / inv_freq[index])} words`,
  },
});
