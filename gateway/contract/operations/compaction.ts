/** The operation for shortening a conversation. */
import { outputItem } from "@sluice/proto/contract/items/output.js";
import { requestShape } from "@sluice/proto/contract/request/request.js";
import { usage } from "@sluice/proto/contract/response/response.js";
import {
  array,
  described,
  integer,
  named,
  nullable,
  object,
  string,
  word,
} from "@sluice/proto/lib/validation/shape.js";
import { errorStatuses } from "@sluice/proto/contract/operations/errors.js";
import { example, json, operation } from "@sluice/proto/contract/operations/operation.js";

const compacted = named(
  "CompactedConversation",
  object(
    {
      id: string({ min: 1 }),
      object: word("response.compaction"),
      created_at: described(integer({ min: 0 }), "Epoch seconds at which the request came in."),
      output: described(
        array(outputItem),
        "An item `compaction`, which takes the place of the input in later requests.",
      ),
      usage: described(nullable(usage), "What the summary consumed."),
    },
    {
      required: ["id", "object", "created_at", "output", "usage"],
      description: "An item in the place of a conversation.",
    },
  ),
);

export const compactResponse = operation({
  path: "/responses/compact",
  method: "post",
  tag: "Responses",
  key: "inference",
  summary: "Compact a conversation",
  description:
    "Takes the body of `POST /responses`, and answers with an item that stands for its whole input: a summary by the model of " +
    "`internal_models.compactor`, or else by that of the request, beside the user's own words. The item is sealed: only Sluice reads it, for " +
    "requests of the same workspace and any model. The answer is one object: `stream: true` is refused. An input that ends in an item `compaction_trigger` asks `POST /responses` for the same.",
  body: json(
    requestShape,
    example({
      model: "anthropic/claude-sonnet-4.5",
      input: [
        { type: "message", role: "user", content: "Add a test for parse()." },
        { type: "message", role: "assistant", content: "Done: test/parse.test.ts covers the empty text, too." },
      ],
    }),
  ),
  answer: {
    description: "The item in the place of the input.",
    content: [
      json(
        compacted,
        example({
          id: "resp_7b0c1d2e3f",
          object: "response.compaction",
          created_at: 1_790_000_000,
          output: [
            {
              type: "compaction",
              id: "cmp_4f5a6b7c8d",
              status: "completed",
              encrypted_content: "sluice:compaction:wHk3",
            },
          ],
          usage: {
            input_tokens: 181,
            input_tokens_details: { cached_tokens: 0, cache_write_tokens: 0 },
            output_tokens: 40,
            output_tokens_details: { reasoning_tokens: 0 },
            total_tokens: 221,
          },
        }),
      ),
    ],
  },
  statuses: errorStatuses.filter((status) => status !== 409),
});
