/** Limits of what the server holds at a time. */

/** A place in a room, until it is given back. */
export interface Place {
  /** Gives it back. May be called again. */
  leave(): void;
}

/** A room with a number of places, such as those of calls. Who finds none waits, in the order of arrival. */
export class Room {
  private used = 0;
  private readonly waiting: (() => void)[] = [];
  private readonly empty: (() => void)[] = [];

  /** A room with so many places. */
  constructor(private readonly most: number) {}

  /** Takes a place. */
  async enter(): Promise<Place> {
    if (this.used < this.most) this.used += 1;
    else await new Promise<void>((enter) => this.waiting.push(enter));
    let isOver = false;
    return {
      leave: () => {
        if (isOver) return;
        isOver = true;
        // Whoever waits longest has the place from now on.
        const next = this.waiting.shift();
        if (next !== undefined) next();
        else this.used -= 1;
        if (this.used === 0) for (const resolve of this.empty.splice(0)) resolve();
      },
    };
  }

  /** Resolves once nobody is in it, and nobody waits. */
  async whenEmpty(): Promise<void> {
    if (this.used > 0) await new Promise<void>((resolve) => this.empty.push(resolve));
  }
}

/** A body that comes, and its bytes in a {@link ByteRoom}. */
export interface Share {
  /** Counts bytes that have come. */
  add(bytes: number): void;
  /** Whether more may come now. If not, `go` is called once they may. */
  mayGrow(go: () => void): boolean;
  /** Gives all back. May be called again. */
  leave(): void;
}

/**
 * A room for the bytes of bodies, which are counted as they come: who only says how many will come has taken nothing.
 *
 * Once it is full, bodies that are coming stop, in the order in which they did. One of them goes on all the same, so that some body always
 * comes to its end, and bodies that have only begun cannot wait for each other. The room holds more than its bytes by that one body, and
 * by the pieces that had come when others stopped.
 */
export class ByteRoom {
  private used = 0;
  /** The body that goes on although the room is full. */
  private first: Share | undefined;
  private readonly waiting = new Map<Share, () => void>();

  /** A room with so many bytes. */
  constructor(private readonly most: number) {}

  /** Begins a body. */
  begin(): Share {
    let held = 0;
    let isOver = false;
    const share: Share = {
      add: (bytes) => {
        if (isOver) return;
        held += bytes;
        this.used += bytes;
      },
      mayGrow: (go) => {
        if (this.used < this.most || this.first === share) return true;
        if (this.first === undefined) {
          this.first = share;
          return true;
        }
        this.waiting.set(share, go);
        return false;
      },
      leave: () => {
        if (isOver) return;
        isOver = true;
        this.used -= held;
        this.waiting.delete(share);
        if (this.first === share) this.first = undefined;
        this.admit();
      },
    };
    return share;
  }

  /** Lets all go on if there is room, else the first of them, if no other does. */
  private admit(): void {
    for (const [share, go] of this.waiting) {
      if (!share.mayGrow(go)) return;
      this.waiting.delete(share);
      go();
    }
  }
}
