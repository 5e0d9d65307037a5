// A worker with the client of Azure tables too, as `S`, and our entry for it as `A`.

import "./no-document.js";
import * as sdk from "./azure-sdk.js";
import { serveContext } from "./context.js";
import * as azure from "./pkg/azure.js";
import * as tabstore from "./pkg/index.js";

Object.assign(globalThis, { A: azure, S: sdk });
serveContext(tabstore);
