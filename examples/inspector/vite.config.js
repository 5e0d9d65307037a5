import { tabstore } from "tabstore/vite";

export default { plugins: [tabstore()], build: { target: "es2022" } };
