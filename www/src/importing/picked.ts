/** A file that somebody has picked or dropped before an instance was open: the import dialog takes it. */

import { signal } from "@preact/signals";

import { navigate } from "../state/route.ts";
import { mayCreate } from "../state/session.ts";

/** The instance of such files. */
const PLACE = "demo";

/** The file, until the dialog has taken it. */
export const pickedFile = signal<File | undefined>(undefined);

/** Opens the instance of such files, with the dialog for this one. */
export function importPicked(file: File): void {
  pickedFile.value = file;
  mayCreate(PLACE);
  navigate({ instance: PLACE });
}
