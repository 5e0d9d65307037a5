/** VitePress's own look, without fonts to download. */

import type { Theme } from "vitepress";
import DefaultTheme from "vitepress/theme-without-fonts";

import "./style.css";

/** Frames in which parts near the place that was asked for are laid out, each perhaps with another height than it was thought to have. */
const FRAMES = 4;

/** Stays at the place that the address names, while the parts around it get their heights. */
async function keepPlace(): Promise<void> {
  const name = decodeURIComponent(location.hash.slice(1));
  for (let frame = 0; frame < FRAMES && name !== ""; frame++) {
    await new Promise(requestAnimationFrame);
    document.getElementById(name)?.scrollIntoView();
  }
}

export default {
  extends: DefaultTheme,
  enhanceApp({ router }) {
    if (import.meta.env.SSR) return;
    router.onAfterRouteChange = keepPlace;
    addEventListener("hashchange", keepPlace);
  },
} satisfies Theme;
