/** The few icons that the console uses: drawn here, so that nothing has to be fetched. */

const PATHS = {
  add: "M8 3v10M3 8h10",
  close: "M4 4l8 8M12 4l-8 8",
  table: "M2.5 3.5h11v9h-11zM2.5 6.5h11M6.5 6.5v6",
  upload: "M8 10.5V3M4.8 6L8 2.8 11.2 6M3 10.5v2.5h10v-2.5",
  download: "M8 2.8v7.7M4.8 7.3L8 10.5l3.2-3.2M3 10.5v2.5h10v-2.5",
  first: "M4 3.5v9M12 3.5L7 8l5 4.5",
  previous: "M10.5 3.5L5.5 8l5 4.5",
  top: "M3.5 3h9M8 13V6.5M4.7 9.5L8 6.2l3.3 3.3",
  next: "M5.5 3.5l5 4.5-5 4.5",
  last: "M12 3.5v9M4 3.5L9 8l-5 4.5",
  refresh: "M13 8a5 5 0 1 1-1.6-3.7M13 2.5v2.6h-2.6",
  edit: "M3 13l.6-2.6L10.8 3.2l2 2L5.6 12.4z",
  remove: "M3 4.5h10M6 4.5V3h4v1.5M4.5 4.5l.5 8.5h6l.5-8.5",
  light: "M8 5.2a2.8 2.8 0 1 1 0 5.6 2.8 2.8 0 0 1 0-5.6zM8 1.5v1.4M8 13.1v1.4M1.5 8h1.4M13.1 8h1.4M3.4 3.4l1 1M11.6 11.6l1 1M3.4 12.6l1-1M11.6 4.4l1-1",
  dark: "M12.8 9.6A5.3 5.3 0 0 1 6.4 3.2a5.3 5.3 0 1 0 6.4 6.4z",
  system: "M2.5 3.5h11v7.5h-11zM6 13.5h4M8 11v2.5",
  lesson: "M2 6l6-3 6 3-6 3zM4.5 7.5v3.2c2 1.6 5 1.6 7 0V7.5",
  clock: "M8 2.5a5.5 5.5 0 1 1 0 11 5.5 5.5 0 0 1 0-11zM8 5v3.2l2.2 1.3",
  warning: "M8 2.5l6 10.8H2zM8 6.5v3.2M8 11.4v.4",
  down: "M3.5 6L8 10.5 12.5 6",
  up: "M3.5 10.5L8 6l4.5 4.5",
  chart: "M2.5 2.5v11h11M5.5 11V8M8.5 11V4.5M11.5 11V6.5",
  shell: "M2.5 3.5h11v9h-11zM5 6.5l2 1.7-2 1.7M8.5 10h2.5",
  code: "M5.5 4.5L2 8l3.5 3.5M10.5 4.5L14 8l-3.5 3.5",
  engine: "M2.5 12.5h11M2.5 9.5h11M4 6.5h8M5.5 3.5h5",
} as const;

/** The name of an icon. */
export type IconName = keyof typeof PATHS;

/** An icon. It only decorates: its meaning stands beside it, or in the label of its button. */
export function Icon({ name }: { readonly name: IconName }) {
  return (
    <svg class="icon" viewBox="0 0 16 16" width="16" height="16" aria-hidden="true">
      <path d={PATHS[name]} fill="none" stroke="currentColor" stroke-width="1.5" stroke-linecap="round" stroke-linejoin="round" />
    </svg>
  );
}
