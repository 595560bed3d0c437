/** The answer of POST /embeddings. */
import {
  array,
  boolean,
  described,
  integer,
  named,
  number,
  object,
  string,
  stringOr,
  word,
} from "@sluice/proto/lib/validation/shape.js";
import { serviceMetadataShape } from "@sluice/proto/contract/response/service-metadata.js";

const count = integer({ min: 0 });

const embedding = object(
  {
    object: word("embedding"),
    index: described(count, "Place of its text in the input."),
    embedding: described(
      stringOr(string(), array(number()), "must be a string or an array"),
      "The vector, in the form that `encoding_format` asks for.",
    ),
  },
  { required: ["object", "index", "embedding"] },
);

const usage = object(
  {
    prompt_tokens: described(count, "Tokens of the input."),
    total_tokens: described(count, "The same."),
    is_estimated: described(boolean, "True when the provider counted nothing, so that this is an estimate by size."),
    cost: described(number({ min: 0 }), "US dollars by the price list; absent when no price is known."),
  },
  { required: ["prompt_tokens", "total_tokens"] },
);

export const embeddings = named(
  "Embeddings",
  object(
    {
      object: word("list"),
      data: described(array(embedding), "The vectors, in the order of the input."),
      model: described(string(), "Slug of the model."),
      usage,
      service_metadata: serviceMetadataShape,
    },
    { required: ["object", "data", "model", "usage"], description: "The vectors of texts." },
  ),
);
