/** The time machine, a chunk of its own. */

import "../styles/time.css";

export { TimeView } from "./view.tsx";
