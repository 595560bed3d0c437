/** Finds the requested JSON in an answer, and repairs its errors step by step. Correct text is not changed. */
import { parseWithin } from "@sluice/proto/lib/json/values.js";
import { isObject } from "@sluice/proto/lib/validation/fields.js";
import type { Yielding } from "../../turn/time-slice.ts";
import type { Region } from "../../turn/replacements.ts";
import { type Candidate, candidatesIn } from "./candidates.ts";

export interface WantedJson {
  readonly mode: "json_object" | "json_schema";
  /** Which of several candidates is taken if they fit: with a schema the last, since the schema tells the final answer from earlier examples. */
  readonly pick: "first" | "last";
  /** Whether the value has the requested form. @throws UncheckableSchema */
  fits(value: unknown): Yielding<boolean>;
}

export const anyObject: WantedJson = {
  mode: "json_object",
  pick: "first",
  // oxlint-disable-next-line require-yield
  *fits(value) {
    return isObject(value);
  },
};

/**
 * How the JSON was healed. extracted: it stood among other words; repaired: its syntax was wrong; unwrapped: it was
 * inside a string; opened: its first bracket was missing.
 */
export type HealingMethod = "extracted" | "repaired" | "unwrapped" | "opened" | "unescaped";

export type Verdict =
  /** The answer is correct without changes. */
  | { readonly is: "right" }
  | { readonly is: "healed"; readonly text: string; readonly regions: readonly Region[]; readonly how: HealingMethod }
  | { readonly is: "left"; readonly why: "truncated" | "unfit" | "unrepairable" };

/** Maximum levels of JSON within JSON strings unwrapped; deeper nesting is never a mistake. */
const maxWrappings = 2;

/** Finds the requested JSON in an answer. @throws UncheckableSchema */
export function* healJson(text: string, wanted: WantedJson, wrappings = 0): Yielding<Verdict> {
  const value = parsed(text);
  if (value !== undefined && (yield* wanted.fits(value))) return { is: "right" };
  if (typeof value === "string" && wrappings < maxWrappings)
    return yield* within(text, value, "unwrapped", wanted, wrappings);
  if (value !== undefined) return { is: "left", why: "unfit" };
  const other = wrappings < maxWrappings ? otherText(text) : undefined;
  if (other) return yield* within(text, other.text, other.how, wanted, wrappings);
  const { found, failure } = yield* candidatesIn(text);
  if (failure) return { is: "left", why: failure === "truncated" ? "truncated" : "unrepairable" };
  for (const candidate of inOrder(found, wanted)) {
    const { json, regions, isWhole } = candidate;
    const inner = parsed(json);
    if (inner === undefined || !(yield* wanted.fits(inner))) continue;
    return { is: "healed", text: json, regions, how: isWhole ? "extracted" : "repaired" };
  }
  return { is: "left", why: found.length > 0 ? "unfit" : "unrepairable" };
}

/** Parses JSON. @returns undefined for invalid JSON; no valid JSON has this value */
function parsed(text: string): unknown {
  try {
    return parseWithin(text);
  } catch {
    return undefined;
  }
}

/** Sorts candidates: fenced before others, and valid JSON before repaired JSON. */
function inOrder(found: readonly Candidate[], { mode, pick }: WantedJson): readonly Candidate[] {
  const rank = ({ isFenced, isWhole }: Candidate) => (isFenced ? 0 : 1) + (isWhole ? 0 : 2);
  // If there is no schema, only the form distinguishes an object from a sentence in brackets.
  const meant = mode === "json_schema" ? found : found.filter(({ isMeant }) => isMeant);
  return (pick === "last" ? meant.toReversed() : meant).toSorted((a, b) => rank(a) - rank(b));
}

const escapedStart = /^\s*[[{]\s*\\+"/;
const entityStart = /[[{,]\s*&(?:quot|#34|#x22);/;
const keyStart = /^\s*(?:"[^"\n]{1,512}"|'[^'\n]{1,512}')\s*:/;

/** The text after the repair of a rarer error that changes all of it; undefined when it has none. */
function otherText(text: string): { readonly text: string; readonly how: HealingMethod } | undefined {
  if (escapedStart.test(text)) {
    const inner = parsed(`"${text.trim().replaceAll(/\r?\n/g, String.raw`\n`)}"`);
    return typeof inner === "string" ? { text: inner, how: "unwrapped" } : undefined;
  }
  if (entityStart.test(text)) return { text: unescaped(text), how: "unescaped" };
  return keyStart.test(text) ? { text: `{${text}`, how: "opened" } : undefined;
}

/** Heals a text derived from the answer, and returns a verdict on the answer. */
function* within(
  text: string,
  inner: string,
  how: HealingMethod,
  wanted: WantedJson,
  wrappings: number,
): Yielding<Verdict> {
  const verdict = yield* healJson(inner, wanted, wrappings + 1);
  if (verdict.is === "left") return verdict;
  const healed = verdict.is === "right" ? inner : verdict.text;
  return { is: "healed", text: healed, regions: [{ start: 0, end: text.length, placeholder: healed }], how };
}

const entities: Readonly<Record<string, string>> = {
  quot: '"',
  "#34": '"',
  "#x22": '"',
  apos: "'",
  "#39": "'",
  lt: "<",
  gt: ">",
  amp: "&",
};

const unescaped = (text: string): string =>
  text.replaceAll(/&(quot|#34|#x22|apos|#39|lt|gt|amp);/g, (_, name: string) => entities[name] as string);
