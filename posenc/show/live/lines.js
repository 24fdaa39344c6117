// Named lines over one axis: point at one for its name and value.
import { clamp, fixed, grouped, live, nearest, place } from "./runtime.js";

// The place that is meant by x, brought within a line, and what stands there.
function placeNear(x, { x: axis, log, whole, measured }, row) {
  let spot = clamp(x, axis[0], axis[row.length - 1]);
  if (measured)
    spot = axis.reduce((a, b) => (Math.abs(b - spot) < Math.abs(a - spot) ? b : a));
  const shown = log ? 2 ** spot : spot;
  if (!whole) return [spot, shown];
  return [log ? Math.log2(nearest(shown)) : nearest(shown), nearest(shown)];
}

// The value of a line at a place within it.
function at(spot, axis, row) {
  if (row.length === 1) return row[0];
  let i = 0;
  while (i < row.length - 2 && axis[i + 1] <= spot) i++;
  return row[i] + ((spot - axis[i]) / (axis[i + 1] - axis[i])) * (row[i + 1] - row[i]);
}

const NEAR = 12; // pixels: who points farther away than this from all lines means none

// The line that is pointed at: the nearest, and of those that lie there the one in front. Where
// none is near it is the one in front, too.
function pointedAt(point, { names, x: axis, rows }, front) {
  const [wide, high] = point.pixels;
  const across = (x) => (x - point.x) * wide, up = (y) => (y - point.y) * high;
  const far = rows.map((row, n) => {
    let least = Infinity;
    for (let i = 0; i < row.length; i++) {
      const [a, b] = [across(axis[i]), up(row[i])];
      const [c, d] = i + 1 < row.length ? [across(axis[i + 1]) - a, up(row[i + 1]) - b] : [0, 0];
      const part = clamp(-(a * c + b * d) / (c * c + d * d || 1), 0, 1);
      least = Math.min(least, Math.hypot(a + part * c, b + part * d));
    }
    return least - (names[n] === front ? 2 : 0);
  });
  const least = Math.min(...far);
  return least > NEAR ? names.indexOf(front) : far.indexOf(least);
}

const said = (shown) => (Math.abs(shown) >= 10 ? grouped(fixed(shown, 0)) : place(shown));
const spoken = (value, digits) => grouped(fixed(value, digits));

export default live({
  values({ at: x, line }, data) {
    const { names, x: axis, rows, digits, low } = data;
    const front = names.indexOf(line), [spot, shown] = placeNear(x, data, rows[front]);
    const there = rows.map((row) => spot <= axis[row.length - 1] + 1e-9);
    const found = rows.map((row, i) => (there[i] ? at(spot, axis, row) : low));
    return {
      x: spot,
      y: found[front],
      front: names.map((name) => +(name === line)),
      said_of: found.map((y, i) => (there[i] ? spoken(y, digits) : "–")),
      x_said: said(shown),
      letters: said(shown).length,
    };
  },
  describe({ line: name }, v, { names, shown, says }) {
    const front = names.indexOf(name);
    const parts = { line: shown[front], x: v.x_said, y: v.said_of[front] };
    return says.replace(/\{(\w+)\}/g, (_, part) => parts[part]);
  },
  goes: { line: ({ index, data }) => ({ line: data.names[index] }) },
  drags: {
    at({ at: point, grip, state, data }) {
      grip.line ??= data.names[pointedAt(point, data, state.line)];
      return { at: point.x, line: grip.line };
    },
  },
  points: {
    at: ({ at: point, state: { line }, data }) =>
      ({ at: point.x, line: data.names[pointedAt(point, data, line)] }),
  },
  tips: {
    at({ at: point, state, data }) {
      const i = pointedAt(point, data, state.line);
      const [spot, shown] = placeNear(point.x, data, data.rows[i]);
      const y = at(spot, data.x, data.rows[i]);
      return [`${data.shown[i]}: ${spoken(y, data.digits)} at ${said(shown)}`, [spot, y]];
    },
  },
});
