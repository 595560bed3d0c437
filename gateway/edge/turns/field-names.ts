/** Translates field names of a turn to those of the client's format, in errors and receipts from inference-svc. */
import type { Fault } from "@sluice/proto/lib/faults/fault.js";
import { isObject } from "@sluice/proto/lib/validation/fields.js";

/** Names in a client's body for the parts of a turn. */
export interface FieldNames {
  /** Path of the message or block from which an input item was made. */
  item(index: number): string | undefined;
  /** Path of the block from which a part of an item was made. */
  part(item: number, part: number): string | undefined;
  tool(index: number): string | undefined;
  /** Client names of item fields by their names in the turn. A field that is missing here has no counterpart. */
  readonly itemFields: Readonly<Record<string, string>>;
  readonly toolFields: Readonly<Record<string, string>>;
  /** Client names of other fields that differ, by their paths in the turn. */
  readonly fields: Readonly<Record<string, string>>;
  /** Path prefix of fields that the door itself added; receipts leave them out. */
  readonly added?: string;
}

const placed = /^(input|tools)\.(\d+)(?:\.(.*))?$/;
const inPart = /^(?:content|output)\.(\d+)(?:\.(cache_control.*))?/;

/** The path in the client's body for a path in the turn, as exact as possible. */
export function nameField(path: string, names: FieldNames): string {
  const [, list, index, rest = ""] = placed.exec(path) ?? [];
  if (list === "input") return nameInput(Number(index), rest, names) ?? path;
  if (list === "tools") return joinField(names.tool(Number(index)), rest, names.toolFields) ?? path;
  return nameSetting(path, names.fields);
}

function nameInput(index: number, rest: string, names: FieldNames): string | undefined {
  const [, part, mark] = inPart.exec(rest) ?? [];
  const base = part === undefined ? undefined : names.part(index, Number(part));
  if (base === undefined) return joinField(names.item(index), rest, names.itemFields);
  return mark === undefined ? base : `${base}.${mark}`;
}

function joinField(
  base: string | undefined,
  rest: string,
  known: Readonly<Record<string, string>>,
): string | undefined {
  const name = known[rest.split(".", 1)[0] ?? ""];
  return base === undefined || name === undefined ? base : `${base}.${name}`;
}

/** Translates the path of a setting by the longest prefix of it that has a name in `fields`. */
function nameSetting(path: string, fields: Readonly<Record<string, string>>): string {
  for (let end = path.length; end > 0; end = path.lastIndexOf(".", end - 1)) {
    const name = fields[path.slice(0, end)];
    if (name !== undefined) return name + path.slice(end);
  }
  return path;
}

/** The fault with the client's names for the fields it mentions. */
export function nameFaultFields(fault: Fault, names: FieldNames): Fault {
  const { metadata, serviceMetadataJson: receipt } = fault;
  const { param, issues } = metadata ?? {};
  const path = typeof param === "string" ? param : "";
  const named = {
    ...metadata,
    ...(path !== "" && { param: nameField(path, names) }),
    ...(Array.isArray(issues) && { issues: issues.map((issue) => nameIssue(issue, names)) }),
  };
  return fault.with(
    {
      ...(metadata && { metadata: named }),
      ...(receipt && { serviceMetadataJson: nameReceiptFields(receipt, names) }),
    },
    nameIn(fault.message, path, names),
  );
}

function nameIssue(issue: unknown, names: FieldNames): unknown {
  if (!isObject(issue) || typeof issue["path"] !== "string") return issue;
  const { path, message } = issue;
  const messageField = typeof message === "string" ? { message: nameIn(message, path, names) } : {};
  return { ...issue, path: nameField(path, names), ...messageField };
}

const mentioned = /(?<![\w.])(?:input|tools)\.\d+(?:\.\w+)*/g;

/** A sentence with the client's names for the fields it mentions. @param path field that may begin the sentence as its subject */
function nameIn(sentence: string, path: string, names: FieldNames): string {
  const isFirst = path !== "" && sentence.startsWith(path);
  const rest = isFirst ? sentence.slice(path.length) : sentence;
  return (isFirst ? nameField(path, names) : "") + rest.replaceAll(mentioned, (other) => nameField(other, names));
}

/** The receipt with the client's names for fields that were not sent. */
export function nameReceiptFields(json: Uint8Array, names: FieldNames): Uint8Array {
  const text = Buffer.from(json.buffer, json.byteOffset, json.byteLength).toString();
  if (!text.includes('"not_sent"')) return json;
  const receipt: unknown = JSON.parse(text);
  const params = isObject(receipt) ? receipt["params"] : undefined;
  if (!isObject(receipt) || !isObject(params) || !Array.isArray(params["not_sent"])) return json;
  const notSent = params["not_sent"].filter((field) => !isAdded(field, names)).map((field) => nameIssue(field, names));
  const { not_sent: _, ...others } = params;
  const all = { ...others, ...(notSent.length > 0 && { not_sent: notSent }) };
  return Buffer.from(JSON.stringify({ ...receipt, params: all }));
}

const isAdded = (field: unknown, { added }: FieldNames): boolean =>
  added !== undefined && isObject(field) && String(field["path"]).startsWith(added);
