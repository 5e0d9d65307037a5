/** The conversations of a person, those that they may join, and a field for a new one. */

import { useState } from "preact/hooks";

import { type Chat, INBOX_ROWS, type Summary } from "../../../../examples/chat/chat.ts";
import { formatRoute } from "../../lib/route.ts";
import { useAction } from "../../ui/action.ts";
import { Icon } from "../../ui/icon.tsx";
import { ErrorNote } from "../../ui/notice.tsx";
import { Avatar, NAME_LETTERS, place, when } from "./parts.tsx";
import { addSample, SAMPLE } from "./samples.ts";

/** A count for a badge. */
const count = (unread: number) => (unread > 99 ? "99+" : String(unread));

function preview({ last }: Summary, user: string): string {
  if (last === undefined) return "Nothing new since you joined";
  const from = last.from === user ? "You" : last.from;
  return last.kind === "join" ? `${from} joined` : `${from}: ${last.text}`;
}

function Room({ summary, user, current }: { readonly summary: Summary; readonly user: string; readonly current: boolean }) {
  const { room, unread, last } = summary;
  return (
    <li>
      <a class={`chat-room ${unread > 0 ? "unread" : ""}`} href={formatRoute(place(user, room))} aria-current={current ? "page" : undefined}>
        <Avatar name={room} square />
        <span class="chat-room-name">{room}</span>
        <span class="chat-room-time">{last !== undefined && when(last.at)}</span>
        <span class="chat-room-last">{preview(summary, user)}</span>
        {unread > 0 && (
          <span class="badge" title={unread >= INBOX_ROWS ? `${INBOX_ROWS} or more` : undefined}>
            {count(unread)}
            <span class="visually-hidden"> unread</span>
          </span>
        )}
      </a>
    </li>
  );
}

/** The props of the list. */
interface RoomListProps {
  readonly chat: Chat;
  readonly user: string;
  /** The one shown. */
  readonly room: string | undefined;
  readonly mine: readonly Summary[];
  readonly others: readonly string[];
  readonly join: (room: string) => Promise<void>;
}

/** The list. */
export function RoomList({ chat, user, room, mine, others, join }: RoomListProps) {
  const [name, setName] = useState("");
  const action = useAction();
  const typed = name.trim();
  const start = () => {
    if (typed === "") return;
    action.run(async () => {
      await join(typed);
      setName("");
    });
  };
  const hasSample = others.includes(SAMPLE) || mine.some((one) => one.room === SAMPLE);
  const company = ["Ann", "Bob", "Eve"].filter((one) => one !== user).slice(0, 2);
  return (
    <nav class="chat-side" aria-label="Conversations">
      <div class="chat-me">
        <Avatar name={user} />
        <span class="chat-me-name">
          <b>{user}</b>
          <span class="faint">in this tab</span>
        </span>
        <a class="link" href={formatRoute({ example: "chat" })}>
          Change
        </a>
      </div>
      <div class="chat-rooms">
        <h2>Conversations</h2>
        {mine.length === 0 && <p class="empty">None yet.</p>}
        <ul>
          {mine.map((summary) => (
            <Room key={summary.room} summary={summary} user={user} current={summary.room === room} />
          ))}
        </ul>
        {others.length > 0 && (
          <>
            <h2>To join</h2>
            <ul>
              {others.map((other) => (
                <li key={other} class="chat-other">
                  <Avatar name={other} square />
                  <span class="chat-room-name">{other}</span>
                  <button
                    type="button"
                    class="button small"
                    aria-label={`Join ${other}`}
                    aria-disabled={action.busy}
                    onClick={() => action.run(() => join(other))}
                  >
                    Join
                  </button>
                </li>
              ))}
            </ul>
          </>
        )}
        {!hasSample && (
          <button type="button" class="chat-sample" aria-disabled={action.busy} onClick={() => action.run(() => addSample(chat))}>
            <b>Add a sample conversation</b>
            <span class="faint">Ann and Bob have talked for weeks, so there is something to scroll through.</span>
          </button>
        )}
        <ErrorNote error={action.error} />
      </div>
      <form
        class="chat-start"
        onSubmit={(event) => {
          event.preventDefault();
          start();
        }}
      >
        <input
          type="text"
          aria-label="Name of a new conversation"
          placeholder="New conversation"
          value={name}
          maxLength={NAME_LETTERS}
          autocomplete="off"
          onInput={(event) => setName(event.currentTarget.value)}
        />
        <button type="submit" class="button square" aria-label="Start the conversation" title="Start" aria-disabled={action.busy || typed === ""}>
          <Icon name="add" />
        </button>
      </form>
      <p class="chat-company">
        Open a tab as{" "}
        {company.map((one, at) => (
          <span key={one}>
            {at > 0 && " or "}
            <a target="_blank" rel="noopener" href={formatRoute(place(one, room))}>
              {one}
            </a>
          </span>
        ))}
      </p>
    </nav>
  );
}
