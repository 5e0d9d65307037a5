/** The files of the logs of instances in IndexedDB: a folder for each instance in the origin's private file system. */

import type { HostLogFolder } from "./folder.js";
import { canOpen, folderIn, kept, LOGS, nameIn, originFolder } from "./origin-folder.js";

/**
 * Whether this thread may keep logs in files; the engine finds out whether they are fast enough. In Firefox a put would take half
 * the time. But there the room of deleted records of IndexedDB is not room for files at once, so deletions on a full origin would
 * be refused. WebKitGTK has no such files.
 */
export const keepsLogs = (): boolean => canOpen() && navigator.userAgent.includes("Chrome/");

/** The folder of all logs, once it was asked for ahead. */
let known: Promise<FileSystemDirectoryHandle | undefined> | undefined;

/** Asks for the folder of all logs while an opening waits for its lock: Chromium takes 25 ms for it while it loads another page. */
export const prepareLogs = (): void => void (known ??= folderIn(LOGS));

/** The folder of an instance's log. The browser is asked for it with the first call. */
export function logFolder(instance: string): HostLogFolder {
  return originFolder(async () => {
    const inside = (logs?: FileSystemDirectoryHandle): Promise<FileSystemDirectoryHandle | undefined> =>
      kept(logs, (logs) => logs?.getDirectoryHandle(nameIn(instance), { create: true }).catch(() => undefined));
    // The data of the site may have been cleared since.
    const folder = (await inside(await known)) ?? (await inside(await folderIn(LOGS)));
    if (folder === undefined) throw new Error("The log of the instance is in files of this origin, which cannot be reached here.");
    return folder;
  });
}
