/** The console's part for the Azure Table service. It is loaded when somebody looks at an account. */

import "../styles/azure.css";

export { AzureSide } from "./side.tsx";
export { AzureView } from "./view.tsx";
