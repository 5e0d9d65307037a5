/**
 * A language for the charts. uPlot makes a number format of the browser's language when it is loaded; WebKitGTK under `LANG=C`
 * calls its language "C", which no format takes. So this comes before uPlot.
 */

try {
  new Intl.NumberFormat(navigator.language);
} catch {
  Object.defineProperty(navigator, "language", { configurable: true, value: "en-US" });
}
