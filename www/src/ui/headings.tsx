/** The headings of tables. A phone shows some as cards: there only the roles say that they are tables. */

import type { ComponentChildren } from "preact";

/** One heading. */
export function Heading({ children }: { readonly children: ComponentChildren }) {
  return (
    <th role="columnheader" scope="col">
      {children}
    </th>
  );
}

/** The heading of a column of buttons: only screen readers need it. */
export function HiddenHeading({ children }: { readonly children: string }) {
  return (
    <Heading>
      <span class="visually-hidden">{children}</span>
    </Heading>
  );
}

/** The row of headings: the titles, and after them what else is given. */
export function Headings({ titles, children }: { readonly titles: readonly string[]; readonly children?: ComponentChildren }) {
  return (
    <thead role="rowgroup">
      <tr role="row">
        {titles.map((title) => (
          <Heading key={title}>{title}</Heading>
        ))}
        {children}
      </tr>
    </thead>
  );
}

/** The headings of a grid's columns, with the types of their values. */
export function ColumnHeadings({
  columns,
}: {
  readonly columns: readonly { readonly name: string; readonly types: readonly string[]; readonly numeric: boolean }[];
}) {
  return (
    <>
      {columns.map(({ name, types, numeric }) => (
        <th key={name} scope="col" class={numeric ? "right" : ""}>
          {name}
          <span class="type">{types.join(" · ")}</span>
        </th>
      ))}
    </>
  );
}
