/** Light or dark: as the system has it, unless somebody chose. */

import { signal } from "@preact/signals";

import { storedText, storeText } from "./stored-text.ts";

/** The choices. */
export type Theme = "system" | "light" | "dark";

const PLACE = "tabstore-console-theme";
const ORDER: readonly Theme[] = ["system", "light", "dark"];

function stored(): Theme {
  const value = storedText(PLACE);
  return value === "light" || value === "dark" ? value : "system";
}

/** The choice. */
export const theme = signal<Theme>(stored());

/** Makes the page look as chosen. Called once before the first paint, then at every change. */
export function applyTheme(): void {
  if (theme.value === "system") delete document.documentElement.dataset.theme;
  else document.documentElement.dataset.theme = theme.value;
}

/** Goes on to the next choice. */
export function nextTheme(): void {
  theme.value = ORDER[(ORDER.indexOf(theme.value) + 1) % ORDER.length] ?? "system";
  applyTheme();
  storeText(PLACE, theme.value);
}
