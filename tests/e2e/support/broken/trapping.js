// Its engine traps as soon as the page has posted "trap" to its worker, or has called `trapHere`.
const { Instance } = WebAssembly;
let broken = false;
whenAsked("trap", () => {
  broken = true;
});
const trapping = (value) =>
  typeof value !== "function"
    ? value
    : (...args) => {
        if (broken) throw new WebAssembly.RuntimeError("unreachable");
        return value(...args);
      };
WebAssembly.Instance = class {
  constructor(module, imports) {
    const { exports } = new Instance(module, imports);
    this.exports = Object.fromEntries(Object.entries(exports).map(([name, value]) => [name, trapping(value)]));
  }
};
