// Named lines over one axis: point at one for its name and value.
import { clamp, fixed, live } from "./runtime.js";

// Where a line stands at x, which is brought within the line.
function at(x, axis, row) {
  if (row.length === 1) return [axis[0], row[0]];
  const spot = clamp(x, axis[0], axis[row.length - 1]);
  let i = 0;
  while (i < row.length - 2 && axis[i + 1] <= spot) i++;
  return [spot, row[i] + ((spot - axis[i]) / (axis[i + 1] - axis[i])) * (row[i + 1] - row[i])];
}

// The line that is nearest to a point, up and down.
function nearestLine({ x, y }, { x: axis, rows }) {
  const far = rows.map((row) => {
    const [spot, value] = at(x, axis, row);
    return Math.abs(value - y) + (Math.abs(spot - x) > 1e-9 ? 1e6 : 0);
  });
  return far.indexOf(Math.min(...far));
}

const said = (x, log) => {
  const shown = log ? 2 ** x : x;
  return fixed(shown, Math.abs(shown) >= 10 ? 0 : 1);
};

export default live({
  values({ at: x, line }, { names, x: axis, rows, log, digits }) {
    const [spot, value] = at(x, axis, rows[names.indexOf(line)]);
    return {
      x: spot,
      y: value,
      front: names.map((name) => +(name === line)),
      value_said: fixed(value, digits),
      name_said: `${line}, ${fixed(value, digits)}`,
      x_said: said(spot, log),
    };
  },
  describe: ({ line }, v, { labels: [xlabel, ylabel] }) =>
    `${line}: ${v.value_said} at ${v.x_said} (${xlabel}; ${ylabel}).`,
  drags: {
    at({ at: point, grip, data }) {
      grip.line ??= data.names[nearestLine(point, data)];
      return { at: point.x, line: grip.line };
    },
  },
  tips: {
    at({ at: point, data }) {
      const i = nearestLine(point, data);
      const [spot, value] = at(point.x, data.x, data.rows[i]);
      return `${data.names[i]}: ${fixed(value, data.digits)} at ${said(spot, data.log)}`;
    },
  },
});
