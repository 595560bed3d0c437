/** The body of POST /embeddings. */
import {
  type Shape,
  array,
  described,
  printOnly,
  integer,
  named,
  nullable,
  object,
  string,
  word,
} from "../../lib/validation/shape.ts";
import { providerPreferences } from "./provider.ts";

/** OpenAI's limit; clients know it and split longer lists themselves. */
const maxInputs = 2_048;

/** Empty texts go to the provider: OpenAI answers them. */
const textInput = string();
const tokens = array(integer({ min: 0 }), { min: 1, entry: "token" });
const texts = array(textInput, { min: 1, max: maxInputs, entry: "input" });
const tokenLists = array(tokens, { min: 1, max: maxInputs, entry: "input" });

/** Texts or tokens. The first entry of a list determines the type of the others. */
export const embeddingInput: Shape = {
  check: (value, path, problems) => {
    if (typeof value === "string") return textInput.check(value, path, problems);
    if (!Array.isArray(value)) return problems.add(path, "must be a string or an array of strings or of tokens");
    const [first] = value as readonly unknown[];
    const list = typeof first === "number" ? tokens : Array.isArray(first) ? tokenLists : texts;
    list.check(value, path, problems);
  },
  schema: (components) => ({ anyOf: [textInput, texts, tokens, tokenLists].map((each) => each.schema(components)) }),
};

/** Maximum requested length of a vector; no known model gives more than 4,096 numbers. */
const maxDimensions = 16_384;

export const embeddingsRequest = named(
  "EmbeddingsRequest",
  object(
    {
      model: described(string({ identifier: true, min: 1, max: 256 }), "Slug of an embedding model."),
      input: described(
        printOnly(embeddingInput),
        "One text, a list of texts, the tokens of one text, or a list of such token lists. Tokens are those of the model's own tokenizer, and guardrails cannot read them: a key whose guardrails look at requests sends texts.",
      ),
      encoding_format: described(
        nullable(word("float", "base64")),
        "Form of the vectors: arrays of numbers, which is the default, or base64 of little-endian 32-bit floats.",
      ),
      dimensions: described(
        nullable(integer({ min: 1, max: maxDimensions })),
        "Length of each vector; that of the model when absent. Endpoints that are declared not to know it are not asked.",
      ),
      input_type: described(
        nullable(string({ min: 1, max: 64, pattern: { form: /^[\w-]+$/, message: "letters, digits, _ and - only" } })),
        "Use of the vectors in the words of the model's vendor, such as `RETRIEVAL_QUERY` (Gemini) or `search_document` (Cohere).",
      ),
      user: described(nullable(string({ identifier: true, max: 256 })), "The end user."),
      provider: described(nullable(providerPreferences), "Preferences for where the request is served."),
    },
    { required: ["model", "input"] },
  ),
);
