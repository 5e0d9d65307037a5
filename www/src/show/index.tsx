/** The show with its styles: loaded when somebody wants to watch it. */

import "../styles/inside.css";
import "../styles/show.css";

export { ShowView } from "./view.tsx";
