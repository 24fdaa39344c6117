// The table of encodings as a heat map: channels, base and length to choose.
import { paint } from "./heat.js";
import { TAU, clamp, fixed, grouped, live, nearest, range } from "./runtime.js";

const FINE = 4; // points of the curve from one position to the next
const size = ({ pairs, length }) => [2 * nearest(pairs), nearest(length)];
const speed = (channel, { pairs, log_base }) =>
  10 ** ((-log_base * Math.floor(channel / 2)) / nearest(pairs));
const entry = (p, channel, state) =>
  (channel % 2 ? Math.cos : Math.sin)(p * speed(channel, state));

// The row and the channel that a point of the picture is in.
function cell({ x, y }, state) {
  const [channels, count] = size(state);
  const c = clamp(Math.floor(x * channels), 0, channels - 1);
  return { r: clamp(Math.floor((1 - y) * count), 0, count - 1), c };
}

export default live({
  values(state) {
    const [channels, count] = size(state);
    const r = clamp(nearest(state.r), 0, count - 1);
    const c = clamp(nearest(state.c), 0, channels - 1);
    return {
      row: range(channels).map((channel) => entry(r, channel, state)),
      column: range(count).map((p) => [entry(p, c, state), 1 - (p + 0.5) / count]),
      wave: range(FINE * (count - 1) + 1)
        .map((n) => n / FINE)
        .map((p) => [entry(p, c, state), 1 - (p + 0.5) / count]),
      x: (c + 0.5) / channels,
      y: 1 - (r + 0.5) / count,
      width: 1 / channels,
      height: 1 / count,
      left: c / channels,
      below: 1 - (r + 1) / count,
      value: entry(r, c, state),
      value_said: fixed(entry(r, c, state), 2),
      r_said: String(r),
      c_said: String(c),
      wave_said: fixed(TAU / speed(c, state), 0),
      kind: c % 2 ? "cosine" : "sine",
      pair: Math.floor(c / 2),
      dim_said: String(channels),
      base_said: grouped(nearest(10 ** state.log_base)),
      length_said: String(count),
      last_row: String(count - 1),
      last_channel: String(channels - 1),
    };
  },
  describe(_, v) {
    return (
      `${v.length_said} positions, ${v.dim_said} channels, base ${v.base_said}. Position ${v.r_said}, ` +
      `channel ${v.c_said}, the ${v.kind} of pair ${v.pair}: ${v.value_said}. Its wave is ` +
      `${v.wave_said} positions long.`
    );
  },
  paint(canvas, colours, state) {
    const [channels, count] = size(state), wave = (c) => (c % 2 ? Math.cos : Math.sin);
    const speeds = range(channels).map((c) => speed(c, state));
    paint(canvas, colours, count, channels, (p, c) => wave(c)(p * speeds[c]));
  },
  drags: {
    cell: ({ at, state }) => cell(at, state),
    wave: ({ at, state }) => ({ r: cell({ x: 0, y: at.y }, state).r }),
  },
  tips: {
    cell({ at, state }) {
      const { r, c } = cell(at, state);
      return `position ${r}, channel ${c}: ${fixed(entry(r, c, state), 2)}`;
    },
    wave({ at, state, values }) {
      const { r } = cell({ x: 0, y: at.y }, state);
      return [`position ${r}: ${fixed(values.column[r][0], 2)}`, values.column[r]];
    },
  },
});
