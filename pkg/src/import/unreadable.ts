/** What a source has in the place of a record, where that cannot be read. */

/** A record that cannot be read. Others after it can, unless it is the last one. */
export class Unreadable {
  /** `error` names the place. `isLast`: nothing tells where the next record would begin. */
  constructor(
    readonly error: Error,
    readonly isLast = false,
  ) {}
}
