// Medians, percentiles, and how figures are written.

const ascending = (a, b) => a - b;

export function median(values) {
  const sorted = [...values].sort(ascending);
  const middle = sorted.length >> 1;
  return sorted.length % 2 === 1 ? sorted[middle] : (sorted[middle - 1] + sorted[middle]) / 2;
}

/** The value that this share of the values does not exceed. */
export const quantile = (values, share) => values.toSorted(ascending)[Math.max(0, Math.ceil(values.length * share) - 1)];

/** All figures of all rounds, by workload and by database. */
export class Figures {
  samples = {};

  add(workload, engine, value) {
    ((this.samples[workload] ??= {})[engine] ??= []).push(value);
  }

  medians() {
    const of = (byEngine) => Object.fromEntries(Object.entries(byEngine).map(([engine, values]) => [engine, median(values)]));
    return Object.fromEntries(Object.entries(this.samples).map(([workload, byEngine]) => [workload, of(byEngine)]));
  }
}

/** Three digits that mean something. */
export function figure(value) {
  if (value === undefined || !Number.isFinite(value)) return "-";
  return value >= 100 ? value.toFixed(0) : value >= 10 ? value.toFixed(1) : value.toFixed(2);
}

/** A factor: with one digit that counts below a half. */
export const times = (value) => `${value >= 9.95 ? value.toFixed(0) : value >= 0.5 ? value.toFixed(1) : value.toPrecision(1)}x`;
export const megabytes = (bytes) => bytes / 1e6;

/** Lines of cells as text in columns; those in `left` begin at the left. */
export function columns(head, lines, left = [0]) {
  const widths = head.map((_, column) => Math.max(...[head, ...lines].map((line) => line[column].length)));
  const text = (line) =>
    line
      .map((cell, column) => (left.includes(column) ? cell.padEnd(widths[column]) : cell.padStart(widths[column])))
      .join("  ")
      .trimEnd();
  return [text(head), widths.map((width) => "-".repeat(width)).join("  "), ...lines.map(text)].join("\n");
}

/** The same as a Markdown table. */
export function markdown(head, lines, left = [0]) {
  const line = (cells) => `| ${cells.join(" | ")} |`;
  return [line(head), line(head.map((_, column) => (left.includes(column) ? "---" : "---:"))), ...lines.map(line)].join("\n");
}

/** Reports the progress on the terminal. */
export function say(what) {
  if (process.stderr.isTTY) process.stderr.write(`\r\x1b[K${what} `);
}
