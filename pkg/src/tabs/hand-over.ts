/**
 * The hand-over on one page. Many tabs share an instance: one leads, the others follow, and when the leader ends, another one
 * leads. These tables say what follows what in a tab that follows: `state: { event: [next state, action] }`. An event that a state
 * does not name is ignored in it. follower.ts does the actions; each of them is one of its methods.
 *
 * A handle, and its session with the leader:
 *
 * ```text
 *             begin           heard              welcome             agreed
 *  suspended ------> seeking -------> connecting -------> comparing ------> linked
 *                    ^  ^ |   alone   ^  |  ^ |               |              | ^
 *                    |  | +-----------+  |  +-+ late          | ended, alive | | pong
 *        lead, alive |  |                | ended, bye         | bye,         v |
 *                    |  |                |                    | yields     doubting
 *                    |  +----------------|--------------------|--- unheard --+
 *                    |                   v                    v              | bye, gone (linked too)
 *                  waiting <-------------+--------------------+--------------+
 *
 *  Nearly everywhere: suspend, end -> suspended    close -> over          suspended: move -> over
 *  connecting, comparing: refused -> refused       in seeking, connecting, comparing: lead, unheard -> seeking
 * ```
 *
 * The tab, and the lock that it waits for (`leave` leads from everywhere to apart):
 *
 * ```text
 *         begin           met             takeOver, frozen             lead
 *  apart ------> meeting ----> following -----------------> stealing ------> stolen
 *                                  ^                            ^               |
 *                                  |           takeOver, frozen +---------------+
 *                                  +--------------------------------------- lead
 * ```
 *
 * The engine of the page, in a tab that leads too:
 *
 * ```text
 *  opening, reopening ---> leading or following ---> lost, aside, ending ---> reopening
 *                                following ---> leading
 * ```
 */

/** What states do with the events that they know. */
export type Table<S extends string, E extends string, A extends string> = Readonly<Record<S, Readonly<Partial<Record<E, readonly [S, A?]>>>>>;

/** The states of a handle. In those without a session its calls wait. */
export type HandleState =
  /** Its tab does not follow: not yet, not while the page is put aside, or no more, because the tab leads. */
  | "suspended"
  /** Its leader has ended, or takes no followers. The next one says that it leads. */
  | "waiting"
  /** It has asked for a session by way of the shared worker, and waits until the leader has heard it. */
  | "seeking"
  /** A port, or a channel, is on its way to the leader. */
  | "connecting"
  /** The leader has made a session: are the options of both the same? */
  | "comparing"
  /** It has a session. */
  | "linked"
  /** It has a session. The leader has answered a ping by the common channel, and none by the session. */
  | "doubting"
  /** The leader's options are others, or it makes no session for another reason. Its owner closes it. */
  | "refused"
  /** It was closed, or has a session of an engine in this tab. */
  | "over";

export type HandleEvent =
  /** The tab follows from now on. */
  | "begin"
  /** A leader says that it leads. */
  | "lead"
  /** The leader has heard it, and the shared worker knows both. `alone`: there is no shared worker that knows both. */
  | "heard"
  | "alone"
  /** No answer has come to the port that went by way of the shared worker. */
  | "late"
  | "welcome"
  | "agreed"
  /** The leader's guests give way to this tab. */
  | "yields"
  /** The leader has made no session, because it ends. */
  | "ended"
  | "refused"
  /** The leader ends in order. */
  | "bye"
  /** Another leader than that of the session is heard of. */
  | "gone"
  /** The leader has answered a ping: by the session, or by the common channel. */
  | "pong"
  | "alive"
  /** The leader lives, and has answered many pings by the common channel, but this handle in no other way. */
  | "unheard"
  /** The page is put aside. */
  | "suspend"
  /** This tab leads. `move`: its engine takes the calls. */
  | "end"
  | "move"
  | "close";

export type HandleAction = "seek" | "takeChannel" | "introduce" | "compare" | "link" | "lose" | "loseAndSeek" | "giveUp" | "refuse" | "cut" | "keep";

const ALWAYS = { suspend: ["suspended", "cut"], end: ["suspended", "keep"], close: ["over"] } as const;
const WANTS = { ...ALWAYS, lead: ["seeking", "seek"], unheard: ["seeking", "seek"] } as const;
const OFFERED = { ...WANTS, ended: ["waiting", "giveUp"], bye: ["waiting", "giveUp"], refused: ["refused", "refuse"] } as const;
const HAS = { ...ALWAYS, bye: ["waiting", "lose"], gone: ["waiting", "lose"] } as const;

export const HANDLE: Table<HandleState, HandleEvent, HandleAction> = {
  suspended: { ...ALWAYS, begin: ["seeking", "seek"], move: ["over"] },
  waiting: { ...ALWAYS, lead: ["seeking", "seek"], alive: ["seeking", "seek"] },
  seeking: { ...WANTS, heard: ["connecting", "introduce"], alone: ["connecting", "takeChannel"] },
  connecting: { ...OFFERED, late: ["connecting", "takeChannel"], welcome: ["comparing", "compare"] },
  comparing: { ...OFFERED, agreed: ["linked", "link"], yields: ["waiting", "giveUp"] },
  linked: { ...HAS, alive: ["doubting"] },
  doubting: { ...HAS, pong: ["linked"], unheard: ["seeking", "loseAndSeek"] },
  refused: { close: ["over"] },
  over: {},
};

/** The states of a tab that follows. */
export type TabState =
  /** It does not follow. */
  | "apart"
  /** It connects to the shared worker. */
  | "meeting"
  | "following"
  /** The lock is being taken from a frozen leader, by this tab or another one. */
  | "stealing"
  /** The leader has taken the lock so. The shared worker may be frozen with the leader before. */
  | "stolen";

export type TabEvent = "begin" | "met" | "lead" | "takeOver" | "frozen" | "leave";
export type TabAction = "listen" | "beginAll" | "goOver" | "watchAnew" | "steal" | "stopListening";

const LISTENS = { takeOver: ["stealing", "watchAnew"], frozen: ["stealing", "steal"], leave: ["apart", "stopListening"] } as const;

export const TAB: Table<TabState, TabEvent, TabAction> = {
  apart: { begin: ["meeting", "listen"] },
  meeting: { ...LISTENS, met: ["following", "beginAll"], lead: ["meeting", "watchAnew"] },
  following: { ...LISTENS, met: ["following", "beginAll"], lead: ["following", "goOver"] },
  stealing: { ...LISTENS, met: ["stealing", "beginAll"], lead: ["stolen", "goOver"] },
  stolen: { ...LISTENS, met: ["stolen", "beginAll"], lead: ["following", "goOver"] },
};

/** The states of the engine of a page, in a tab that leads too. open/engines.ts goes from one to the next. */
export type EngineState =
  /** It opens for the first time. If that fails, so do the openings that wait for it. */
  | "opening"
  | "leading"
  | "following"
  /** Its lock was taken. Who has it will say so, or is a stranger. */
  | "lost"
  /** The page is in the back/forward cache. */
  | "aside"
  /** It has died, or gives way to another tab. */
  | "ending"
  | "reopening";
