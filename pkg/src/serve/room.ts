/** Limits of what the server holds at a time. */

/** Some of a room's units, until they are given back. */
export interface Place {
  /** Gives them back. May be called again. */
  leave(): void;
}

/** A room with a number of units, such as bytes. Who finds too few of them waits, in the order of arrival. */
export class Room {
  private used = 0;
  private readonly waiting: { readonly units: number; readonly enter: () => void }[] = [];
  private readonly empty: (() => void)[] = [];

  /** A room with so many units. Who needs more than that has the room alone. */
  constructor(private readonly most: number) {}

  /** Takes so many units, at least one. */
  async enter(units: number): Promise<Place> {
    if (this.waiting.length > 0 || !this.has(units)) {
      await new Promise<void>((enter) => this.waiting.push({ units, enter }));
    } else {
      this.used += units;
    }
    let isOver = false;
    return {
      leave: () => {
        if (isOver) return;
        isOver = true;
        this.used -= units;
        this.admit();
      },
    };
  }

  /** Resolves once nobody is in it, and nobody waits. */
  async whenEmpty(): Promise<void> {
    if (this.used > 0) await new Promise<void>((resolve) => this.empty.push(resolve));
  }

  private has(units: number): boolean {
    return this.used === 0 || this.used + units <= this.most;
  }

  /** Lets those in who find room now. */
  private admit(): void {
    for (let next = this.waiting[0]; next !== undefined && this.has(next.units); next = this.waiting[0]) {
      this.waiting.shift();
      this.used += next.units;
      next.enter();
    }
    if (this.used === 0) for (const resolve of this.empty.splice(0)) resolve();
  }
}
