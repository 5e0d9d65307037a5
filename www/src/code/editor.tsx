/**
 * The editor: CodeMirror, with the parts that a short program needs. It stands in a shadow root, where its styles are adopted style sheets:
 * the page's policy refuses style elements.
 */

import { autocompletion, closeBrackets, closeBracketsKeymap, type CompletionContext, type CompletionResult, completionKeymap } from "@codemirror/autocomplete";
import { defaultKeymap, history, historyKeymap } from "@codemirror/commands";
import { javascriptLanguage } from "@codemirror/lang-javascript";
import { bracketMatching, HighlightStyle, indentOnInput, syntaxHighlighting } from "@codemirror/language";
import { EditorState, type Extension, Prec } from "@codemirror/state";
import { drawSelection, EditorView, highlightSpecialChars, keymap, lineNumbers } from "@codemirror/view";
import { tags } from "@lezer/highlight";
import type { RefObject } from "preact";
import { useEffect, useLayoutEffect, useRef } from "preact/hooks";
import * as tabstore from "tabstore";

/** The colours are the page's: custom properties reach into a shadow root. */
const THEME = EditorView.theme({
  "&": { color: "var(--text)", backgroundColor: "var(--surface)", fontSize: "13px" },
  "&.cm-focused": { outline: "2px solid var(--accent)", outlineOffset: "-1px" },
  ".cm-content": { fontFamily: "var(--mono)", caretColor: "var(--text)", padding: "10px 0" },
  ".cm-content, .cm-gutter": { minHeight: "220px" },
  ".cm-scroller": { lineHeight: "1.55", overflow: "auto" },
  ".cm-gutters": { color: "var(--text-soft)", backgroundColor: "var(--sunken)", borderRight: "1px solid var(--line)" },
  ".cm-cursor": { borderLeftColor: "var(--text)" },
  "&.cm-focused > .cm-scroller > .cm-selectionLayer .cm-selectionBackground, .cm-selectionBackground": { backgroundColor: "var(--accent-soft)" },
  "&.cm-focused .cm-matchingBracket": { backgroundColor: "var(--accent-soft)", outline: "1px solid var(--accent)" },
  ".cm-tooltip": { color: "var(--text)", backgroundColor: "var(--raised)", border: "1px solid var(--line-strong)" },
  ".cm-tooltip.cm-tooltip-autocomplete > ul": { fontFamily: "var(--mono)" },
  ".cm-tooltip.cm-tooltip-autocomplete > ul > li[aria-selected]": { color: "var(--text)", backgroundColor: "var(--accent-soft)" },
  // Below 16 px a phone enlarges the page when the text gets the focus.
  "@media (max-width: 760px)": { "&": { fontSize: "16px" } },
});

const COLOURS = HighlightStyle.define([
  { tag: [tags.keyword, tags.operatorKeyword, tags.modifier], color: "var(--accent-strong)", fontWeight: "600" },
  { tag: [tags.string, tags.regexp, tags.special(tags.string)], color: "var(--string)" },
  { tag: [tags.number, tags.bool, tags.null, tags.atom], color: "var(--number)" },
  { tag: tags.comment, color: "var(--text-soft)", fontStyle: "italic" },
  { tag: [tags.propertyName, tags.definition(tags.variableName)], color: "var(--key)" },
]);

/** The names that a program has without declaring them. */
const GIVEN = ["db", "console", ...Object.keys(tabstore)];

/** The methods of an object's classes. */
function methodsOf(value: object): string[] {
  const found = new Set<string>();
  for (let at: object | null = value; at !== null && at !== Object.prototype; at = Object.getPrototypeOf(at) as object | null) {
    for (const name of Object.getOwnPropertyNames(at)) if (name !== "constructor" && !name.startsWith("_")) found.add(name);
  }
  return [...found].sort();
}

/** Completes the methods of the database, and the names that are given. */
const completer = (db: object) => {
  const methods = methodsOf(db);
  return (context: CompletionContext): CompletionResult | null => {
    const method = context.matchBefore(/\bdb\.\w*$/);
    if (method !== null) return { from: method.from + "db.".length, options: methods.map((label) => ({ label, type: "method" })), validFor: /^\w*$/ };
    const word = context.matchBefore(/(?<![.\w$])[A-Za-z_]\w*$/);
    return word === null ? null : { from: word.from, options: GIVEN.map((label) => ({ label, type: "variable" })), validFor: /^\w*$/ };
  };
};

/** The props of the editor. */
interface EditorProps {
  readonly text: string;
  /** Rises when `text` comes from elsewhere. The editor is ahead of what it has told: else its text counts. */
  readonly replacements: number;
  readonly label: string;
  /** The database whose methods are proposed. */
  readonly db: object;
  readonly onChange: (text: string) => void;
  readonly onRun: () => void;
  /** Gets the editor that is shown, for whoever moves its caret. */
  readonly view: RefObject<EditorView | undefined>;
}

/** Moves the caret to the begin of a line. */
export function goToLine(view: EditorView, line: number): void {
  const { from } = view.state.doc.line(Math.min(line, view.state.doc.lines));
  view.dispatch({ selection: { anchor: from }, scrollIntoView: true });
  view.focus();
}

/** The editor. */
export function Editor({ text, replacements, label, db, onChange, onRun, view }: EditorProps) {
  const host = useRef<HTMLDivElement>(null);
  // What the editor calls is that of the last rendering.
  const now = useRef({ label, onChange, onRun });
  now.current = { label, onChange, onRun };
  useLayoutEffect(() => {
    const place = host.current;
    if (place === null) return;
    const root = place.shadowRoot ?? place.attachShadow({ mode: "open" });
    const run = (): boolean => {
      now.current.onRun();
      return true;
    };
    const extensions: Extension[] = [
      lineNumbers(),
      highlightSpecialChars(),
      history(),
      drawSelection(),
      indentOnInput(),
      bracketMatching(),
      closeBrackets(),
      autocompletion({ override: [completer(db)], icons: false }),
      javascriptLanguage,
      syntaxHighlighting(COLOURS),
      EditorView.lineWrapping,
      EditorView.contentAttributes.of(() => ({ "aria-label": now.current.label })),
      EditorView.updateListener.of((update) => {
        if (update.docChanged) now.current.onChange(update.state.doc.toString());
      }),
      Prec.highest(keymap.of([...["Ctrl-Enter", "Mod-Enter"].map((key) => ({ key, run }))])),
      // The tab key is left to the page: it moves the focus.
      keymap.of([...closeBracketsKeymap, ...completionKeymap, ...historyKeymap, ...defaultKeymap]),
      THEME,
    ];
    const made = new EditorView({ state: EditorState.create({ doc: text, extensions }), parent: root, root });
    view.current = made;
    return () => {
      view.current = undefined;
      made.destroy();
    };
  }, [db]);
  // Another program, from an example or from a dialog.
  useEffect(() => {
    const shown = view.current;
    if (shown === undefined || shown.state.doc.toString() === text) return;
    shown.dispatch({ changes: { from: 0, to: shown.state.doc.length, insert: text }, selection: { anchor: 0 } });
  }, [replacements]);
  // An empty step asks for the label again.
  useEffect(() => view.current?.dispatch({}), [label]);
  return <div ref={host} class="code-editor" />;
}
