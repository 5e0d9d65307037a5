import * as tabstore from "./pkg/inline.js";
import { serveContext } from "./context.js";

serveContext(tabstore);
