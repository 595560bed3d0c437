/** Shapes shared by administration records: names, times, pages, and fields without a meaning yet. */
import type { JsonObject } from "../../lib/validation/fields.ts";
import type { Problems } from "../../lib/validation/problems.ts";
import {
  type Components,
  type JsonSchema,
  type Shape,
  array,
  boolean,
  constant,
  described,
  integer,
  nullable,
  object,
  string,
} from "../../lib/validation/shape.ts";

/** Name of a key or of a guardrail. */
export const recordName = string({ min: 1, max: 200, identifier: true });

/** A time in an answer: ISO 8601, UTC. */
export const time = string({
  pattern: { form: /^\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d(\.\d+)?Z$/, message: "must be an ISO 8601 time in UTC" },
});

const message = "must be an ISO 8601 time with its zone, such as 2027-01-31T00:00:00Z";
const form =
  /^\d{4}-(0[1-9]|1[0-2])-(0[1-9]|[12]\d|3[01])T([01]\d|2[0-3]):[0-5]\d:[0-5]\d(\.\d{1,9})?(Z|[+-]([01]\d|2[0-3]):[0-5]\d)$/;
const timeText = string({ pattern: { form, message } });

/** A time in a request. */
export const requestTime: Shape<string> = {
  check: (value, path, problems, or) => {
    timeText.check(value, path, problems, or);
    if (typeof value === "string" && form.test(value) && !isDay(value)) problems.add(path, message);
  },
  schema: timeText.schema,
};

/** Whether the month has this day; Date would take the 30th of February for a day of March. */
const isDay = (text: string): boolean =>
  new Date(`${text.slice(0, 10)}T00:00:00Z`).getUTCDate() === Number(text.slice(8, 10));

/** A field whose only valid value is null: any other value would be stored without an effect. */
export const onlyNull = (subject: string): Shape<null> =>
  described(constant(null, `${subject} not available yet`), `Only null: ${subject} not available yet.`);

/** A switch whose only valid value is false, for the same reason as `onlyNull`. */
export const onlyFalse = (subject: string): Shape<false> =>
  described(constant(false, `${subject} not available yet`), `Only false: ${subject} not available yet.`);

const oneAtLeast = (value: object, path: string, problems: Problems): void => {
  if (Object.keys(value).length === 0) problems.add(path === "" ? "body" : path, "at least one field");
};

/** Shape of a change: an object with at least one field. */
export function changeShape<const F extends Readonly<Record<string, Shape>>>(fields: F) {
  const change = object(fields, { strict: true, also: oneAtLeast, description: "At least one field." });
  const schema = (components: Components): JsonSchema => ({ ...change.schema(components), minProperties: 1 });
  return { ...change, schema };
}

/** Reset intervals of a budget, in UTC: at midnight, on Mondays, on the first of the month. */
export const resetIntervals = ["daily", "weekly", "monthly"] as const;
export type ResetInterval = (typeof resetIntervals)[number];

/** The place of a page in a list, in the same form for every list. */
export const pageCursor = described(
  string({ pattern: { form: /^[\w-]{1,8192}$/, message: "must be the next_cursor of a page" } }),
  "`next_cursor` of the page before, of the same list, order and filters; absent for the first page. Records that are added or removed meanwhile move no others.",
);

export const nextCursor = described(nullable(string()), "Cursor of the next page; null after the last one.");

/** An empty text means that there is no next page. */
export const toCursorJson = (cursor: string): string | null => (cursor === "" ? null : cursor);

/** A page of records in the form of answers. */
export const toPageJson = (
  data: readonly JsonObject[],
  { totalCount, nextCursor: next }: { readonly totalCount: bigint; readonly nextCursor: string },
) => ({ data, total_count: Number(totalCount), next_cursor: toCursorJson(next) });

/** @param defaultLimit rows of a page without `limit` */
export const pageQuery = (defaultLimit: number) => ({
  cursor: pageCursor,
  offset: described(
    integer({ min: 0 }),
    "How many to leave out at the beginning; 0 when absent. Not together with a `cursor`, which is faster in a long list.",
  ),
  limit: described(integer({ min: 1, max: 100 }), `How many to list at most; ${defaultLimit} when absent.`),
});

/** The caller's workspace; any other workspace is not found. */
export const ownWorkspace = described(
  string({ identifier: true }),
  "The workspace of the management key, which is also meant when this is absent. Any other is not found: 404.",
);

/** A page of records. @param record shape of one record */
export const pageShape = (record: Shape) =>
  object(
    {
      data: described(array(record, { max: 100 }), "The records of this page."),
      total_count: described(integer({ min: 0 }), "How many there are on all pages."),
      next_cursor: nextCursor,
    },
    { required: ["data", "total_count", "next_cursor"] },
  );

/** The external id of a record, given by another program. */
export const externalIdField = described(nullable(string()), "Id under which a program has put it; null: none has.");

/** Members of the answer to a PUT. */
export const putOutcome = {
  created: described(boolean, "Whether this request made it; false: it was there."),
  changed: described(boolean, "Whether this request made it or changed a setting; false: nothing was written."),
};

/** The answer to a deletion. */
export const deleted = object({ deleted: described(constant(true), "It is gone.") }, { required: ["deleted"] });
