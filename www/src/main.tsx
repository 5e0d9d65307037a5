/** The console's beginning. */

import "./styles/index.css";

import { render } from "preact";

import { App } from "./app.tsx";
import { keepOffline } from "./state/offline.ts";
import { applyTheme } from "./state/theme.ts";
import { keepFocus } from "./ui/focus.ts";

applyTheme();
keepFocus();
const place = document.getElementById("app");
if (place !== null) render(<App />, place);
void keepOffline();
