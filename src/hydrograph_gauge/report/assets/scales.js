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

// Ticks at 1, 2 and 5, or at powers of ten where there are too many; the ends are ticks too.
function logScale(low, high, from, to, count) {
  const fine = [];
  for (let power = Math.floor(Math.log10(low)) - 1; power <= Math.ceil(Math.log10(high)) + 1; power += 1) {
    for (const step of [1, 2, 5]) fine.push(Number((step * 10 ** power).toPrecision(6)));
  }
  const first = Math.max(...fine.filter((tick) => tick <= low * 1.0001));
  let last = Math.min(...fine.filter((tick) => tick >= high * 0.9999));
  if (last === first) last = Math.min(...fine.filter((tick) => tick > first));
  const inside = fine.filter((tick) => tick >= first && tick <= last);
  const powers = inside.filter((tick) => Number.isInteger(Math.log10(tick)));
  const every = Math.ceil(powers.length / Math.max(1, count));
  const ticks = inside.length <= count + 1 ? inside : powers.length > 1 ? powers.filter((_, n) => n % every === 0) : [first, last];
  const at = (value) => from + (Math.log10(value / first) / Math.log10(last / first)) * (to - from);
  return { ticks, low: first, high: last, at: (value) => (value > 0 ? at(value) : from) };
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
