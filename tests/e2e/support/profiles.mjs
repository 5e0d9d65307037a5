// Where the profiles of browsers are.

import { mkdtempSync, statfsSync } from "node:fs";
import os from "node:os";
import path from "node:path";

import { tier } from "../../report.mjs";

/** Where systems that have it keep files in memory. */
const MEMORY = "/dev/shm";

/** As much room as the profiles of all lanes take by far not. */
const ENOUGH = 8 * 2 ** 30;

function isRoomy(folder) {
  try {
    const { bavail, bsize } = statfsSync(folder);
    return bavail * bsize >= ENOUGH;
  } catch {
    return false;
  }
}

/**
 * The folder of all profiles. Tests kill browsers and not machines, so a file system in memory serves them as a disk does, and takes
 * less time. Where everything runs it is the disk.
 */
const place = tier !== "full" && isRoomy(MEMORY) ? MEMORY : os.tmpdir();

/** Makes the folder of a new profile. */
export const makeProfile = () => mkdtempSync(path.join(place, "tabstore-e2e-"));
