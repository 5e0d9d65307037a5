/**
 * A chat on timelines, without a page. It uses both patterns of messages:
 *
 * - **Store queue**: one timeline for each conversation. It is the history, which is read in both directions.
 * - **Sync queue**: one timeline for each user, their inbox. A message is written to the inbox of every member (write fan-out).
 *   So a device watches one timeline to hear of all its conversations, and reads it from the last read id to catch up.
 *
 * All tabs of the browser share the database. Nothing here knows which of them leads.
 */

import { col, type Database, INF_MAX, INF_MIN, type Row, TabStoreError, type WatchRequest } from "tabstore";
import { type SequenceId, type TimelineIdentifier, type TimelineQueue, timelines } from "tabstore/timeline";

/** A message. A `"join"` says that somebody has come. */
export interface Message {
  readonly from: string;
  readonly kind: "text" | "join";
  readonly text: string;
  readonly at: number;
}

/** A message as an inbox has it: with its conversation, and its id there. */
export interface Delivery extends Message {
  readonly room: string;
  readonly id: SequenceId;
}

/** A conversation of a user: how many messages they have not read, and the last delivery with its id in the inbox. */
export interface Summary {
  readonly room: string;
  readonly unread: number;
  readonly last?: Delivery;
  readonly delivered: SequenceId;
}

/** A live inbox has the newest deliveries, so that its size does not grow with the years. Counts end there. */
export const INBOX_ROWS = 500;
/** A device that has been away for longer finds its messages in the conversations only. */
const INBOX_SECONDS = 90 * 86_400;

const text = (...names: string[]) => names.map((name) => ({ name, type: "STRING" as const }));

/** Waits for a write that another tab may have done already. Gives whether its condition held. */
async function done(write: Promise<unknown>): Promise<boolean> {
  return write.then(
    () => true,
    (error: unknown) => {
      if (error instanceof TabStoreError && error.code === "OTSConditionCheckFail") return false;
      throw error;
    },
  );
}

/** The chat of a database. */
export class Chat {
  /** Makes the tables, or finds them. */
  static async open(db: Database): Promise<Chat> {
    const chat = new Chat(db);
    await Promise.all([chat.messages, chat.inboxes, chat.rooms, chat.members].map((store) => store.prepareTables()));
    return chat;
  }

  /** The store queue. */
  private readonly messages;
  /** The sync queue. */
  private readonly inboxes;
  /** Who has begun a conversation. */
  private readonly rooms;
  /** Who is in which conversation, and the last id of the inbox that they have read there. */
  private readonly members;

  private constructor(db: Database) {
    const { createTimelineStore, createMetaStore } = timelines(db);
    this.messages = createTimelineStore<Message>({ tableName: "chat_message", identifier: text("room") });
    this.inboxes = createTimelineStore<Delivery>({ tableName: "chat_inbox", identifier: text("user"), timeToLive: INBOX_SECONDS });
    this.rooms = createMetaStore<{ readonly founder: string }>({ tableName: "chat_room", identifier: text("room") });
    this.members = createMetaStore<{ readonly read: SequenceId }>({
      tableName: "chat_member",
      identifier: text("user", "room"),
      indexes: [{ indexName: "chat_member_by_room", primaryKey: ["room"] }],
    });
  }

  /** Comes into a conversation, and begins it if there is none. All that was said before is in its history. `at`: when. */
  async join(user: string, room: string, at = Date.now()): Promise<void> {
    if ((await this.members.read({ user, room })) !== null) return;
    const isNew = { condition: { rowExistence: "EXPECT_NOT_EXIST" } } as const;
    await done(this.rooms.insert({ room }, { founder: user }, isNew));
    const read = await this.inboxOf(user).getLatestSequenceId();
    if (await done(this.members.insert({ user, room }, { read }, isNew))) await this.post(room, { from: user, kind: "join", text: "", at });
  }

  /** Says something. Resolves when the message is in the conversation and in every member's inbox. */
  send(user: string, room: string, said: string, at = Date.now()): Promise<void> {
    return this.post(room, { from: user, kind: "text", text: said, at });
  }

  private async post(room: string, message: Message): Promise<void> {
    const id = await this.historyOf(room).store(message);
    const receivers: TimelineIdentifier[] = [];
    for await (const {
      identifier: { user = "" },
    } of this.members.search({ where: { room }, maxCount: Infinity }))
      receivers.push({ user });
    const results = await this.inboxes.fanOut(receivers, { ...message, room, id });
    const refused = results.find(({ ok }) => !ok);
    if (refused !== undefined) throw refused.error;
  }

  /** The timeline of a conversation. */
  historyOf(room: string): TimelineQueue<Message> {
    return this.messages.createTimelineQueue({ room });
  }

  /** The timeline of a user. */
  inboxOf(user: string): TimelineQueue<Delivery> {
    return this.inboxes.createTimelineQueue({ user });
  }

  /** The user has read a conversation up to an id of their inbox. Several tabs may say so: the latest id stays. */
  async markRead(user: string, room: string, delivered: SequenceId): Promise<void> {
    await done(this.members.update({ user, room }, { read: delivered }, { condition: { rowExistence: "EXPECT_EXIST", column: col("read").lt(delivered) } }));
  }

  /** Catches up: the id of the first message that the user has not read, from the last read id of their inbox on. */
  async firstUnread(user: string, room: string): Promise<SequenceId | undefined> {
    const after = (await this.members.read({ user, room }))?.read;
    const filter = col("room").eq(room).and(col("from").ne(user)).and(col("kind").eq("text"));
    for await (const { message } of this.inboxOf(user).scanForward({ after, filter, maxCount: 1 })) return message.id;
    return undefined;
  }

  // What pages watch, by `db.watch` or `useRows`. An unread message changes the inbox, a read one the membership.

  /** The newest deliveries of a user, newest first. */
  static inbox(user: string): WatchRequest {
    return { tableName: "chat_inbox", direction: "BACKWARD", start: { user, sequence_id: INF_MAX }, end: { user, sequence_id: INF_MIN }, limit: INBOX_ROWS };
  }

  /** The conversations of a user. */
  static memberships(user: string): WatchRequest {
    return { tableName: "chat_member", start: { user, room: INF_MIN }, end: { user, room: INF_MAX } };
  }

  /** The members of a conversation. */
  static membersOf(room: string): WatchRequest {
    return { tableName: "chat_member_by_room", start: { room, user: INF_MIN }, end: { room, user: INF_MAX } };
  }

  /** All conversations. */
  static rooms(): WatchRequest {
    return { tableName: "chat_room" };
  }
}

/** The conversations of a user, the latest first, from the rows of {@link Chat.memberships} and {@link Chat.inbox}. */
export function summaries(user: string, memberships: readonly Row[], inbox: readonly Row[]): Summary[] {
  const all = memberships.map((membership): Summary => {
    const { room } = membership.primaryKey as { room: string };
    const deliveries = inbox.filter((row) => row.get("room") === room);
    const [last] = deliveries;
    const read = membership.get("read") as SequenceId;
    const unread = deliveries.filter(
      (row) => (row.primaryKey.sequence_id as SequenceId) > read && row.get("kind") === "text" && row.get("from") !== user,
    ).length;
    return last === undefined
      ? { room, unread, delivered: 0 }
      : { room, unread, delivered: last.primaryKey.sequence_id as SequenceId, last: last.toObject() as unknown as Delivery };
  });
  return all.sort((a, b) => Number(b.delivered) - Number(a.delivered));
}
