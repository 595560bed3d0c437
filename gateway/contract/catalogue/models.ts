/** Shapes of GET /models: the models of the catalogue. */
import {
  anyValue,
  array,
  boolean,
  described,
  integer,
  named,
  nullable,
  object,
  string,
  word,
} from "@sluice/proto/lib/validation/shape.js";
import { architecture, pricing, supportedParameters } from "./parts.ts";

export const modelShape = named(
  "Model",
  object(
    {
      id: described(string({ min: 1 }), "Slug by which requests name it."),
      object: word("model"),
      type: described(word("model"), "The same in Anthropic's format, as the two fields after it."),
      display_name: described(string(), "Name for people."),
      created_at: described(string(), "When it came out, as ISO 8601; 1970 when it is not known."),
      canonical_slug: described(string(), "The slug that answers name."),
      name: described(string(), "Name for people."),
      created: described(integer({ min: 0 }), "When it came out, in epoch seconds; 0 when it is not known."),
      owned_by: described(string(), "Who made it: the slug up to its slash."),
      description: described(string(), "For people; may be empty."),
      context_length: described(integer({ min: 1 }), "Tokens of input and output together."),
      architecture,
      pricing: described(pricing, "Prices of its cheapest endpoint of the default tier, if any has one."),
      top_provider: object(
        {
          context_length: nullable(integer({ min: 1 })),
          max_completion_tokens: described(nullable(integer({ min: 1 })), "Tokens that one answer has at most."),
          is_moderated: boolean,
        },
        { required: ["context_length", "max_completion_tokens", "is_moderated"] },
      ),
      per_request_limits: anyValue,
      supported_parameters: supportedParameters,
      default_parameters: described(anyValue, "Null: nothing is sent that a request does not set."),
      supported_voices: anyValue,
      links: object(
        { details: described(string(), "Path of the list of its endpoints.") },
        { required: ["details"], description: "Paths with details of the model." },
      ),
    },
    {
      required: [
        "id",
        "object",
        "canonical_slug",
        "name",
        "created",
        "owned_by",
        "description",
        "context_length",
        "architecture",
        "pricing",
        "top_provider",
        "per_request_limits",
        "supported_parameters",
        "default_parameters",
        "supported_voices",
        "links",
      ],
      description: "A model that can be asked for.",
    },
  ),
);

export const modelCount = named(
  "ModelCount",
  object(
    { data: object({ count: described(integer({ min: 0 }), "How many there are.") }, { required: ["count"] }) },
    { required: ["data"] },
  ),
);

export const modelList = named(
  "ModelList",
  object(
    {
      object: word("list"),
      data: array(modelShape),
      has_more: described(boolean, "Whether there is a next page."),
      first_id: described(nullable(string()), "The first model of the page; null when it is empty."),
      last_id: described(nullable(string()), "The last model of the page; null when it is empty."),
      total_count: described(integer({ min: 0 }), "How many there are without `offset` and `limit`."),
      links: object(
        { next: described(nullable(string()), "Path of the next page; null on the last one.") },
        { required: ["next"] },
      ),
    },
    { required: ["object", "data", "total_count", "links"] },
  ),
);
