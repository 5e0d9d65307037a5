/** A data set whose dates are texts such as `Apr 1 2000`: sorted by letter, no range of them means anything. */

const MONTHS = ["Jan", "Feb", "Mar", "Apr", "May", "Jun", "Jul", "Aug", "Sep", "Oct", "Nov", "Dec"];

/** CSV with each date written so that it sorts by time: `2000-04-01`. */
export function sortableDates(csv: string): string {
  return csv.replace(/\b([A-Z][a-z]{2}) (\d{1,2}) (\d{4})\b/g, (whole, month: string, day: string, year: string) => {
    const at = MONTHS.indexOf(month);
    return at < 0 ? whole : `${year}-${String(at + 1).padStart(2, "0")}-${day.padStart(2, "0")}`;
  });
}
