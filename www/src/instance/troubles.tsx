/** The problems of the open instance that do not end it, and what helps. */

import type { TabStoreError } from "tabstore";

import { failedIndexes, meaningOf, type Trouble } from "../lib/health.ts";
import { logged } from "../state/calls.ts";
import { dismiss, troubles } from "../state/health.ts";
import { database } from "../state/session.ts";
import { readAgain, tables } from "../state/tables.ts";
import { useAction } from "../ui/action.ts";
import { Banner, ErrorNote } from "../ui/notice.tsx";

function Told({ error }: { readonly error: TabStoreError }) {
  return (
    <span class="faint">
      <code>{error.code}</code> {error.message}
    </span>
  );
}

function TroubleBanner({ trouble }: { readonly trouble: Trouble }) {
  const { error } = trouble;
  const { title, help, compact } = meaningOf(error);
  const action = useAction();
  const mend = () =>
    action.run(async () => {
      await logged("Compact", database().name, () => database().compact());
      dismiss(trouble);
      readAgain();
    });
  return (
    <Banner
      tone="warning"
      title={title}
      actions={
        <>
          {compact && (
            <button type="button" class="button" aria-disabled={action.busy} onClick={mend}>
              Compact now
            </button>
          )}
          <button type="button" class="button" onClick={() => dismiss(trouble)}>
            Dismiss
          </button>
        </>
      }
    >
      {help} <Told error={error} />
      <ErrorNote error={action.error} />
    </Banner>
  );
}

/** The banners. Most go away by themselves when the problem is over. */
export function Troubles() {
  return (
    <>
      {troubles.value.map((trouble) => (
        <TroubleBanner key={trouble.error.code} trouble={trouble} />
      ))}
      {failedIndexes(tables.value ?? []).map(({ tableName, indexName, failure }) => (
        <Banner key={`index ${indexName}`} tone="warning" title={`The index ${indexName} of ${tableName} is not complete`}>
          It cannot be read yet. The engine tries again by itself. <Told error={failure} />
        </Banner>
      ))}
    </>
  );
}
