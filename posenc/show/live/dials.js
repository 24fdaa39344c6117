import { wrap } from "./runtime.js";

// Pulls a hand: its position moves by the angle that the pointer has gone, over the frequency.
export function turn(position, { at, grip, index, data }) {
  const moved = wrap(at.angle - (grip.angle ?? at.angle));
  grip.angle = at.angle;
  return position + moved / data.inv_freq[index];
}

// The smaller angle between two hands: where it begins, clockwise, and how wide it is.
export function between(a, b) {
  const arc = wrap(b - a);
  return { from: arc < 0 ? b : a, arc: Math.abs(arc) };
}

// Whether the first of two hands is the one that is meant.
export const closer = (angle, a, b) => Math.abs(wrap(angle - a)) <= Math.abs(wrap(angle - b));
