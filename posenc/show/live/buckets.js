// T5's buckets: near distances one by one, far ones together.
import { clamp, live, nearest } from "./runtime.js";

const left = (distance) => Math.max(0, distance - 0.5);
const find = (distance, starts) => starts.findLastIndex((start) => start <= distance);

export default live({
  values(state, { starts: all, last }) {
    const starts = all[`${state.num_buckets} ${state.max_distance}`];
    const top = starts.length - 1;
    const distance = nearest(state.d);
    const bucket = find(distance, starts);
    const end = bucket === top ? last : starts[bucket + 1] - 1;
    const steps = [];
    starts.forEach((start, b) => {
      if (b < top && starts[b + 1] === start) return; // empty
      if (steps.length) steps.push([left(start), steps.at(-1)[1]]);
      steps.push([left(start), b / top]);
    });
    steps.push([last, 1]);
    const share = bucket / (state.num_buckets - 1);
    return {
      steps,
      y: share,
      here: [[left(starts[bucket]), share], [Math.min(end + 0.5, last), share]],
      d: distance,
      bucket,
      bucket_said: `bucket ${bucket}`,
      first: starts[bucket],
      last: end,
      d_said: String(distance),
      top: String(state.num_buckets - 1),
    };
  },
  describe(_, { d_said, bucket, first, last }, { last: end }) {
    const said = `Distance ${d_said} is in bucket ${bucket}`;
    if (first === last) return `${said}, alone.`;
    if (last === end) return `${said}, with all from ${first} on.`;
    return `${said}, with ${first} to ${last}: ${last - first + 1} distances.`;
  },
  drags: { d: ({ at }) => ({ d: nearest(at.x) }) },
  tips: {
    d({ at, state, data: { starts, last } }) {
      const distance = clamp(nearest(at.x), 0, last);
      const those = starts[`${state.num_buckets} ${state.max_distance}`];
      const bucket = find(distance, those);
      return [`distance ${distance}: bucket ${bucket}`, [distance, bucket / (those.length - 1)]];
    },
  },
});
