/** Shapes shared by administration records, such as names, times, pages, and fields reserved for later. */
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

/** Name of a key or a guardrail. */
export const recordName = string({ min: 1, max: 200, identifier: true });

/** A time in an answer: ISO 8601 in UTC. */
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

/** Whether the month has this day: Date would take the 30th of February for a day of March. */
const isDay = (text: string): boolean =>
  new Date(`${text.slice(0, 10)}T00:00:00Z`).getUTCDate() === Number(text.slice(8, 10));

/** A field whose only valid value is null, because any other value would have no effect. */
export const onlyNull = (subject: string): Shape<null> =>
  described(constant(null, `${subject} not available yet`), `Only null: ${subject} not available yet.`);

/** A boolean whose only valid value is false, because true would have no effect. */
export const onlyFalse = (subject: string): Shape<false> =>
  described(constant(false, `${subject} not available yet`), `Only false: ${subject} not available yet.`);

const oneAtLeast = (value: object, path: string, problems: Problems): void => {
  if (Object.keys(value).length === 0) problems.add(path === "" ? "body" : path, "at least one field");
};

/** Shape of a change, which is an object with at least one field. */
export function changeShape<const F extends Readonly<Record<string, Shape>>>(fields: F) {
  const change = object(fields, { strict: true, also: oneAtLeast, description: "At least one field." });
  const schema = (components: Components): JsonSchema => ({ ...change.schema(components), minProperties: 1 });
  return { ...change, schema };
}

/** Reset intervals of a budget, in UTC: daily at midnight, weekly on Monday, monthly on the first. */
export const resetIntervals = ["daily", "weekly", "monthly"] as const;
export type ResetInterval = (typeof resetIntervals)[number];

/** Cursor of a page, in the same form for every list. */
export const pageCursor = described(
  string({ pattern: { form: /^[\w-]{1,8192}$/, message: "must be the next_cursor of a page" } }),
  "`next_cursor` of the page before, of the same list, order and filters; absent for the first page. Records that are added or removed meanwhile move no others.",
);

export const nextCursor = described(nullable(string()), "Cursor of the next page; null after the last one.");

/** Converts the cursor of a message, in which the empty text means that there is no next page. */
export const toCursorJson = (cursor: string): string | null => (cursor === "" ? null : cursor);

/** Converts a page of records to its JSON in answers. */
export const toPageJson = (
  data: readonly JsonObject[],
  { totalCount, nextCursor: next }: { readonly totalCount: bigint; readonly nextCursor: string },
) => ({ data, total_count: Number(totalCount), next_cursor: toCursorJson(next) });

/** Query fields for a page. @param defaultLimit number of records when `limit` is absent */
export const pageQuery = (defaultLimit: number) => ({
  cursor: pageCursor,
  offset: described(
    integer({ min: 0 }),
    "How many to leave out at the beginning; 0 when absent. Not together with a `cursor`, which is faster in a long list.",
  ),
  limit: described(integer({ min: 1, max: 100 }), `How many to list at most; ${defaultLimit} when absent.`),
});

/** Id of the caller's own workspace, the only valid value; any other gets status 404. */
export const ownWorkspace = described(
  string({ identifier: true }),
  "The workspace of the management key, which is also meant when this is absent. Any other is not found: 404.",
);

/** Shape of a page of records. @param record shape of one record */
export const pageShape = (record: Shape) =>
  object(
    {
      data: described(array(record, { max: 100 }), "The records of this page."),
      total_count: described(integer({ min: 0 }), "How many there are on all pages."),
      next_cursor: nextCursor,
    },
    { required: ["data", "total_count", "next_cursor"] },
  );

/** External id of a record: the id that another program gave to it. */
export const externalIdField = described(nullable(string()), "Id under which a program has put it; null: none has.");

/** Members of the answer to a PUT of a record. */
export const putOutcome = {
  created: described(boolean, "Whether this request made it; false: it was there."),
  changed: described(boolean, "Whether this request made it or changed a setting; false: nothing was written."),
};

/** Answer to the deletion of a record. */
export const deleted = object({ deleted: described(constant(true), "It is gone.") }, { required: ["deleted"] });
