/**
 * The custom element `<tabstore-inspector>`: the console as a panel of any page of the same origin.
 *
 * @module tabstore/inspector
 */

/** Where the console is unless `src` says it: the place of the plugin `tabstore/vite`. */
const CONSOLE = "/__tabstore/";

const STYLE = `
:host { position: fixed; right: max(12px, env(safe-area-inset-right)); bottom: max(12px, env(safe-area-inset-bottom)); z-index: 2147483000; color-scheme: light dark;
  font: 14px/1.4 system-ui, sans-serif; --ground: light-dark(#fff, #16191d); --text: light-dark(#1a2026, #e6e9ec); --line: light-dark(#c9d0d6, #3a424a); --accent: light-dark(#0b6b6f, #4fc3c7); }
:host([hidden]) { display: none; }
button { min-width: 40px; min-height: 40px; padding: 0 12px; border: 1px solid var(--line); border-radius: 8px; background: var(--ground); color: var(--text); font: inherit; cursor: pointer; }
button:hover { border-color: var(--accent); }
button:focus-visible { outline: 2px solid var(--accent); outline-offset: 2px; }
.panel { position: fixed; right: 12px; bottom: 12px; width: min(1100px, calc(100vw - 24px)); height: min(720px, calc(100dvh - 24px)); display: flex; flex-direction: column;
  border: 1px solid var(--line); border-radius: 10px; background: var(--ground); color: var(--text); box-shadow: 0 10px 40px rgb(0 0 0 / 25%); overflow: hidden; }
.panel[hidden], .open[hidden] { display: none; }
.head { display: flex; align-items: center; gap: 8px; padding: 6px 8px 6px 14px; border-bottom: 1px solid var(--line); }
h2 { flex: 1; margin: 0; font-size: 14px; font-weight: 600; overflow: hidden; text-overflow: ellipsis; white-space: nowrap; }
iframe { flex: 1; width: 100%; border: 0; }
@media (max-width: 640px) { .panel { inset: 0; width: auto; height: auto; border: 0; border-radius: 0; } }
`;

/** Node and server rendering have no elements: importing this does nothing there. */
const Base = (globalThis.HTMLElement ?? class {}) as typeof HTMLElement;

/**
 * A button at the lower right corner of the page, and the panel that it opens. The panel shows the console in a frame, which is loaded
 * when it is opened first. The console is a page of the same origin, so it shows the instances of the page and follows their engines.
 *
 * Attributes: `src`, the folder of the console's files on this origin, `"/__tabstore/"` unless given; `instance`, the instance that it
 * shows first; `open`, whether the panel is open. A page's policy has to allow `frame-src 'self'`.
 *
 * The event `toggle` tells that the panel was opened or closed.
 */
export class TabstoreInspector extends Base {
  static readonly observedAttributes = ["src", "instance", "open"];

  private readonly button: HTMLButtonElement;
  private readonly panel: HTMLElement;
  private readonly title_: HTMLHeadingElement;
  private readonly close_: HTMLButtonElement;
  private frame: HTMLIFrameElement | undefined;

  constructor() {
    super();
    const root = this.attachShadow({ mode: "open" });
    const style = new CSSStyleSheet();
    style.replaceSync(STYLE);
    // A policy of the page may forbid style elements, but not this.
    root.adoptedStyleSheets = [style];
    this.button = this.make("button", { type: "button", class: "open", "aria-expanded": "false", "aria-haspopup": "dialog" }, "TabStore");
    this.panel = this.make("section", { class: "panel", role: "dialog", "aria-labelledby": "title", hidden: "" });
    const head = this.make("div", { class: "head" });
    this.title_ = this.make("h2", { id: "title" }, "TabStore");
    this.close_ = this.make("button", { type: "button" }, "Close");
    head.append(this.title_, this.close_);
    this.panel.append(head);
    root.append(this.button, this.panel);
    this.button.addEventListener("click", () => this.show());
    this.close_.addEventListener("click", () => this.close());
    this.panel.addEventListener("keydown", (event) => this.escape(event));
  }

