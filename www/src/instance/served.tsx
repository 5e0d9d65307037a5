/** What the console of a server says of its instance: how to enter it, why it is not there. */

import { useState } from "preact/hooks";
import type { TabStoreError } from "tabstore";

import { sentence } from "../lib/format.ts";
import { navigate } from "../state/route.ts";
import { hasTyped, keepKey, served, serverAddress } from "../state/served.ts";
import { openInstance, session, type Wanted } from "../state/session.ts";
import { Field, TextField } from "../ui/field.tsx";
import { Banner } from "../ui/notice.tsx";

const KEY_REFUSED = new Set(["OTSAuthFailed", "OTSNoPermissionAccess"]);

/** A form for the access key: it may do everything, so it needs all rights. */
function KeyForm({ wanted }: { readonly wanted: Wanted }) {
  const [id, setId] = useState("testid");
  const [secret, setSecret] = useState("");
  return (
    <form
      class="stack"
      noValidate
      onSubmit={(event) => {
        event.preventDefault();
        keepKey(id, secret);
        void openInstance(wanted);
      }}
    >
      <TextField label="Access key" name="access-key-id" value={id} onInput={setId} hint="The id that the server was started with." />
      <Field label="Secret" hint="Kept by this tab until it is closed.">
        {(ties) => (
          <input {...ties} type="password" name="access-key-secret" value={secret} autofocus onInput={(event) => setSecret(event.currentTarget.value)} />
        )}
      </Field>
      <div>
        <button type="submit" class="button primary">
          Enter
        </button>
      </div>
    </form>
  );
}

/** The instance could not be opened. */
export function ServedRefused({ wanted, error }: { readonly wanted: Wanted; readonly error: TabStoreError }) {
  if (KEY_REFUSED.has(error.code)) {
    return (
      <Banner tone="warning" title={`“${served}” asks for an access key`}>
        <p>{hasTyped() && sentence(error.message)} The console does everything that an application may, so it needs a key with all rights.</p>
        <KeyForm wanted={wanted} />
      </Banner>
    );
  }
  if (error.code === "OTSObjectNotExist") {
    const own = () => navigate({ instance: served });
    return (
      <Banner
        tone="warning"
        title={`This server has no instance called “${wanted.name}”`}
        actions={
          <button type="button" class="button" onClick={own}>
            Open {served}
          </button>
        }
      >
        A server has one instance: this one has “{served}”.
      </Banner>
    );
  }
  return (
    <Banner tone="error" title={`“${wanted.name}” could not be opened`} actions={<TryAgain wanted={wanted} />}>
      <code>{error.code}</code> {sentence(error.message)}
    </Banner>
  );
}

function TryAgain({ wanted }: { readonly wanted: Wanted }) {
  return (
    <button type="button" class="button" onClick={() => void openInstance(wanted)}>
      Try again
    </button>
  );
}

/** The connection has ended. */
export function ServedFailed({ wanted, error }: { readonly wanted: Wanted; readonly error: TabStoreError }) {
  return (
    <Banner tone="error" title="The server has gone" actions={<TryAgain wanted={wanted} />}>
      <code>{error.code}</code> {sentence(error.message)} Start it again, then try again.
    </Banner>
  );
}

/** The card of the instance on the first page. */
export function ServedCard() {
  return (
    <section class="card span" aria-labelledby="instances-title">
      <h2 id="instances-title">The instance of this server</h2>
      <ul class="instances">
        <li>
          <button type="button" class="instance-open" onClick={() => navigate({ instance: served })}>
            <b>{served}</b>
            <span class="faint">{session.value.state === "open" ? "open" : serverAddress()}</span>
          </button>
        </li>
      </ul>
    </section>
  );
}
