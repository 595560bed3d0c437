/** The catalogue: GET /models. */
import {
  anything,
  array,
  boolean,
  described,
  integer,
  named,
  nullable,
  object,
  string,
  word,
} from "../runtime/validation/shape.ts";

const price = nullable(string({ pattern: { form: /^\d+(\.\d+)?$/, says: "must be a decimal number" } }));

const architecture = object(
  {
    input_modalities: described(array(string()), "What it reads: text, image, file, audio, video."),
    output_modalities: described(array(string()), "What it produces."),
    modality: described(nullable(string()), "Both in one word, such as `text+image->text`."),
    tokenizer: string(),
    instruct_type: nullable(string()),
  },
  { required: ["input_modalities", "output_modalities"] },
);

const model = object(
  {
    id: described(string({ min: 1 }), "Slug by which requests name it."),
    object: word("model"),
    canonical_slug: described(string(), "The slug that answers name."),
    name: described(string(), "Name for people."),
    created: described(integer({ min: 0 }), "Epoch seconds; 0 when it is not known."),
    owned_by: described(string(), "Who made it: the slug up to its slash."),
    description: string(),
    context_length: described(integer({ min: 1 }), "Tokens of input and output together."),
    architecture,
    pricing: object(
      {
        prompt: described(price, "Of an input token."),
        completion: described(price, "Of an output token."),
      },
      { required: ["prompt", "completion"], description: "US dollars as decimal text; null when no price is known." },
    ),
    top_provider: object(
      {
        context_length: nullable(integer({ min: 1 })),
        max_completion_tokens: described(nullable(integer({ min: 1 })), "Tokens that one answer has at most."),
        is_moderated: boolean,
      },
      { required: ["context_length", "max_completion_tokens", "is_moderated"] },
    ),
    per_request_limits: anything,
    supported_parameters: described(array(string()), "Settings of a request that its endpoints know."),
  },
  {
    required: ["id", "object", "name", "created", "owned_by", "context_length", "architecture", "pricing"],
    description: "A model that can be asked for.",
  },
);

export const modelList = named(
  "ModelList",
  object({ object: word("list"), data: array(named("Model", model)) }, { required: ["object", "data"] }),
);
