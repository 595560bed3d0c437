/** Operations in Anthropic's Messages format. */
import {
  countTokensRequestExample,
  messageEventExample,
  messageExample,
  messagesRequestExample,
  tokenCountExample,
} from "../examples/messages.ts";
import { message, messageEvent, tokenCountAnswer } from "../messages/message.ts";
import { countTokensRequest, messagesRequest } from "../messages/request.ts";
import { errorStatuses } from "@sluice/proto/contract/operations/errors.js";
import { turnHeaders } from "./headers.ts";
import {
  type PublishedParameter,
  eventStream,
  example,
  json,
  operation,
} from "@sluice/proto/contract/operations/operation.js";

const betaHeader: PublishedParameter = {
  name: "anthropic-beta",
  in: "header",
  description:
    "Names of beta features, divided by commas. They reach Anthropic as they are; other providers do not get them.",
  schema: { type: "string" },
};

const errorForm =
  'A failure is `{"type": "error", "error": {"type", "message", "metadata"}, "request_id"}` with Anthropic\'s types for the status, and the header ' +
  "`request-id` names the request as well.";

export const createMessage = operation({
  path: "/messages",
  method: "post",
  tag: "Responses",
  key: "inference",
  summary: "Create a message",
  description:
    "Takes and answers Anthropic's Messages format, for every model. Keys, limits, budgets, guardrails, plugins and routing are those of " +
    `\`POST /responses\`. ${errorForm}\n\nRules beyond the schema:\n\n` +
    [
      "At least one message has a block that is not empty.",
      "`model` is needed unless `models` names one.",
      "A `tool_result` answers a `tool_use` before it, and `tool_choice` names a tool of the request; a tool of an unknown `type` is refused.",
      "Tools with `defer_loading` are told to the model once a `tool_reference` or `tool_choice` names them, or when a tool search of this request finds them.",
      "Threads are not stored: `thread` is 400 with `error.details`, after which clients that know threads send whole conversations.",
    ]
      .map((rule) => `- ${rule}`)
      .join("\n"),
  headers: [betaHeader, ...turnHeaders],
  body: json(messagesRequest, example(messagesRequestExample)),
  answer: {
    description: "The message, or its events.",
    content: [
      json(message, example(messageExample)),
      eventStream(
        messageEvent,
        example(messageEventExample, "The data of one event"),
        "Each event is an `event:` line with its type and a `data:` line with one JSON object of this schema. `message_stop` ends a stream, " +
          "and so does an `error` after a failure.",
      ),
    ],
  },
  failures: "messages",
  statuses: errorStatuses.filter((status) => status !== 409),
});

export const countMessageTokens = operation({
  path: "/messages/count_tokens",
  method: "post",
  tag: "Responses",
  key: "inference",
  summary: "Count the tokens of a prompt",
  description: `Estimates by size, without calling a provider, which the field \`estimated\` says. An unknown model is 404. It is no turn: it counts as reading in the limits of the key. ${errorForm}`,
  headers: [betaHeader],
  body: json(countTokensRequest, example(countTokensRequestExample)),
  answer: { description: "The number of tokens.", content: [json(tokenCountAnswer, example(tokenCountExample))] },
  failures: "messages",
  statuses: [400, 401, 404, 408, 413, 429, 500, 503],
});

export const messageOperations = { createMessage, countMessageTokens };
