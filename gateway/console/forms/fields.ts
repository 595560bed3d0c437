/** Fields of a form, derived from the described record: type, limits, choices and help are those of the contract. */
import type { JsonSchema } from "../reference/document.ts";

/** Kinds of fields that are edited as a text. */
export type TextKind = "text" | "code" | "number" | "time" | "lines" | "pairs" | "json";

/**
 * How a value is edited. `words` are some of a few, `lines` one text a line, `pairs` one name with its text a line, `rows` an extensible list of objects, `each` an object for some of a few
 * words, `member` an object with a single editable field, `lists` an object with lists of names, of which each may be absent. JSON stands for everything else, so that each field can be edited.
 */
export type Kind = TextKind | "check" | "choice" | "words" | "rows" | "each" | "member" | "lists";

export interface FormField {
  readonly name: string;
  readonly label: string;
  readonly hint: string | undefined;
  readonly kind: Kind;
  /** Schema of the value, without its null. */
  readonly schema: JsonSchema;
  /** Whether the field may be null, shown as an empty control. */
  readonly clears: boolean;
  readonly required: boolean;
  /** Fields of an entry of a list, or of the object itself. */
  readonly parts: readonly FormField[];
}

/** Labels and controls that a form sets itself, by the name of a field or of a part of a field. */
export interface Special {
  readonly labels?: Readonly<Record<string, string>>;
  readonly kinds?: Readonly<Record<string, Kind>>;
}

/**
 * The editable fields of an object, in the order of its description. Fields with a single possible value and deprecated fields have nothing to edit.
 * @param given schema of the object in requests
 * @param shown schema of the object in answers
 */
export function editableFields(
  given: JsonSchema,
  shown: JsonSchema | undefined,
  special: Special,
): readonly FormField[] {
  const required = new Set((given["required"] ?? []) as readonly string[]);
  const answers = propertiesOf(shown);
  return Object.entries(propertiesOf(given)).flatMap(([name, described]) => {
    const { schema, nullable } = withoutNull(described);
    if ("const" in schema || described["deprecated"] === true) return [];
    const answer = answers[name] && withoutNull(answers[name]);
    const kind = special.kinds?.[name] ?? kindOf(schema);
    const field = {
      name,
      label: special.labels?.[name] ?? phrase(name),
      hint: hintOf(described),
      kind,
      schema,
      // A word that every answer contains can never be empty.
      clears: nullable && (kind !== "choice" || answer === undefined || answer.nullable),
      required: required.has(name),
      parts: partsOf(schema, answer?.schema, special),
    };
    return [field];
  });
}

const propertiesOf = (schema: JsonSchema | undefined): Readonly<Record<string, JsonSchema>> =>
  (schema?.["properties"] ?? {}) as Readonly<Record<string, JsonSchema>>;

const itemsOf = (schema: JsonSchema | undefined): JsonSchema | undefined => schema?.["items"] as JsonSchema | undefined;

function withoutNull(schema: JsonSchema): { readonly schema: JsonSchema; readonly nullable: boolean } {
  const [inner, other] = (schema["anyOf"] ?? []) as readonly JsonSchema[];
  return inner && other?.["type"] === "null" ? { schema: inner, nullable: true } : { schema, nullable: false };
}

function partsOf(given: JsonSchema, shown: JsonSchema | undefined, special: Special): readonly FormField[] {
  if (given["type"] === "array") return editableFields(itemsOf(given) ?? {}, itemsOf(shown), special);
  return given["type"] === "object" ? editableFields(given, shown, special) : [];
}

function kindOf(schema: JsonSchema): Kind {
  if (schema["enum"] !== undefined) return "choice";
  switch (schema["type"]) {
    case "string":
      return "text";
    case "integer":
    case "number":
      return "number";
    case "boolean":
      return "check";
    case "array":
      return kindOfList(itemsOf(schema) ?? {});
    case "object":
      if (Object.keys(propertiesOf(schema)).length > 0) return hasOnlyLists(schema) ? "lists" : "member";
      return (schema["additionalProperties"] as JsonSchema | undefined)?.["type"] === "string" ? "pairs" : "json";
    default:
      return "json";
  }
}

/** Whether each field is a list of texts, or null. */
const hasOnlyLists = (schema: JsonSchema): boolean =>
  Object.values(propertiesOf(schema)).every((described) => {
    const { schema: list, nullable } = withoutNull(described);
    return nullable && kindOf(list) === "lines";
  });

function kindOfList(entry: JsonSchema): Kind {
  if (entry["enum"] !== undefined) return "words";
  if (entry["type"] === "object") return "rows";
  return entry["type"] === "string" ? "lines" : "json";
}

/** The field's description in the form, where an empty control stands for null. */
const hintOf = ({ description }: JsonSchema): string | undefined =>
  typeof description === "string" ? description.replaceAll("Null:", "Empty:") : undefined;

/** Words that are not simply capitalized at the first letter. */
const spellings: Readonly<Record<string, string>> = {
  openai: "OpenAI",
  xai: "xAI",
  ...Object.fromEntries(["ip", "ssn", "us", "usd", "zdr"].map((word) => [word, word.toUpperCase()])),
};

/** A name of the contract as a phrase: `ip-address` becomes "IP address". */
export function phrase(name: string): string {
  const words = name.split(/[-_]/).map((word) => spellings[word] ?? word);
  return words.map((word, at) => (at === 0 ? word.charAt(0).toUpperCase() + word.slice(1) : word)).join(" ");
}

/** The words to choose from. */
export const wordsOf = ({ schema }: FormField): readonly string[] =>
  ((schema["enum"] ?? itemsOf(schema)?.["enum"] ?? []) as readonly string[]).map(String);
