/**
 * A form keeps only what a person has edited. It shows the record otherwise, so saving sends the edited fields and nothing else: an opened form that is
 * saved changes nothing, whatever a field cannot show.
 */
import type { JsonSchema } from "../reference/document.ts";
import { type FormField, type Special, editableFields } from "./fields.ts";

export type Values = Readonly<Record<string, unknown>>;

export interface RecordForm extends Special {
  readonly fields: readonly FormField[];
  /** Names of the fields in the part of the form that is closed at first. */
  readonly closed: RegExp;
  /** Fields that have no meaning without another one: they are cleared together with it. */
  readonly needs: Readonly<Record<string, string>>;
  /** Values of fields with another name or form in answers. */
  readonly from: Readonly<Record<string, (record: Values) => unknown>>;
}

export interface FormParts extends Partial<Omit<RecordForm, "fields">> {
  /** Schemas of the record: as created, as changed, and as shown in answers. */
  readonly created: JsonSchema;
  readonly changed: JsonSchema;
  readonly shown: JsonSchema;
  /** Names of fields without a place in the form, since another control changes them. */
  readonly leftOut?: readonly string[];
}

export function recordForm({ created, changed, shown, leftOut = [], ...parts }: FormParts): RecordForm {
  const given = { ...changed, required: created["required"] };
  const fields = editableFields(given, shown, parts).filter(({ name }) => !leftOut.includes(name));
  return { closed: /^$/, needs: {}, from: {}, ...parts, fields };
}

/** The values of a record in the form of requests. @param record undefined for a new one */
export function valuesOf({ fields, from }: RecordForm, record: Values | undefined): Values {
  const values = fields.map((field) => [
    field.name,
    record && given(field, (from[field.name] ?? plain(field))(record)),
  ]);
  return Object.fromEntries(values) as Values;
}

const plain =
  ({ name }: FormField) =>
  (record: Values): unknown =>
    record[name];

/** A value of an answer without what requests do not take. */
function given({ kind, parts }: FormField, value: unknown): unknown {
  if ((kind !== "rows" && kind !== "each") || !Array.isArray(value)) return value;
  const taken = new Set(parts.map(({ name }) => name));
  return value.map((entry: Values) => Object.fromEntries(Object.entries(entry).filter(([name]) => taken.has(name))));
}

/** Equality as JSON; a new record has no values, which is the same as cleared ones. */
const isEqual = (one: unknown, other: unknown): boolean =>
  JSON.stringify(one ?? null) === JSON.stringify(other ?? null);

/** The edits after a change of a field; a field that has its former value again is not edited. */
export function withEdit(form: RecordForm, before: Values, edits: Values, name: string, value: unknown): Values {
  const { [name]: _, ...others } = edits;
  if (isEqual(value, before[name])) return others;
  const next = { ...others, [name]: value };
  if (value !== null && value !== undefined) return next;
  return Object.keys(form.needs)
    .filter((dependent) => form.needs[dependent] === name)
    .reduce<Values>((cleared, dependent) => withEdit(form, before, cleared, dependent, null), next);
}
