/** Content filters of a guardrail: patterns and built-in detectors, and their actions. */
import type { Problems } from "../../lib/validation/problems.ts";
import {
  type Accepted,
  array,
  childPath,
  described,
  nullable,
  object,
  string,
  word,
} from "../../lib/validation/shape.ts";
import {
  type FilterActionWord,
  type ScanScopeWord,
  filterActions,
  scanScopes,
} from "../../lib/policy/guardrail-words.ts";

/** Placeholders that replace matches of built-in filters. */
export const builtinPlaceholders: Readonly<Record<string, string>> = {
  email: "[EMAIL]",
  phone: "[PHONE]",
  ssn: "[SSN]",
  "credit-card": "[CREDIT_CARD]",
  "ip-address": "[IP_ADDRESS]",
  secrets: "[SECRET]",
  "person-name": "[PERSON_NAME]",
  address: "[ADDRESS]",
  "regex-prompt-injection": "[PROMPT_INJECTION]",
};

/** The only built-in filter that can be limited to user messages. */
export const injectionSlug = "regex-prompt-injection";

/** The action on text that a rule matches. */
export const actionField = described(
  word(...filterActions.all),
  `${filterActions.rows.map(({ word: action, does }) => `${action} ${does}`).join(", ")}.`,
);

const filter = object(
  {
    pattern: described(
      string({ min: 1, max: 100_000, identifier: true }),
      "A regular expression in JavaScript's syntax: no look-around, no back-references; (?i) in front when case does not count. It must not match the empty string.",
    ),
    action: actionField,
    label: described(
      nullable(string({ min: 1, max: 100, identifier: true })),
      "Named to the client in place of the pattern, and put in the place of what is redacted; `[REDACTED]` when absent.",
    ),
  },
  { required: ["pattern", "action"], strict: true },
);

const slug = described(word(...Object.keys(builtinPlaceholders)), "What is looked for.");
const scanScope = described(
  nullable(word(...scanScopes.all)),
  `Only of ${injectionSlug}: whether it looks at everything that a model reads, or at messages of the user alone.`,
);

const builtin = object(
  { slug, action: actionField, scan_scope: scanScope },
  {
    required: ["slug", "action"],
    strict: true,
    also: (entry, path, problems) => {
      const { slug: given, scan_scope: scope } = entry;
      if (scope === undefined || scope === null || given === injectionSlug) return;
      problems.add(childPath(path, "scan_scope"), `only of ${injectionSlug}`);
    },
  },
);

function eachOnce(entries: readonly unknown[], path: string, problems: Problems): void {
  const seen = new Set<unknown>();
  for (const [index, entry] of entries.entries()) {
    const { slug: given } = (entry ?? {}) as { slug?: unknown };
    if (typeof given !== "string") continue;
    if (seen.has(given)) problems.add(childPath(path, `${index}.slug`), `${given} is named before it`);
    seen.add(given);
  }
}

/**
 * Maximum size of all patterns of a guardrail together, in bytes of UTF-8. It equals the maximum body over HTTP, and
 * also applies to gRPC and the command line.
 */
const maxPatternBytes = 1_048_576;

function notTooMuch(filters: readonly unknown[], path: string, problems: Problems): void {
  let bytes = 0;
  for (const filter of filters) {
    const { pattern } = (filter ?? {}) as { pattern?: unknown };
    if (typeof pattern === "string") bytes += Buffer.byteLength(pattern);
  }
  if (bytes > maxPatternBytes) problems.add(path, `at most ${maxPatternBytes} bytes in all patterns together`);
}

const shownFilter = object(
  {
    pattern: described(string({ min: 1 }), "Regular expression in JavaScript's syntax."),
    action: actionField,
    label: described(nullable(string()), "Named in place of the pattern."),
  },
  { required: ["pattern", "action", "label"] },
);

const shownBuiltin = object(
  {
    slug,
    action: actionField,
    label: described(string(), "Placeholder for redacted text."),
    scan_scope: described(word(...scanScopes.all), `Only of ${injectionSlug}.`),
  },
  { required: ["slug", "action", "label"] },
);

/** A content filter as it is stored, shown and enforced. */
export type ContentFilter = Accepted<typeof shownFilter>;

/** A built-in filter as it is stored and enforced. */
export interface BuiltinFilter {
  readonly slug: string;
  readonly action: FilterActionWord;
  /** Part of the model's input that is scanned; null for all of it. */
  readonly scan_scope: ScanScopeWord | null;
}

export const contentFilters = {
  given: described(
    nullable(array(filter, { max: 100, entry: "element", also: notTooMuch })),
    "Patterns to look for in the texts of requests and answers.",
  ),
  shown: described(nullable(array(shownFilter)), "Patterns to look for; null: none."),
};

export const builtinFilters = {
  given: described(
    nullable(array(builtin, { max: 100, entry: "element", also: eachOnce })),
    "Built-in detectors; each at most once.",
  ),
  shown: described(nullable(array(shownBuiltin)), "Built-in detectors; null: none."),
};

/** Converts a built-in filter to its JSON in answers, which includes the placeholder for redacted text. */
export const toBuiltinFilterJson = ({ slug, action, scan_scope }: BuiltinFilter): Accepted<typeof shownBuiltin> => ({
  slug,
  action,
  label: builtinPlaceholders[slug] ?? "",
  ...(scan_scope !== null && { scan_scope }),
});
