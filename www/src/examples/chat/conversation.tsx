/** A conversation: its messages, which grow in both directions, and a field to write. */

import { useEffect, useState } from "preact/hooks";
import type { Database } from "tabstore";
import { useRows } from "tabstore/react";
import type { SequenceId } from "tabstore/timeline";

import { Chat, type Summary } from "../../../../examples/chat/chat.ts";
import { History } from "../../../../examples/chat/history.ts";
import { counted } from "../../lib/format.ts";
import { formatRoute } from "../../lib/route.ts";
import { useAction } from "../../ui/action.ts";
import { Icon } from "../../ui/icon.tsx";
import { ErrorNote } from "../../ui/notice.tsx";
import { Composer } from "./composer.tsx";
import { Messages } from "./messages.tsx";
import { names, place } from "./parts.tsx";
import { useScroll } from "./scroll.ts";

/** Whether somebody can see this tab. */
function useVisible(): boolean {
  const [visible, setVisible] = useState(document.visibilityState === "visible");
  useEffect(() => {
    const look = () => setVisible(document.visibilityState === "visible");
    document.addEventListener("visibilitychange", look);
    return () => document.removeEventListener("visibilitychange", look);
  }, []);
  return visible;
}

/** The props of a conversation. */
interface ConversationProps {
  readonly db: Database;
  readonly chat: Chat;
  readonly user: string;
  readonly summary: Summary;
}

/** The conversation. It is another component for another one. */
export function Conversation({ db, chat, user, summary: { room, unread, delivered, last: delivery } }: ConversationProps) {
  const [history] = useState(() => new History(chat.historyOf(room)));
  const [loaded, setLoaded] = useState(false);
  const [, redraw] = useState(0);
  /** The first message of those that are new to this person. */
  const [firstNew, setFirstNew] = useState<SequenceId>();
  const [said, setSaid] = useState("");
  const reading = useAction();
  const visible = useVisible();
  const members = useRows(db, Chat.membersOf(room)).rows?.map(({ primaryKey }) => String(primaryKey.user));

  const read = (work: () => Promise<void>) =>
    reading.run(async () => {
      await work();
      redraw((count) => count + 1);
    });
  const { log, atEnd, toEnd, toStart } = useScroll(history, (edge) => {
    if (edge === "older" && history.hasOlder) read(() => history.older());
    if (edge === "newer" && history.hasNewer) read(() => history.newer());
  });

  // The first look: from the first unread message on, or from the end backward.
  const begin = () =>
    read(async () => {
      const first = unread > 0 ? await chat.firstUnread(user, room) : undefined;
      await (first === undefined ? history.newest() : history.around(first));
      setFirstNew(first);
      setLoaded(true);
    });
  useEffect(begin, []);

  // The inbox tells that something has arrived. If the end is shown, it comes behind it. Asked again with each look at the
  // history: something may arrive while its last page is being read.
  const behind = loaded && history.lacks(delivery?.id);
  useEffect(() => {
    if (!behind) return;
    const before = history.entries.length;
    history.newer().then(() => {
      const arrived = history.entries.slice(before).filter(({ message }) => message.from !== user && message.kind === "text");
      const [first] = arrived;
      if (first !== undefined && (!atEnd || !visible) && unread <= arrived.length) setFirstNew(first.sequenceId);
      const last = arrived.at(-1)?.message;
      if (last !== undefined) setSaid(`${last.from}: ${last.text}`);
      redraw((count) => count + 1);
    }, reading.fail);
  }, [behind, delivered]);

  // Who sees the end has read it all.
  const seesEnd = loaded && !behind && atEnd && visible && !history.hasNewer;
  useEffect(() => {
    if (seesEnd && unread > 0) chat.markRead(user, room, delivered).catch(reading.fail);
  }, [seesEnd, unread, delivered]);

  const newest = async () => {
    if (history.hasNewer) await history.newest();
    redraw((count) => count + 1);
    toEnd();
  };
  const send = async (text: string) => {
    await chat.send(user, room, text);
    setFirstNew(undefined);
    await newest();
  };
  const isEmpty = loaded && history.entries.length === 0;
  return (
    <section class="chat-main" aria-labelledby="chat-title">
      <header class="chat-head">
        <a class="button quiet square chat-back" href={formatRoute(place(user))} aria-label="All conversations">
          <Icon name="previous" />
        </a>
        <div>
          <h2 id="chat-title">{room}</h2>
          <p class="faint" title={members?.join(", ")}>
            {members !== undefined && names.format(["You", ...members.filter((one) => one !== user)])}
          </p>
        </div>
        <button
          type="button"
          class="button quiet square"
          aria-label="Go to the beginning"
          title="Go to the beginning"
          onClick={() => {
            toStart();
            read(() => history.oldest());
          }}
        >
          <Icon name="top" />
        </button>
      </header>
      <div class="chat-log" ref={log} tabIndex={0} role="group" aria-label={`Messages in ${room}`}>
        {!loaded && reading.error === undefined && <p class="chat-wait">Reading …</p>}
        {isEmpty && <p class="chat-wait">No messages yet. Say something.</p>}
        {loaded &&
          (history.hasOlder ? (
            <button type="button" class="button small chat-older" aria-disabled={reading.busy} onClick={() => read(() => history.older())}>
              Older messages
            </button>
          ) : (
            !isEmpty && <p class="chat-begin">This is the beginning of {room}.</p>
          ))}
        <Messages entries={history.entries} user={user} firstNew={firstNew} />
        {loaded && history.hasNewer && (
          <button type="button" class="button small chat-older" aria-disabled={reading.busy} onClick={() => read(() => history.newer())}>
            Newer messages
          </button>
        )}
      </div>
      <p class="visually-hidden" role="status">
        {said}
      </p>
      {reading.error !== undefined && (
        <div class="chat-trouble">
          <ErrorNote error={reading.error} />
          <button type="button" class="button small" onClick={loaded ? () => read(() => history.newer()) : begin}>
            Try again
          </button>
        </div>
      )}
      <div class="chat-foot">
        {loaded && !isEmpty && (!atEnd || history.hasNewer) && (
          <button
            type="button"
            class="button chat-newest"
            onClick={() => {
              newest().catch(reading.fail);
            }}
          >
            <Icon name="down" />
            {unread > 0 ? counted(unread, "new message") : "Newest messages"}
          </button>
        )}
        <Composer room={room} send={send} />
      </div>
    </section>
  );
}
