// Drawings that Python has made, one for each state of the controls; see `explore`.
import { live, nearest, range } from "./runtime.js";

const index = (value) => nearest(Number(value)); // of a slider, a list or a box

export default live({
  values(state, { names, words, lines, frames }) {
    const at = names.map((name) => index(state[name]));
    const frame = at.reduce((found, i, n) => found * words[n].length + i, 0);
    const [wide, phone] = frames[frame].map((parts) => parts.map((i) => lines[i]).join("\n"));
    const said = range(names.length).map((n) => [`${names[n]}_said`, words[n][at[n]]]);
    return { frame, wide, phone, ...Object.fromEntries(said) };
  },
  describe: (state, { frame }, { texts }) => texts[frame],
});
