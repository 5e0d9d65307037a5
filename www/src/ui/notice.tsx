/** Things that a person has to know: banners and errors. */

import type { ComponentChildren } from "preact";

import { asError } from "../lib/ended-call.ts";
import { sentence, withDates } from "../lib/format.ts";
import { adviceFor } from "../lib/health.ts";
import { Icon } from "./icon.tsx";

/** The props of a banner. */
interface BannerProps {
  readonly tone: "warning" | "error" | "info" | "good";
  readonly title: string;
  readonly children?: ComponentChildren;
  /** Buttons. */
  readonly actions?: ComponentChildren;
}

/** A banner. Warnings and errors are read out at once. */
export function Banner({ tone, title, children, actions }: BannerProps) {
  return (
    <div class={`banner ${tone}`} role={tone === "error" || tone === "warning" ? "alert" : "status"}>
      {(tone === "warning" || tone === "error") && <Icon name="warning" />}
      <div class="banner-text">
        <strong>{title}</strong>
        {children !== undefined && <div>{children}</div>}
      </div>
      {actions !== undefined && <div class="banner-actions">{actions}</div>}
    </div>
  );
}

/** The reason of a failure: the code and the message of the database, or the console's own text. */
export function ErrorNote({ error }: { readonly error: unknown }) {
  if (error === undefined) return null;
  const { code, message, hint } = asError(error);
  const advice = [hint === undefined ? undefined : withDates(hint), adviceFor(code)].filter((text) => text !== undefined).join(" ");
  return (
    <p class="error-note" role="alert">
      {code !== "Error" && <code>{code}</code>} {advice === "" ? message : `${sentence(message)} ${advice}`}
    </p>
  );
}
