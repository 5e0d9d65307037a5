/** The inside of the store, a chunk of its own. */

import "../styles/inside.css";

export { InsideView } from "./view.tsx";
