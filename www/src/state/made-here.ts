/** The instances that were made in this console, by name and time of creation: they have its options, and no others. */

import { describeInstance } from "tabstore";

import { storedText, storeText } from "./stored-text.ts";

const KEY = "tabstore-console/made";

type Made = Readonly<Record<string, number>>;

/** What is noted. A browser may refuse to keep notes, and others may write there. */
function noted(): Made {
  try {
    const value: unknown = JSON.parse(storedText(KEY) ?? "{}");
    return typeof value === "object" && value !== null ? (value as Made) : {};
  } catch {
    return {};
  }
}

const createdAt = async (name: string): Promise<number | undefined> =>
  describeInstance(name).then(
    ({ creationTime }) => creationTime,
    () => undefined,
  );

/** Whether the instance that has this name now was made here. */
export async function isMadeHere(name: string): Promise<boolean> {
  const made = noted()[name];
  return made !== undefined && made === (await createdAt(name));
}

/** Notes that the instance was made here, if it is there. */
export async function noteMade(name: string): Promise<void> {
  const time = await createdAt(name);
  if (time === undefined) return;
  // If it is not kept, the instance is opened with the package's options.
  storeText(KEY, JSON.stringify({ ...noted(), [name]: time }));
}
