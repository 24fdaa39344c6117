// Attention weights of a sentence while its words change their order: each weight moves along.
import { shade } from "./heat.js";
import { clamp, fixed, live, nearest, quoted, range } from "./runtime.js";

// The step on the way through the orders, and the whole one before it.
const stepOf = ({ order }, { named, places }) => {
  const before = Math.floor(order), first = named[before];
  const step = first + (order - before) * ((named[before + 1] ?? first) - first);
  return [step, Math.min(Math.floor(step), places.length - 2)];
};

// Where each word stands, on its way to the place of a neighbour.
const stand = (state, data) => {
  const [step, start] = stepOf(state, data);
  return data.places[start].map((from, word) =>
    from + (step - start) * (data.places[start + 1][word] - from));
};

const nearestPlaces = (state, data) => data.places[nearest(stepOf(state, data)[0])];

// The words, by their places as told, that are in the row and in the column at a point.
const cell = ({ x, y }, state, data) => {
  const { length } = data.words;
  const word = (place) =>
    nearestPlaces(state, data).indexOf(clamp(Math.floor(place), 0, length - 1));
  return { i: word(length - y), j: word(x) };
};

export default live({
  values(state, data) {
    const { words, names, table } = data;
    const [i, j] = [state.i, state.j].map(nearest);
    const [n, at, here] = [words.length, stand(state, data), nearestPlaces(state, data)];
    return {
      x_at: at.map((place) => (place + 0.5) / n),
      y_at: at.map((place) => (n - place - 0.5) / n),
      i_on: range(n).map((word) => +(word === i)),
      j_on: range(n).map((word) => +(word === j)),
      row: n - 1 - at[i],
      column: at[j],
      weight: fixed(table[i][j], 3),
      i_place: here[i],
      j_place: here[j],
      i_word: words[i],
      j_word: words[j],
      i_said: `${words[i]} (${i})`,
      j_said: `${words[j]} (${j})`,
      order_said: names[state.order] ?? "on the way",
    };
  },
  paint(canvas, { weights }, state, data) {
    const [at, size] = [stand(state, data), 20]; // pixels of a square
    canvas.width = canvas.height = size * at.length;
    const pencil = canvas.getContext("2d");
    data.table.forEach((row, i) => row.forEach((weight, j) => {
      pencil.fillStyle = `rgb(${shade(weights, Math.sqrt(weight))})`; // by the root, small ones show
      pencil.fillRect(size * at[j], size * at[i], size, size);
    }));
  },
  describe(_, v) {
    const order = v.order_said[0].toUpperCase() + v.order_said.slice(1);
    return (
      `${order}: from ${quoted(v.i_word)} in row ${v.i_place} to ${quoted(v.j_word)} ` +
      `in column ${v.j_place} the weight is ${v.weight}.`
    );
  },
  drags: { cell: ({ at, state, data }) => cell(at, state, data) },
  tips: {
    cell({ at, state, data }) {
      const { i, j } = cell(at, state, data);
      return `from ${quoted(data.words[i])} to ${quoted(data.words[j])}: ${fixed(data.table[i][j], 3)}`;
    },
  },
});
