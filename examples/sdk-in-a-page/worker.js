// A service worker that answers the SDK's requests to the page's origin.
import { open } from "tabstore/inline";
import { serveTablestore } from "tabstore/tablestore";

serveTablestore(() => open("worker"), { auth: "off" });
