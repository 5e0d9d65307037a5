/** What lesson 8 moves: told in its texts, and checked. */

/** The amount of a seed: between 10 and 59. */
export const amountOf = (seed: number): number => 10 + (seed % 50);
