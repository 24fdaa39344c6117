import { wrap } from "./runtime.js";

const HUB = 14; // of 50 to the rim

// Pulls a hand: its position moves by the angle that the pointer has gone, over the frequency.
// Beside the hub no angle is meant: there the hand stays, and what comes out is a new grip.
export function turn(position, { at, grip, index, data }) {
  if (Math.hypot(at.x, at.y) < HUB) {
    delete grip.angle;
    return position;
  }
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
