/** The operation for counting the tokens of a request. */
import { requestShape } from "@sluice/proto/contract/request/request.js";
import { constant, described, integer, object, word } from "@sluice/proto/lib/validation/shape.js";
import { example, json, operation } from "@sluice/proto/contract/operations/operation.js";

const inputTokens = object(
  {
    object: word("response.input_tokens"),
    input_tokens: described(integer({ min: 0 }), "Tokens of instructions, input and tools, estimated by their size."),
    estimated: described(constant(true), "No provider has counted the tokens."),
  },
  { required: ["object", "input_tokens", "estimated"] },
);

export const countInputTokens = operation({
  path: "/responses/input_tokens",
  method: "post",
  tag: "Responses",
  key: "inference",
  summary: "Count the tokens of a request",
  description:
    "Takes the body of `POST /responses` and answers with an estimate of its input tokens. No provider is called, nothing is recorded, and it " +
    "counts as reading. An unknown model is 404.",
  body: json(requestShape, example({ model: "anthropic/claude-sonnet-4.5", input: "How many tokens is this?" })),
  answer: {
    description: "The number of tokens.",
    content: [json(inputTokens, example({ object: "response.input_tokens", input_tokens: 14, estimated: true }))],
  },
  statuses: [400, 401, 404, 408, 413, 429, 500, 503],
});