  /** Where the console's files are, as the attribute says. */
  get src(): string {
    return this.getAttribute("src") ?? CONSOLE;
  }

  set src(value: string) {
    this.setAttribute("src", value);
  }

  /** The instance that the console shows first; empty for the list of instances. */
  get instance(): string {
    return this.getAttribute("instance") ?? "";
  }

  set instance(value: string) {
    this.setAttribute("instance", value);
  }

  /** Whether the panel is open. */
  get open(): boolean {
    return this.hasAttribute("open");
  }

  set open(value: boolean) {
    this.toggleAttribute("open", value);
  }

  /** Opens the panel, and loads the console if it is the first time. */
  show(): void {
    this.open = true;
  }

  /** Closes the panel. The console ends: it holds nothing of the instance any more. */
  close(): void {
    this.open = false;
  }

  /** The element is in the page. */
  connectedCallback(): void {
    this.draw(false);
  }

  /** It is in the page no more. */
  disconnectedCallback(): void {
    this.drop();
  }

  /** An attribute has changed. */
  attributeChangedCallback(name: string, before: string | null, now: string | null): void {
    if (before === now || !this.isConnected) return;
    if (name !== "open") this.drop();
    this.draw(name === "open" && (before === null) !== (now === null));
  }

  private make<K extends keyof HTMLElementTagNameMap>(name: K, attributes: Readonly<Record<string, string>>, text = ""): HTMLElementTagNameMap[K] {
    const made = document.createElement(name);
    for (const [attribute, value] of Object.entries(attributes)) made.setAttribute(attribute, value);
    made.textContent = text;
    return made;
  }

  /** The address of the console. Only a page of this origin sees its instances, and only such a page is shown. */
  private get address(): string | undefined {
    const url = new URL(this.src.endsWith("/") || this.src.endsWith(".html") ? this.src : `${this.src}/`, document.baseURI);
    if (url.origin !== location.origin) return undefined;
    url.hash = this.instance === "" ? "" : `/${encodeURIComponent(this.instance)}`;
    return url.href;
  }

  private draw(moved: boolean): void {
    const { open } = this;
    this.panel.hidden = !open;
    this.button.hidden = open;
    this.button.setAttribute("aria-expanded", String(open));
    this.title_.textContent = this.instance === "" ? "TabStore" : `TabStore: ${this.instance}`;
    if (open) this.load();
    else this.drop();
    if (!moved) return;
    (open ? this.close_ : this.button).focus();
    this.dispatchEvent(new Event("toggle"));
  }

  private load(): void {
    if (this.frame !== undefined) return;
    const { address } = this;
    if (address === undefined) {
      console.error(`<tabstore-inspector>: src ${JSON.stringify(this.src)} is of another origin, where the instances of this page are not seen.`);
      return;
    }
    const frame = (this.frame = this.make("iframe", { title: "TabStore console", src: address }));
    frame.addEventListener("load", () => {
      // Keys that are pressed in the frame are heard there only.
      frame.contentWindow?.addEventListener("keydown", (event) => this.escape(event));
    });
    this.panel.append(frame);
  }

  /** Ends the console. */
  private drop(): void {
    this.frame?.remove();
    this.frame = undefined;
  }

  /** Escape closes the panel, unless something in the console takes it: a dialog, a list of proposals, a field. */
  private escape(event: KeyboardEvent): void {
    if (event.key !== "Escape" || event.defaultPrevented || event.isComposing) return;
    const inside = this.frame?.contentDocument;
    const isField = (event.target as Element | null)?.closest?.("input, textarea, select, [contenteditable]") != null;
    if (isField || inside?.querySelector("dialog[open]") != null) return;
    this.close();
  }
}

declare global {
  interface HTMLElementTagNameMap {
    "tabstore-inspector": TabstoreInspector;
  }
}

// Two copies of the package may be on a page.
if (globalThis.customElements !== undefined && customElements.get("tabstore-inspector") === undefined) {
  customElements.define("tabstore-inspector", TabstoreInspector);
}
