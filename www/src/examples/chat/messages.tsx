/** The messages of a conversation: by days, and by who said them. */

import { Fragment } from "preact";
import { memo } from "preact/compat";
import type { SequenceId, TimelineEntry } from "tabstore/timeline";

import type { Message } from "../../../../examples/chat/chat.ts";
import { Avatar, clock, day, sameDay } from "./parts.tsx";

/** Messages of one person that come within this time stand together. */
const TOGETHER = 5 * 60_000;

/** The props of a message. */
interface OneProps {
  readonly id: string;
  readonly message: Message;
  readonly mine: boolean;
  /** Whether it stands under the one before, without its own head. */
  readonly follows: boolean;
}

const One = memo(function One({ id, message: { from, kind, text, at }, mine, follows }: OneProps) {
  const time = <time dateTime={new Date(at).toISOString()}>{clock(at)}</time>;
  if (kind === "join")
    return (
      <li class="chat-joined" data-id={id}>
        {mine ? "You" : from} joined {time}
      </li>
    );
  return (
    <li class={`chat-message ${mine ? "mine" : ""} ${follows ? "follows" : ""}`} data-id={id}>
      {!mine && (follows ? <span /> : <Avatar name={from} />)}
      <div class="bubble">
        <span class={mine || follows ? "visually-hidden" : "chat-from"}>{mine ? "You" : from}</span>
        <p dir="auto">{text}</p>
        {time}
      </div>
    </li>
  );
});

/** The messages. `firstNew`: where a line says that what follows is new. */
export function Messages({
  entries,
  user,
  firstNew,
}: {
  readonly entries: readonly TimelineEntry<Message>[];
  readonly user: string;
  readonly firstNew: SequenceId | undefined;
}) {
  return (
    <ol class="chat-messages">
      {entries.map(({ sequenceId, message }, place) => {
        const before = entries[place - 1]?.message;
        const newDay = before === undefined || !sameDay(before.at, message.at);
        const isNew = sequenceId === firstNew;
        const follows = !newDay && !isNew && before.from === message.from && before.kind === "text" && message.at - before.at < TOGETHER;
        return (
          <Fragment key={String(sequenceId)}>
            {newDay && (
              <li class="chat-day">
                <span>{day(message.at)}</span>
              </li>
            )}
            {isNew && (
              <li class="chat-new">
                <span>New messages</span>
              </li>
            )}
            <One id={String(sequenceId)} message={message} mine={message.from === user} follows={follows} />
          </Fragment>
        );
      })}
    </ol>
  );
}
