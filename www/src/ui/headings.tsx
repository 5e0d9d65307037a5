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
  first,
}: {
  readonly columns: readonly { readonly name: string; readonly types: readonly string[]; readonly numeric: boolean }[];
  /** The place of the first of them in the table, from 1, where not all columns are drawn. */
  readonly first?: number | undefined;
}) {
  return (
    <>
      {columns.map(({ name, types, numeric }, at) => (
        <th
          key={name}
          scope="col"
          class={numeric ? "right" : ""}
          title={first === undefined ? undefined : name}
          aria-colindex={first === undefined ? undefined : first + at}
        >
          {name}
          <span class="type">{types.join(" · ")}</span>
        </th>
      ))}
    </>
  );
}
