/** A row of the contract: a request, the request expected at the provider, and the expected answer. */

export const rowDialects = ["chat", "responses", "messages", "gemini", "converse"] as const;
export type RowDialect = (typeof rowDialects)[number];

/** Verdicts, from the best to the worst. */
export const rowVerdicts = ["works", "part", "refused", "missing", "wrong"] as const;
export type RowVerdict = (typeof rowVerdicts)[number];

/**
 * A pattern for a value: each of its fields must match, and for each element of a list some element; a regular expression is tried on the value's
 * JSON.
 */
export type Pattern = unknown;

/** The content of a model's scripted answer, in whatever format the provider uses. */
export interface ModelAnswer {
  readonly text?: string;
  readonly thought?: string;
  readonly calls?: readonly { readonly name: string; readonly args: unknown }[];
  /** An image in the answer, in base64. */
  readonly image?: string;
  /** Whether the answer ends at its token limit. */
  readonly cut?: boolean;
  /** A failure in place of an answer. */
  readonly fails?: { readonly status: number; readonly code?: string; readonly message: string };
  /** Items that only providers of the format `responses` can return. */
  readonly items?: readonly object[];
}

/** Services other than the request's own provider. */
export type ServiceName = "other" | "search" | "moderation" | "page" | "ocr" | "mcp" | "sandbox";

export interface RowCase {
  /** Fields of the request besides `model` and `input`; `input` is "Hi" by default. */
  readonly ask?: Readonly<Record<string, unknown>>;
  /** Formats to which the request is sent, one after another; all five if absent. Other names are models of the installation. */
  readonly on?: readonly string[];
  /** Whether the installation has no search engines and no internal models. */
  readonly bare?: boolean;
  readonly headers?: Readonly<Record<string, string>>;
  readonly says?: readonly ModelAnswer[];
  /** Answers of internal models, and of models that tools call. */
  readonly otherSays?: readonly ModelAnswer[];
  /** Pattern for the last request to the provider. */
  readonly sent?: Pattern;
  /** Pattern for the last request to providers of one format, in place of `sent`. */
  readonly sentBy?: Partial<Record<RowDialect, Pattern>>;
  /** Formats that lack the field, each with the path that the receipt must report as unsent. */
  readonly lost?: Partial<Record<RowDialect, string>>;
  /** Text that no request to the provider may contain. */
  readonly unsent?: RegExp;
  /** Pattern for a request to a service. */
  readonly to?: Partial<Record<ServiceName, Pattern>>;
  /** Pattern for the response, streamed or not. */
  readonly back?: Pattern;
  /** Types of events that the stream must contain in this order, possibly with others between them. */
  readonly events?: readonly string[];
  /** Status and message pattern with which the request must be refused. */
  readonly refused?: readonly [status: number, message: RegExp];
}

export interface Row {
  readonly name: string;
  /** Present verdict of the row, `works` if absent. The tests fail if the verdict gets worse. */
  readonly now?: RowVerdict;
  /** Reason why no setting can make the rest of the row work. */
  readonly final?: string;
  readonly cases: readonly RowCase[];
}

export type RowOutcome = { readonly on: string; readonly verdict: RowVerdict; readonly says: string };

/** @param outcomes one outcome or more */
export function verdictOf(outcomes: readonly RowOutcome[]): RowVerdict {
  const verdicts = new Set(outcomes.map(({ verdict }) => verdict));
  if (verdicts.has("wrong")) return "wrong";
  if (verdicts.size === 1) return outcomes[0]?.verdict ?? "missing";
  if (verdicts.has("works") || verdicts.has("part")) return "part";
  return "missing";
}

export const isWorseVerdict = (verdict: RowVerdict, than: RowVerdict): boolean =>
  rowVerdicts.indexOf(verdict) > rowVerdicts.indexOf(than);

/** The first place where a value does not match a pattern; undefined if all of it matches. */
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
