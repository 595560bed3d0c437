/** Reads values whose shape was not checked. */

export type JsonRecord = Readonly<Record<string, unknown>>;

export const isJsonRecord = (value: unknown): value is JsonRecord =>
  typeof value === "object" && value !== null && !Array.isArray(value);
export const jsonRecord = (value: unknown): JsonRecord => (isJsonRecord(value) ? value : {});
export const jsonRecords = (value: unknown): JsonRecord[] => (Array.isArray(value) ? value.filter(isJsonRecord) : []);
export const textOrEmpty = (value: unknown): string => (typeof value === "string" ? value : "");
export const numberOrZero = (value: unknown): number => (typeof value === "number" ? value : 0);

/** The first of the values that is a number. */
export const firstCount = (...values: readonly unknown[]): number =>
  numberOrZero(values.find((value) => typeof value === "number"));

/** @returns undefined for invalid JSON */
export function parseJson(text: string): unknown {
  try {
    return JSON.parse(text);
  } catch {
    return undefined;
  }
}

/** The arguments of a call as a value. An empty text means no arguments; invalid JSON stays a text. */
export function argumentsOf(value: unknown): unknown {
  if (typeof value !== "string") return value ?? {};
  return value.trim() === "" ? {} : (parseJson(value) ?? value);
}

/** JSON that is equal for values that differ only in the order of their keys. */
export function canonicalJson(value: unknown): string {
  return JSON.stringify(value, (_, inner: unknown) =>
    isJsonRecord(inner)
      ? Object.fromEntries(Object.entries(inner).sort(([one], [other]) => (one < other ? -1 : 1)))
      : inner,
  );
}
