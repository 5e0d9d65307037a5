/** The page of the chat: who this tab is, and then their conversations. The chat itself is in `examples/chat`. */

import { useEffect, useMemo, useState } from "preact/hooks";
import type { Database } from "tabstore";
import { useRows } from "tabstore/react";

import { Chat, summaries } from "../../../../examples/chat/chat.ts";
import { formatRoute } from "../../lib/route.ts";
import { navigate, route } from "../../state/route.ts";
import { useAction } from "../../ui/action.ts";
import { TextField } from "../../ui/field.tsx";
import { ErrorNote } from "../../ui/notice.tsx";
import { Failure } from "../failure.tsx";
import { useInstance } from "../instance.ts";
import { titleMark } from "../title.ts";
import { Conversation } from "./conversation.tsx";
import { Avatar, NAME_LETTERS, place } from "./parts.tsx";
import { RoomList } from "./room-list.tsx";

/** Names to begin with. */
const PEOPLE = ["Ann", "Bob", "Eve"];
function Who() {
  const [name, setName] = useState("");
  const typed = name.trim();
  return (
    <section class="chat-who card" aria-labelledby="who-title">
      <h2 id="who-title">Who are you in this tab?</h2>
      <p class="faint">Each tab may be another person. Open a second tab to talk to yourself.</p>
      <ul class="row">
        {PEOPLE.map((one) => (
          <li key={one}>
            <a class="button" href={formatRoute(place(one))}>
              <Avatar name={one} />
              {one}
            </a>
          </li>
        ))}
      </ul>
      <form
        class="row"
        onSubmit={(event) => {
          event.preventDefault();
          if (typed !== "") navigate(place(typed));
        }}
      >
        <TextField label="Another name" value={name} onInput={(text) => setName(text.slice(0, NAME_LETTERS))} />
        <button type="submit" class="button primary" aria-disabled={typed === ""}>
          Go on
        </button>
      </form>
    </section>
  );
}

function Nothing({
  user,
  room,
  joined,
  join,
}: {
  readonly user: string;
  readonly room: string | undefined;
  readonly joined: boolean;
  readonly join: (room: string) => Promise<void>;
}) {
  const action = useAction();
  if (room === undefined) {
    return (
      <div class="chat-nothing">
        <h2>{joined ? "Choose a conversation" : `Hello, ${user}`}</h2>
        <p>{joined ? "It opens where you stopped reading." : "You are in no conversation yet. Start one, or join one that is there."}</p>
      </div>
    );
  }
  return (
    <div class="chat-nothing">
      <h2>You are not in {room} yet</h2>
      <p>When you join, you can read all that was said before.</p>
      <ErrorNote error={action.error} />
      <button type="button" class="button primary" aria-disabled={action.busy} onClick={() => action.run(() => join(room))}>
        Join {room}
      </button>
    </div>
  );
}

function Chatting({ db, chat, user }: { readonly db: Database; readonly chat: Chat; readonly user: string }) {
  const { room } = route.value.settings ?? {};
  const memberships = useRows(db, Chat.memberships(user));
  const inbox = useRows(db, Chat.inbox(user));
  const rooms = useRows(db, Chat.rooms());
  const mine = useMemo(() => summaries(user, memberships.rows ?? [], inbox.rows ?? []), [user, memberships.rows, inbox.rows]);
  const unread = mine.reduce((sum, one) => sum + one.unread, 0);
  useEffect(() => {
    titleMark.value = `${unread > 0 ? `(${unread}) ` : ""}${user} – `;
    return () => {
      titleMark.value = "";
    };
  }, [unread, user]);
  const error = memberships.error ?? inbox.error ?? rooms.error;
  if (error !== undefined) return <ErrorNote error={error} />;
  if (memberships.rows === undefined || inbox.rows === undefined || rooms.rows === undefined)
    return (
      <p class="chat-wait" role="status">
        Looking for your conversations …
      </p>
    );

  const others = rooms.rows.map(({ primaryKey }) => String(primaryKey.room)).filter((name) => !mine.some((one) => one.room === name));
  const join = async (name: string) => {
    await chat.join(user, name);
    navigate(place(user, name));
  };
  const shown = mine.find((one) => one.room === room);
  return (
    <div class={`chat ${room === undefined ? "" : "in-room"}`}>
      <RoomList chat={chat} user={user} room={room} mine={mine} others={others} join={join} />
      {shown === undefined ? (
        <section class="chat-main" aria-label="Conversation">
          <Nothing user={user} room={room} joined={mine.length > 0} join={join} />
        </section>
      ) : (
        <Conversation key={shown.room} db={db} chat={chat} user={user} summary={shown} />
      )}
    </div>
  );
}

/** The page. */
export function ChatPage() {
  const { db, error, again } = useInstance("example-chat");
  const [chat, setChat] = useState<Chat>();
  const [refused, setRefused] = useState<unknown>();
  useEffect(() => {
    setChat(undefined);
    setRefused(undefined);
    if (db === undefined) return;
    let gone = false;
    Chat.open(db).then(
      (opened) => gone || setChat(opened),
      (reason: unknown) => gone || setRefused(reason),
    );
    return () => {
      gone = true;
    };
  }, [db]);
  const failure = error ?? refused;
  if (failure !== undefined) return <Failure error={failure} again={again} />;
  if (db === undefined || chat === undefined)
    return (
      <p class="chat-wait" role="status">
        Opening the chat …
      </p>
    );
  const user = route.value.settings?.as?.trim().slice(0, NAME_LETTERS);
  return user === undefined || user === "" ? <Who /> : <Chatting key={user} db={db} chat={chat} user={user} />;
}
