// T5's buckets: near distances one by one, far ones together.
import { fixed, live, nearest } from "./runtime.js";

const left = (distance) => Math.log2(1 + distance - (distance > 0 ? 0.5 : 0));
const find = (distance, starts) => starts.findLastIndex((start) => start <= distance);

export default live({
  values(state, { starts: all, last }) {
    const starts = all[`${state.num_buckets} ${state.max_distance}`];
    const top = starts.length - 1;
    const distance = Math.min(nearest(2 ** state.d - 1), last);
    const bucket = find(distance, starts);
    const end = bucket === top ? last : starts[bucket + 1] - 1;
    const steps = [];
    starts.forEach((start, b) => {
      if (b < top && starts[b + 1] === start) return; // empty
      if (steps.length) steps.push([left(start), steps.at(-1)[1]]);
      steps.push([left(start), b / top]);
    });
    steps.push([Math.log2(1 + last), 1]);
    const share = bucket / (state.num_buckets - 1);
    return {
      steps,
      x: Math.log2(1 + distance),
      y: share,
      here: [[left(starts[bucket]), share], [Math.log2(1 + end + 0.5), share]],
      bucket,
      bucket_said: `bucket ${bucket}`,
      first: starts[bucket],
      last: end,
      d_said: String(distance),
      top: String(state.num_buckets - 1),
    };
  },
  describe(_, v, { last }) {
    const said = `Distance ${v.d_said} is in bucket ${v.bucket}`;
    if (v.first === v.last) return said + ", alone.";
    if (v.last === last) return said + `, with all from ${v.first} on.`;
    return said + `, with all from ${v.first} to ${v.last}.`;
  },
  drags: { d: ({ at }) => ({ d: at.x }) },
  tips: {
    d({ at, state, data: { starts, last } }) {
      const distance = Math.max(0, Math.min(last, nearest(2 ** at.x - 1)));
      const bucket = find(distance, starts[`${state.num_buckets} ${state.max_distance}`]);
      return `distance ${fixed(distance, 0)}: bucket ${bucket}`;
    },
  },
});
