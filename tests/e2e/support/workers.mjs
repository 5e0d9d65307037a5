// Workers that a page starts.

/** In a page, before anything is opened: `last` becomes the newest worker. */
export const noteWorkers = () => {
  const Real = Worker;
  globalThis.Worker = class extends Real {
    constructor(...given) {
      super(...given);
      globalThis.last = this;
    }
  };
};
