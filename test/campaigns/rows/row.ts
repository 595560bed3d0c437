/** A row of the contract: the request, the expected request at the provider, and the expected answer. */

export const rowDialects = ["chat", "responses", "messages", "gemini", "converse"] as const;
export type RowDialect = (typeof rowDialects)[number];

/** Verdicts from good to bad. */
export const rowVerdicts = ["works", "part", "refused", "missing", "wrong"] as const;
export type RowVerdict = (typeof rowVerdicts)[number];

/** A part of a value: every field of an object, some element for each element of a list; a pattern is tried on the text of the value as JSON. */
export type Pattern = unknown;

/** The words of a model, in any format of its provider. */
export interface ModelAnswer {
  readonly text?: string;
  readonly thought?: string;
  readonly calls?: readonly { readonly name: string; readonly args: unknown }[];
  /** Image of the answer, base64. */
  readonly image?: string;
  /** The answer ends at its limit of tokens. */
  readonly cut?: boolean;
  /** A failure in place of an answer. */
  readonly fails?: { readonly status: number; readonly code?: string; readonly message: string };
  /** Items exclusive to providers of the format `responses`. */
  readonly items?: readonly object[];
}

/** Services in addition to the request's provider. */
export type ServiceName = "other" | "search" | "moderation" | "page" | "ocr" | "mcp" | "sandbox";

export interface RowCase {
  /** Body of the request in addition to `model` and `input`; `input` defaults to "Hi". */
  readonly ask?: Readonly<Record<string, unknown>>;
  /** Formats with a request each; all five when absent. Other names are models of the installation. */
  readonly on?: readonly string[];
  /** The installation without search engines and internal models. */
  readonly bare?: boolean;
  readonly headers?: Readonly<Record<string, string>>;
  readonly says?: readonly ModelAnswer[];
  /** Words of internal models and of models called by tools. */
  readonly otherSays?: readonly ModelAnswer[];
  /** Expected in the last request to the provider. */
  readonly sent?: Pattern;
  /** The same for one format, in place of `sent`. */
  readonly sentBy?: Partial<Record<RowDialect, Pattern>>;
  /** Formats without the field, each with the path reported in the receipt. */
  readonly lost?: Partial<Record<RowDialect, string>>;
  /** Expected in no request to the provider. */
  readonly unsent?: RegExp;
  /** Expected in a request to a service. */
  readonly to?: Partial<Record<ServiceName, Pattern>>;
  /** Expected in the response, streamed or not. */
  readonly back?: Pattern;
  /** Types of the stream's events, in this order and maybe with others between them. */
  readonly events?: readonly string[];
  /** The request must be refused: status and a pattern of the message. */
  readonly refused?: readonly [status: number, message: RegExp];
}

export interface Row {
  readonly name: string;
  /** The row's current verdict; `works` when absent. The tests fail when it gets worse. */
  readonly now?: RowVerdict;
  /** Why the rest of the row is refused for good: no setting changes it. */
  readonly final?: string;
  readonly cases: readonly RowCase[];
}

export type RowOutcome = { readonly on: string; readonly verdict: RowVerdict; readonly says: string };

/** @param outcomes at least one */
export function verdictOf(outcomes: readonly RowOutcome[]): RowVerdict {
  const verdicts = new Set(outcomes.map(({ verdict }) => verdict));
  if (verdicts.has("wrong")) return "wrong";
  if (verdicts.size === 1) return outcomes[0]?.verdict ?? "missing";
  if (verdicts.has("works") || verdicts.has("part")) return "part";
  return "missing";
}

export const isWorseVerdict = (verdict: RowVerdict, than: RowVerdict): boolean =>
  rowVerdicts.indexOf(verdict) > rowVerdicts.indexOf(than);

/** The first place where a value lacks something of a pattern; undefined when it has all of it. */
export function findMissingPart(value: unknown, pattern: Pattern, path = ""): string | undefined {
  if (pattern instanceof RegExp) {
    const text = typeof value === "string" ? value : JSON.stringify(value);
    return pattern.test(text ?? "") ? undefined : `${path || "."} lacks ${pattern}: ${text?.slice(0, 60)}`;
  }
  if (Array.isArray(pattern)) return findMissingElement(value, pattern, path);
  if (typeof pattern !== "object" || pattern === null) {
    return value === pattern ? undefined : `${path} is ${JSON.stringify(value) ?? "absent"}`;
  }
  if (typeof value !== "object" || value === null) return `${path} is ${JSON.stringify(value) ?? "absent"}`;
  for (const [name, inner] of Object.entries(pattern)) {
    const missing = findMissingPart((value as Record<string, unknown>)[name], inner, `${path}.${name}`);
    if (missing !== undefined) return missing;
  }
  return undefined;
}

function findMissingElement(value: unknown, pattern: readonly unknown[], path: string): string | undefined {
  if (!Array.isArray(value)) return `${path} is no list`;
  const lacking = pattern.find((inner) => value.every((element) => findMissingPart(element, inner) !== undefined));
  if (lacking === undefined) return undefined;
  const text = JSON.stringify(lacking, (_, inner: unknown) => (inner instanceof RegExp ? String(inner) : inner));
  return `${path} has no ${text}: ${JSON.stringify(value).slice(0, 100)}`;
}
