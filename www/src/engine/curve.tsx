/** A small curve of something that changes over time. */

import { RATES_KEPT } from "../state/metrics.ts";

const WIDTH = 240;
const HEIGHT = 32;

/** The curve; the newest value is at the right. */
export function Curve({ values, label }: { readonly values: readonly number[]; readonly label: string }) {
  const most = Math.max(1, ...values);
  const step = WIDTH / (RATES_KEPT - 1);
  const points = values.map(
    (value, at) => `${(WIDTH - (values.length - 1 - at) * step).toFixed(1)},${(HEIGHT - 1 - (value / most) * (HEIGHT - 4)).toFixed(1)}`,
  );
  return (
    <svg class="curve" viewBox={`0 0 ${WIDTH} ${HEIGHT}`} preserveAspectRatio="none" role="img" aria-label={label}>
      <line x1="0" y1={HEIGHT - 1} x2={WIDTH} y2={HEIGHT - 1} class="curve-ground" />
      {points.length > 1 && <polyline points={points.join(" ")} class="curve-line" />}
    </svg>
  );
}
