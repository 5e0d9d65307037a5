// What the npm package `tablestore` takes for granted. It assigns to names that it does not declare; in a module they must be there.
export { Buffer } from "buffer/";

for (const name of ["cell_type", "key", "pro", "size", "sub"]) globalThis[name] ??= undefined;
