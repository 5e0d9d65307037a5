import * as tabstore from "./pkg/index.js";
import { serveContext } from "./context.js";

serveContext(tabstore);
