/** Where to go from the show: a lesson, a file of one's own, the same in code. */

import { useState } from "preact/hooks";

import { FilePick } from "../importing/file-pick.tsx";
import { formatRoute } from "../lib/route.ts";
import type { ShowTexts } from "../texts/show.ts";
import { Icon } from "../ui/icon.tsx";

/** The show in ten lines: they run as they stand, in any page with the package. */
export const CODE = `import { open } from "tabstore";

const db = await open("my-app");
await db.createTable({ tableName: "flight", primaryKey: [{ name: "id", type: "STRING" }] });
const writer = db.writer("flight");
for (let n = 0; n < 10_000; n++) await writer.put({ id: \`F\${n}\`, delay: n % 180 });
await writer.close();
const { row, trace } = await db.getRow({ tableName: "flight", primaryKey: { id: "F7" }, trace: true });
console.log(row?.columns, trace?.steps);
console.log(await db.getWorkEvents());`;

function Code({ texts }: { readonly texts: ShowTexts["doors"] }) {
  const [isCopied, setCopied] = useState(false);
  const copy = () => void navigator.clipboard.writeText(CODE).then(() => setCopied(true));
  return (
    <details class="show-code">
      <summary>{texts.code}</summary>
      <pre tabIndex={0} lang="en">
        <code>{CODE}</code>
      </pre>
      <p class="row">
        <button type="button" class="button small" onClick={copy}>
          {texts.copy}
        </button>
        <span role="status">{isCopied ? texts.copied : ""}</span>
      </p>
    </details>
  );
}

/** The doors. */
export function Doors({ texts }: { readonly texts: ShowTexts["doors"] }) {
  return (
    <section class="stack" aria-labelledby="doors-title">
      <h2 id="doors-title">{texts.title}</h2>
      <div class="choices">
        <a class="choice" href={formatRoute({ lesson: 1, step: 1 })}>
          <b>{texts.lesson}</b>
          <span>{texts.lessonAbout}</span>
        </a>
        <FilePick class="choice">
          <b>
            <Icon name="upload" /> {texts.file}
          </b>
          <span>{texts.fileAbout}</span>
        </FilePick>
      </div>
      <Code texts={texts} />
    </section>
  );
}
