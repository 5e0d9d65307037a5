/** The headings of a table that a phone shows as cards: there only the roles say that it is a table. */

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
