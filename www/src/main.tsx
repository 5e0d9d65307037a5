/** The console's beginning. */

import "./styles/index.css";

import { render } from "preact";

import { App } from "./app.tsx";
import { keepOffline } from "./state/offline.ts";
import { navigate } from "./state/route.ts";
import { served } from "./state/served.ts";
import { applyTheme } from "./state/theme.ts";
import { keepFocus } from "./ui/focus.ts";

applyTheme();
// The console of a server begins with its instance.
if (served !== undefined && location.hash === "") navigate({ instance: served }, true);
keepFocus();
const place = document.getElementById("app");
if (place !== null) render(<App />, place);
void keepOffline();
