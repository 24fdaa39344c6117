// A colour of a ramp of stops, at 0 to 1.
export function shade(stops, at) {
  const place = at * (stops.length - 1), start = Math.min(Math.floor(place), stops.length - 2);
  return stops[start].map((from, i) => from + (place - start) * (stops[start + 1][i] - from));
}

// A heat map on a canvas: one pixel a cell, as strong as its value, from -1 to 1, is large.
export function paint(canvas, { pos, neg }, rows, columns, value) {
  [canvas.width, canvas.height] = [columns, rows];
  const pencil = canvas.getContext("2d");
  const pixels = pencil.createImageData(columns, rows);
  for (let c = 0; c < columns; c++) {
    for (let r = 0; r < rows; r++) {
      const v = value(r, c);
      pixels.data.set([...(v < 0 ? neg : pos), Math.round(255 * Math.abs(v))], 4 * (r * columns + c));
    }
  }
  pencil.putImageData(pixels, 0, 0);
}
