/** Values as texts to edit. */
import type { FormField, TextKind } from "./fields.ts";

interface Conversion {
  readonly show: (value: never) => string;
  /** Converts an edited text to its value. @throws SyntaxError for a text that is not a valid value */
  readonly read: (text: string) => unknown;
}

/** A time in the browser's time zone, in the form of a datetime-local field. */
const localTime = (value: string): string => {
  const time = new Date(value);
  return new Date(time.getTime() - time.getTimezoneOffset() * 60_000).toISOString().slice(0, 16);
};

const conversions: Readonly<Record<TextKind, Conversion>> = {
  text: { show: (value: string) => value, read: (text) => text.trim() },
  code: { show: (value: string) => value, read: (text) => text },
  number: { show: String, read: Number },
  time: { show: localTime, read: (text) => new Date(text).toISOString() },
  lines: {
    show: (value: readonly string[]) => value.join("\n"),
    read: (text) => text.split("\n").flatMap((line) => (line.trim() === "" ? [] : [line.trim()])),
  },
  pairs: { show: (value: Readonly<Record<string, string>>) => linesOfPairs(value), read: pairsOf },
  json: { show: (value: unknown) => JSON.stringify(value, null, 2), read: (text) => JSON.parse(text) as unknown },
};

function linesOfPairs(pairs: Readonly<Record<string, string>>): string {
  return Object.entries(pairs)
    .map(([name, value]) => `${name}=${value}`)
    .join("\n");
}

function pairsOf(text: string): Readonly<Record<string, string>> {
  const lines = text.split("\n").filter((line) => line.trim() !== "");
  return Object.fromEntries(
    lines.map((line) => {
      const end = line.indexOf("=");
      if (end === -1) throw new SyntaxError("One name=value a line");
      return [line.slice(0, end).trim(), line.slice(end + 1).trim()];
    }),
  );
}

export const isText = (kind: FormField["kind"]): kind is TextKind => kind in conversions;

type TextFormField = Pick<FormField, "clears"> & { readonly kind: TextKind };

export const textOf = ({ kind }: TextFormField, value: unknown): string =>
  value === null || value === undefined ? "" : conversions[kind].show(value as never);

/**
 * The value of an edited text. A text may show less than its value has, such as a time without its seconds, so an unchanged text keeps the value before.
 * @throws SyntaxError
 */
export function valueOfText(field: TextFormField, text: string, before: unknown): unknown {
  if (text === textOf(field, before)) return before;
  if (text.trim() === "") return field.clears ? null : field.kind === "number" ? undefined : "";
  return conversions[field.kind].read(text);
}
