// From values to pixels, and where to put the ticks.

function niceStep(span, count) {
  const raw = span / Math.max(1, count);
  const power = 10 ** Math.floor(Math.log10(raw));
  const step = [1, 2, 2.5, 5, 10].find((each) => each * power >= raw * 0.999);
  return step * power;
}

function linearScale(low, high, from, to, count, isWhole) {
  if (low === high) { low -= Math.abs(low) * 0.1 || 0.5; high += Math.abs(high) * 0.1 || 0.5; }
  let step = niceStep(high - low, count);
  if (isWhole && step < 1) step = 1;
  const first = Math.floor(low / step + 1e-9) * step;
  const last = Math.ceil(high / step - 1e-9) * step;
  const ticks = [];
  for (let n = 0; n <= Math.round((last - first) / step); n += 1) ticks.push(Number((first + n * step).toPrecision(12)));
  return { ticks, low: first, high: last, at: (value) => from + ((value - first) / (last - first)) * (to - from) };
}

function logScale(low, high, from, to, count) {
  const first = Math.floor(Math.log10(low) + 1e-9);
  let last = Math.ceil(Math.log10(high) - 1e-9);
  if (last === first) last += 1;
  const every = Math.max(1, Math.ceil((last - first) / Math.max(1, count)));
  const ticks = [];
  for (let power = first; power <= last; power += every) ticks.push(10 ** power);
  const at = (value) => from + ((Math.log10(value) - first) / (last - first)) * (to - from);
  return { ticks, low: 10 ** first, high: 10 ** last, at: (value) => (value > 0 ? at(value) : from) };
}

function scaleOf(axis, values, from, to, count) {
  const known = values.filter((value) => value !== null && Number.isFinite(value));
  if (!known.length) known.push(0, 1);
  let low = known.reduce((a, b) => Math.min(a, b));
  let high = known.reduce((a, b) => Math.max(a, b));
  if (axis.log && low > 0) return logScale(low, high, from, to, count);
  if (axis.top !== null && axis.top !== undefined) { low = Math.min(0, low); high = Math.max(axis.top, high); }
  return linearScale(low, high, from, to, count, axis.format === "count");
}
