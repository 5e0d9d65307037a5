/** Other values of a live query's iterator. */

/** An iterator whose values are made of those of another one. It is no generator: that would not end while it waits for a value. */
export function mapped<T, U>(from: AsyncIterableIterator<T>, make: (value: T) => U): AsyncIterableIterator<U> {
  const ended = { done: true, value: undefined } as const;
  return {
    next: async () => {
      const next = await from.next();
      if (next.done === true) return ended;
      try {
        return { done: false, value: make(next.value) };
      } catch (error) {
        await from.return?.();
        throw error;
      }
    },
    return: async () => {
      await from.return?.();
      return ended;
    },
    [Symbol.asyncIterator]() {
      return this;
    },
  };
}
