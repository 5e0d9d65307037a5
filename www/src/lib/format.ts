/** How numbers, sizes and times are written. One place, so that the same thing looks the same everywhere. */

const GROUPED = new Intl.NumberFormat("en-US");
const UNITS = ["bytes", "KB", "MB", "GB", "TB"];

/** `231083` as `231,083`. */
export function count(value: number | bigint): string {
  return GROUPED.format(value);
}

/** A count with its noun: `1 row`, `2 rows`. */
export function counted(value: number, noun: string, plural = `${noun}s`): string {
  return `${count(value)} ${value === 1 ? noun : plural}`;
}

/** The text of an error as a sentence, behind which another one can stand. Its first letter stays: it may be that of a name. */
export function sentence(text: string): string {
  return /[.!?…]$/.test(text) ? text : `${text}.`;
}

/** Bytes in the largest unit that leaves a number of at least one: `1.4 MB`. */
export function bytes(value: number): string {
  let unit = 0;
  let rest = value;
  while (rest >= 1024 && unit < UNITS.length - 1) {
    rest /= 1024;
    unit += 1;
  }
  if (unit === 0) return value === 1 ? "1 byte" : `${count(value)} bytes`;
  return `${rest >= 100 ? Math.round(rest) : rest.toFixed(1)} ${UNITS[unit]}`;
}

/** Milliseconds that something took. */
export function elapsed(ms: number): string {
  if (ms < 10) return `${ms.toFixed(1)} ms`;
  if (ms < 1000) return `${Math.round(ms)} ms`;
  return ms < 60_000 ? `${(ms / 1000).toFixed(1)} s` : `${Math.floor(ms / 60_000)} min ${Math.round((ms % 60_000) / 1000)} s`;
}

/** An instant, in UTC because versions are: `2016-06-23 10:05:54.000`. */
export function instant(ms: number): string {
  const date = new Date(ms);
  if (Number.isNaN(date.getTime())) return `${ms} ms`;
  return date.toISOString().replace("T", " ").replace("Z", "");
}

/** A text in which numbers that can only be times, in milliseconds, stand as times. */
export function withDates(text: string): string {
  return text.replace(/\b\d{13}\b/g, (ms) => `${instant(Number(ms))} UTC`);
}

/** Seconds as people say them: `1 day`, `2 h 30 min`; exact values stand beside it. */
export function period(seconds: number): string {
  const parts: [number, string, string][] = [
    [31_536_000, "year", "years"],
    [86_400, "day", "days"],
    [3600, "h", "h"],
    [60, "min", "min"],
    [1, "s", "s"],
  ];
  const said: string[] = [];
  let rest = seconds;
  for (const [size, one, many] of parts) {
    const times = Math.floor(rest / size);
    rest -= times * size;
    if (times > 0 && said.length < 2) said.push(`${count(times)} ${times === 1 ? one : many}`);
  }
  return said.join(" ") || "0 s";
}

/** A time to live: `never`, or seconds and their meaning. */
export function timeToLive(seconds: number): string {
  return seconds === -1 ? "never expires" : `expires after ${period(seconds)}`;
}

/** A share as a percentage: `97.3 %`; a dash when there is nothing to share. */
export function share(part: number, whole: number): string {
  if (whole <= 0) return "–";
  const percent = (100 * part) / whole;
  return `${percent === 100 || percent === 0 ? percent : percent.toFixed(percent < 10 ? 2 : 1)} %`;
}
