/** The code view, a chunk of its own. */

import "../styles/code.css";

export { CodeView } from "./view.tsx";
