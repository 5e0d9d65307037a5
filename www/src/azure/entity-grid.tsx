/** The entities of a page as a table: the keys first, then every property that any of them has. */

import { useMemo } from "preact/hooks";

import { moveFocus, useRowFocus } from "../browse/row-focus.ts";
import type { EdmType, Entity } from "../lib/entities.ts";
import { useColumns } from "../ui/column-pager.tsx";
import { ColumnHeadings } from "../ui/headings.tsx";
import { isNumber, PropertyText } from "./value.tsx";

/** The props of the grid. */
interface EntityGridProps {
  readonly table: string;
  readonly entities: readonly Entity[];
  readonly onOpen: (entity: Entity) => void;
}

/** The properties of all entities together, with the types that occur in each, by name. */
function typesOf(entities: readonly Entity[]): ReadonlyMap<string, ReadonlySet<EdmType>> {
  const columns = new Map<string, Set<EdmType>>();
  for (const { name, type } of entities.flatMap(({ properties }) => properties)) columns.set(name, (columns.get(name) ?? new Set()).add(type));
  return columns;
}

const Key = ({ text }: { readonly text: string }) => (text === "" ? <span class="none">empty</span> : <span class="value string">{text}</span>);

/** The grid. An entity opens by its first cell, which is a button, or by a click anywhere in its row. */
export function EntityGrid({ table, entities, onOpen }: EntityGridProps) {
  const types = useMemo(() => typesOf(entities), [entities]);
  const { names, pager } = useColumns([...types.keys()].sort(), entities.length);
  const columns = names.map((name) => ({ name, types: [...(types.get(name) ?? [])] })).map((one) => ({ ...one, numeric: one.types.every(isNumber) }));
  const { body, focused } = useRowFocus(entities);
  const timed = entities.some(({ timestamp }) => timestamp !== undefined);
  return (
    <>
      {pager}
      <div class="grid-scroll" tabIndex={-1}>
        <table class="grid" onKeyDown={moveFocus}>
          <caption class="visually-hidden">Entities of {table}. Arrow keys move between them, Enter opens one.</caption>
          <thead>
            <tr>
              {["PartitionKey", "RowKey"].map((name) => (
                <th key={name} scope="col" class="key">
                  {name}
                  <span class="type">String</span>
                </th>
              ))}
              <ColumnHeadings columns={columns} />
              {timed && (
                <th scope="col">
                  Timestamp<span class="type">DateTime</span>
                </th>
              )}
            </tr>
          </thead>
          <tbody ref={body}>
            {entities.map((entity, place) => {
              const { partitionKey, rowKey, timestamp, properties } = entity;
              const byName = new Map(properties.map((property) => [property.name, property]));
              return (
                <tr
                  key={JSON.stringify([partitionKey, rowKey])}
                  onFocusIn={() => focused(place)}
                  onClick={(event) => {
                    // To its button the focus comes back.
                    event.currentTarget.querySelector("button")?.focus();
                    onOpen(entity);
                  }}
                >
                  <td class="key">
                    <button
                      type="button"
                      class="open-row"
                      title="Open this entity"
                      aria-label={`Open ${partitionKey} / ${rowKey}`}
                      onClick={(event) => {
                        event.stopPropagation();
                        onOpen(entity);
                      }}
                    >
                      <Key text={partitionKey} />
                    </button>
                  </td>
                  <td class="key">
                    <Key text={rowKey} />
                  </td>
                  {columns.map(({ name, numeric }) => (
                    <td key={name} class={numeric ? "right" : ""}>
                      <PropertyText value={byName.get(name)} />
                    </td>
                  ))}
                  {timed && <td class="faint">{timestamp}</td>}
                </tr>
              );
            })}
          </tbody>
        </table>
      </div>
    </>
  );
}
