/** The console's part for units and calls. It is loaded when somebody looks at them: its charts are drawn by a library. */

import "uplot/dist/uPlot.min.css";
import "../styles/monitor.css";

export { UnitsView } from "./view.tsx";
