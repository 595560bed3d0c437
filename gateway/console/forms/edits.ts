/**
 * A form stores only the fields that a person has edited. Other fields show the record. Saving sends the edited fields and nothing else, so saving an
 * unchanged form changes nothing, even if a field cannot show the stored value completely.
 */
import type { JsonSchema } from "../reference/document.ts";
import { type FormField, type Special, editableFields } from "./fields.ts";

export type Values = Readonly<Record<string, unknown>>;

export interface RecordForm extends Special {
  readonly fields: readonly FormField[];
  /** Matches names of the fields in the part of the form that is collapsed at first. */
  readonly closed: RegExp;
  /** Fields that are meaningless without another field, with its name: clearing the other field clears them. */
  readonly needs: Readonly<Record<string, string>>;
  /** Functions that read a field from an answer in which the field has another name or form. */
  readonly from: Readonly<Record<string, (record: Values) => unknown>>;
}

export interface FormParts extends Partial<Omit<RecordForm, "fields">> {
  /** Schemas of the record: as created, as changed, and as shown in answers. */
  readonly created: JsonSchema;
  readonly changed: JsonSchema;
  readonly shown: JsonSchema;
  /** Names of fields that are not in the form, since another control changes them. */
  readonly leftOut?: readonly string[];
}

export function recordForm({ created, changed, shown, leftOut = [], ...parts }: FormParts): RecordForm {
  const given = { ...changed, required: created["required"] };
  const fields = editableFields(given, shown, parts).filter(({ name }) => !leftOut.includes(name));
  return { closed: /^$/, needs: {}, from: {}, ...parts, fields };
}

/** The values of a record in the form that requests take. @param record undefined for a new record */
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

/** A value of an answer without the members that requests do not accept. */
function given({ kind, parts }: FormField, value: unknown): unknown {
  if ((kind !== "rows" && kind !== "each") || !Array.isArray(value)) return value;
  const taken = new Set(parts.map(({ name }) => name));
  return value.map((entry: Values) => Object.fromEntries(Object.entries(entry).filter(([name]) => taken.has(name))));
}

/** Whether two values are equal as JSON. A missing value equals null: a new record has no values, and cleared fields are null. */
const isEqual = (one: unknown, other: unknown): boolean =>
  JSON.stringify(one ?? null) === JSON.stringify(other ?? null);

/** The edits after a change of a field. A field changed back to its stored value counts as not edited. */
export function withEdit(form: RecordForm, before: Values, edits: Values, name: string, value: unknown): Values {
  const { [name]: _, ...others } = edits;
  if (isEqual(value, before[name])) return others;
  const next = { ...others, [name]: value };
  if (value !== null && value !== undefined) return next;
  return Object.keys(form.needs)
    .filter((dependent) => form.needs[dependent] === name)
    .reduce<Values>((cleared, dependent) => withEdit(form, before, cleared, dependent, null), next);
}
