// Numbers for the eye, and rows for other programs.

const MINUS = "\u2212";
function digits(value, least, most) {
  const text = Math.abs(value).toLocaleString("en", { minimumFractionDigits: least, maximumFractionDigits: most });
  return value < 0 && !/^[0.,]*$/.test(text) ? MINUS + text : text;
}

function significant(value, count) {
  if (value === 0) return "0";
  const size = Math.floor(Math.log10(Math.abs(value)));
  if (size < -4) return value.toExponential(count - 1).replace("-", MINUS);
  return digits(value, 0, Math.max(0, count - 1 - size));
}

const FORMATS = {
  count: (value) => digits(value, 0, Number.isInteger(value) ? 0 : 1),
  number: (value) => significant(value, 4),
  // What is not quite 1 is never shown as 1.
  share: (value) => (value === 1 || value === 0 ? String(value) : digits(Math.min(value, 0.9999), 0, 4)),
  percent: (value) => digits(value * 100, 2, 2),
  ms: (value) => (Math.abs(value) >= 100 ? digits(value, 0, 0) : digits(value, 1, 1)),
  seconds: (value) => (Math.abs(value) >= 1000 ? digits(value, 0, 0) : digits(value, 2, 2)),
  megabytes: (value) => digits(value, 0, Math.abs(value) >= 10 ? 0 : 1),
  rate: (value) => (Math.abs(value) >= 100 ? digits(value, 0, 0) : significant(value, 3)),
};

function formatted(value, format) {
  if (value === null || value === undefined) return "";
  if (typeof value === "object") return value.text;
  return typeof value === "number" && FORMATS[format] ? FORMATS[format](value) : String(value);
}

const tickText = (value) => significant(value, 6);
const isNumeric = (format) => format in FORMATS;
const withUnit = (axis) => (axis.unit ? `${axis.label} (${axis.unit})` : axis.label);

// A spreadsheet takes a text that begins with one of these for a formula.
function field(value) {
  if (value === null || value === undefined) return "";
  if (typeof value === "number") return String(value);
  let text = typeof value === "object" ? value.meaning || value.text : String(value);
  if (/^[=+\-@\t\r]/.test(text)) text = "'" + text;
  return /[",\n\r]/.test(text) ? `"${text.replaceAll('"', '""')}"` : text;
}
const csv = (rows) => rows.map((row) => row.map(field).join(",")).join("\r\n") + "\r\n";
