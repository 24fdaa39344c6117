// Named lines over one axis: point at one for its name and value.
import { clamp, fixed, grouped, live, nearest, place } from "./runtime.js";

// The place that is meant by x, brought within a line, and what stands there.
function placeNear(x, { x: axis, log, whole }, row) {
  const spot = clamp(x, axis[0], axis[row.length - 1]), shown = log ? 2 ** spot : spot;
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

// The line that is nearest to a point, up and down.
function nearestLine({ x, y }, { x: axis, rows }) {
  const far = rows.map((row) => {
    const spot = clamp(x, axis[0], axis[row.length - 1]);
    return Math.abs(at(spot, axis, row) - y) + (Math.abs(spot - x) > 1e-9 ? 1e6 : 0);
  });
  return far.indexOf(Math.min(...far));
}

const said = (shown) => (Math.abs(shown) >= 10 ? grouped(fixed(shown, 0)) : place(shown));

export default live({
  values({ at: x, line }, data) {
    const { names, x: axis, rows, digits } = data, front = names.indexOf(line);
    const [spot, shown] = placeNear(x, data, rows[front]);
    const each = rows.map((row) =>
      spot <= axis[row.length - 1] + 1e-9 ? fixed(at(spot, axis, row), digits) : "–");
    return {
      x: spot,
      y: at(spot, axis, rows[front]),
      front: names.map((name) => +(name === line)),
      said_of: each,
      value_said: each[front],
      x_said: said(shown),
    };
  },
  describe: ({ line }, v, { labels: [[x, xUnit], [y, yUnit]] }) =>
    `${line}. ${x}: ${v.x_said}${xUnit}; ${y}: ${v.value_said}${yUnit}.`,
  goes: { line: ({ index, data }) => ({ line: data.names[index] }) },
  drags: {
    at({ at: point, grip, data }) {
      grip.line ??= data.names[nearestLine(point, data)];
      return { at: point.x, line: grip.line };
    },
  },
  tips: {
    at({ at: point, data }) {
      const i = nearestLine(point, data);
      const [spot, shown] = placeNear(point.x, data, data.rows[i]);
      return `${data.names[i]}: ${fixed(at(spot, data.x, data.rows[i]), data.digits)} at ${said(shown)}`;
    },
  },
});
