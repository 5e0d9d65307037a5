/** The bill: the prices that can be typed, its sum, and what each table has in the running hour [C3]. */

import type { ComponentChildren } from "preact";
import type { ConsumedUnits, ReadWrite } from "tabstore";

import { Fact } from "../engine/parts.tsx";
import { monthLike, parsePrice, type TypedPrices } from "../lib/monitoring.ts";
import { showUnits } from "../state/route.ts";
import { Select, TextField } from "../ui/field.tsx";
import { Heading } from "../ui/headings.tsx";
import { type Consumption, HOUR_MS, hours, prices, SECOND_MS, seconds, SPANS, type Span, span, tableHours } from "./readings.ts";
import { cost, units } from "./units.tsx";

/** The fields, and the prices that an instance has if it was opened without any. */
const FIELDS: readonly (readonly [keyof TypedPrices, string, string])[] = [
  ["reservedRead", "Reserved: one read unit a second, for an hour", "0.004"],
  ["reservedWrite", "Reserved: one write unit a second, for an hour", "0.008"],
  ["onDemandRead", "On-demand: 10,000 read units", "0.02"],
  ["onDemandWrite", "On-demand: 10,000 write units", "0.04"],
];

/** The fields for unit prices. */
function PriceFields() {
  const typed = prices.value;
  return (
    <fieldset class="prices">
      <legend>Unit prices, in any currency</legend>
      <div class="columns four">
        {FIELDS.map(([key, label, usual]) => (
          <TextField
            key={key}
            label={label}
            name={key}
            value={typed[key]}
            placeholder={usual}
            error={Number.isNaN(parsePrice(typed[key])) ? "A price is a number, such as 0.004." : undefined}
            onInput={(text) => {
              prices.value = { ...prices.peek(), [key]: text };
            }}
          />
        ))}
      </div>
      <p class="hint">An empty field stands for the price that the instance was opened with. These are examples: nobody is charged.</p>
    </fieldset>
  );
}

const both = ({ read, write }: ReadWrite): ComponentChildren => (
  <>
    <data value={read}>{units(read)}</data> read, <data value={write}>{units(write)}</data> write
  </>
);

function Money({ label, title = "", value }: { readonly label: string; readonly title?: string; readonly value: number }) {
  return (
    <Fact label={label} title={title}>
      <b>
        <data value={value}>{cost(value)}</data>
      </b>
    </Fact>
  );
}

/** What the coming 30 days would cost. */
function Ahead({ byHour, bySecond }: { readonly byHour: Consumption; readonly bySecond: Consumption | undefined }) {
  const minute = monthLike(bySecond?.periods ?? [], SECOND_MS);
  const hour = monthLike(byHour.periods.slice(-2), HOUR_MS);
  const title = "An estimate: the cost of that time, as often as 30 days have it";
  return (
    <>
      {minute !== undefined && <Money label="30 days like the last minute" title={title} value={minute} />}
      {hour !== undefined && <Money label="30 days like the last whole hour" title={title} value={hour} />}
    </>
  );
}

function Sum({ total, children }: { readonly total: ConsumedUnits; readonly children: ComponentChildren }) {
  return (
    <div class="sum" role="group" aria-label={`The sum of ${SPANS[span.value]}`}>
      <Fact label="Reserved, in unit-hours" title="The averages of the hours, summed up: one unit a second that is reserved for an hour is one">
        {both(total.reserved)}
      </Fact>
      <Fact label="On-demand units, in all">{both(total.onDemand)}</Fact>
      <Fact label="Used units, in all">{both(total.consumed)}</Fact>
      <Money label={`Bill of ${SPANS[span.value]}`} value={total.cost} />
      {children}
    </div>
  );
}

/** What each table has used of the running hour. */
function ByTable() {
  const list = tableHours.value;
  if (list.length === 0) return null;
  return (
    <div class="grid-scroll" tabIndex={0} role="region" aria-label="This hour by table">
      <table class="grid">
        <caption>This hour, by table</caption>
        <thead>
          <tr>
            {["Table", "Reserved a second, on average", "On-demand, in all", "Cost"].map((title) => (
              <Heading key={title}>{title}</Heading>
            ))}
          </tr>
        </thead>
        <tbody>
          {list.map(({ tableName, units: used }) => (
            <tr key={tableName}>
              <th scope="row">
                <button type="button" class="link" onClick={() => showUnits(tableName)}>
                  {tableName}
                </button>
              </th>
              <td>{both(used.reserved)}</td>
              <td>{both(used.onDemand)}</td>
              <td>
                <data value={used.cost}>{cost(used.cost)}</data>
              </td>
            </tr>
          ))}
        </tbody>
      </table>
    </div>
  );
}

/** The part of the page, with the charts of the hours between its sum and its tables. */
export function Bill({ children }: { readonly children: ComponentChildren }) {
  const shown = hours.value;
  return (
    <section class="monitor-part" aria-labelledby="bill-title">
      <div class="row">
        <h2 id="bill-title">Hours and the bill</h2>
        <span class="push chart-choice">
          <Select
            label="Hours that are shown"
            value={span.value}
            options={Object.entries(SPANS) as [Span, string][]}
            onChange={(chosen) => {
              span.value = chosen;
            }}
          />
        </span>
      </div>
      <p class="hint">
        Reserved units are averaged over an hour, and paid for whether they are used or not; the running hour counts as far as it has gone. What a second uses
        above them is on-demand, and is summed up. The meter keeps hours for 30 days.
      </p>
      <PriceFields />
      {shown !== undefined && (
        <Sum total={shown.total}>
          <Ahead byHour={shown} bySecond={seconds.value} />
        </Sum>
      )}
      {children}
      <ByTable />
    </section>
  );
}
