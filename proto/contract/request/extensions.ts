/** Fields of other API formats, accepted by POST /responses as extensions. */
import {
  type Shape,
  array,
  childPath,
  integer,
  map,
  named,
  number,
  object,
  string,
  stringOr,
  word,
} from "../../lib/validation/shape.ts";

export type Door = "responses" | "chat" | "messages";

/** The formats of clients. */
export const door: Shape<Door> = word("responses", "chat", "messages");

const maxStops = 16;
const stopText = string({ min: 1, max: 1_024 });

export const stop = stringOr(
  stopText,
  array(stopText, { max: maxStops }),
  "must be a string, an array of strings or null",
);

/** A larger number would be rounded when JSON is parsed. */
const maxSeed = Number.MAX_SAFE_INTEGER;

export const seed = integer({ min: -maxSeed, max: maxSeed });

const tokenId = /^\d{1,10}$/;

export const logitBias = map(number({ min: -100, max: 100 }), {
  max: 1_024,
  key: {
    check: (key, path, problems) => {
      if (!tokenId.test(key)) problems.add(childPath(path, key.slice(0, 64)), "keys must be ids of tokens");
    },
    schema: { pattern: tokenId.source },
  },
});

const predictedPart = object({ type: word("text"), text: string() }, { required: ["type", "text"] });

export const prediction = named(
  "Prediction",
  object(
    {
      type: word("content"),
      content: stringOr(string(), array(predictedPart), "must be a string or an array of text parts"),
    },
    { required: ["type", "content"], description: "Text that the answer will mostly repeat." },
  ),
);

/** Visible ASCII without a comma, because a header lists the names separated by commas. */
export const anthropicBeta = string({
  max: 128,
  pattern: { form: /^[!-+\--~]+$/, message: "1 to 128 visible ASCII characters without commas" },
});

export const anthropicBetas = array(anthropicBeta, { max: 64 });

const edit: Shape = object({ type: string({ min: 1 }) }, { required: ["type"] });
const edits = array(edit, { max: 32, entry: "edit" });
const editsObject = object({ edits }, { required: ["edits"] });

/** Anthropic's form, which may be empty. */
export const contextEdits = object({ edits });

/** Anthropic's object with edits, or OpenAI's list. Further members of an edit are the provider's own. */
export const contextManagement: Shape = {
  check: (value, path, problems) => (Array.isArray(value) ? edits : editsObject).check(value, path, problems),
  schema: (components) => ({ anyOf: [editsObject.schema(components), edits.schema(components)] }),
};
