// What the client of Azure tables looks for as it loads, for workers, which have no document. With these it can do all but read XML.

globalThis.document ??= { implementation: { createDocument: () => null } };
globalThis.DOMParser ??= class {};
globalThis.Node ??= class {};
globalThis.XMLSerializer ??= class {};
