/** Operations for creating a response, or for showing how a request would be served. */
import {
  dryRunExample,
  eventExample,
  requestExamples,
  responseExample,
} from "@sluice/proto/contract/examples/administration.js";
import { dryRunReceipt } from "../request/dry-run.ts";
import { requestShape } from "@sluice/proto/contract/request/request.js";
import { streamEvent } from "@sluice/proto/contract/response/events.js";
import { response } from "@sluice/proto/contract/response/response.js";
import { builtServerTools } from "@sluice/proto/contract/tools/service-tools.js";
import { errorStatuses } from "@sluice/proto/contract/operations/errors.js";
import { sessionHeader, tagsParameter, turnHeaders } from "./headers.ts";
import { eventStream, example, json, operation } from "@sluice/proto/contract/operations/operation.js";

/** Rules of /responses that JSON Schema cannot express. The fuzzer compares them with every refusal of a request accepted by the schema. */
const beyondTheSchema = [
  "`input` is needed, and so is a model: `model` or `models` names it.",
  "An output names a call before it in the same input: by `call_id`, that of an MCP approval by `approval_request_id`, that of a local shell by `id`.",
  "An `item_reference` names an item before it in the same input, since nothing is stored; no two `configuration_update` follow one another.",
  "`max_tool_calls` is 1 to 30, unless `stop_server_tools_when` takes its place.",
  "Names of tools differ; of several advisors or subagents all but one have a name. A subagent inherits functions of the request only; one that waited for the client resumes when its items come back unchanged with all outputs.",
  "`tool_choice` names tools of the request, and `required` needs at least one.",
  "Deferred tools need a tool of type `service:tool_search`; `tool_choice` is then `auto` or `allowed_tools`.",
  `Server tools that the service runs itself: ${builtServerTools.map((type) => `\`${type}\``).join(", ")}. Every other tool that neither the client nor a provider of the model runs is refused by its path.`,
  "Tools that run commands or code (`service:bash`, `service:shell`, `shell` with a container, `service:code_interpreter`, and `code_interpreter` where no provider of the model runs it) need the sandbox of `sandbox.base_url` in the configuration file: 400 without one. Container ids have at most 64 letters, digits, _ and -, and `file_ids` name no files, since nothing is stored.",
  "Each plugin is given once. Rules of `alignment` that the service cannot decide itself need a judge that keeps to the data policy of the request, and an operator may limit how many there are; without a judge such rules are refused in `enforce`.",
  "Stored prompts do not exist: 404.",
];

export const createResponse = operation({
  path: "/responses",
  method: "post",
  tag: "Responses",
  key: "inference",
  summary: "Create a response",
  description:
    "Sends a request to a model and answers with one response object, or with a stream of events when `stream` is true. Until something " +
    "was given out, a failing endpoint is replaced by the next one; a failure that is left has the status that is listed here, also when a " +
    "stream was asked for. After that a stream ends in `response.failed`.\n\nRules beyond the schema:\n\n" +
    beyondTheSchema.map((rule) => `- ${rule}`).join("\n"),
  headers: turnHeaders,
  body: json(requestShape, requestExamples),
  answer: {
    description: "The response, or its events.",
    content: [
      json(response, example(responseExample)),
      eventStream(
        streamEvent,
        example(eventExample, "The data of one event"),
        "Each event is an `event:` line with its type and a `data:` line with one JSON object of this schema; `data: [DONE]` comes last. " +
          "Exactly one of `response.completed`, `response.incomplete` and `response.failed` ends the response.",
      ),
    ],
  },
  // Creating a response never conflicts with another request, so there is no status 409.
  statuses: errorStatuses.filter((status) => status !== 409),
});

export const dryRunResponse = operation({
  path: "/responses/dry-run",
  method: "post",
  tag: "Responses",
  key: "inference",
  summary: "Show how a request would be served",
  description:
    "Takes the body of `POST /responses`, with the same checks, limits and errors, and makes the same decisions, but calls no provider " +
    "and costs nothing. Answers with the receipt, also where `stream` is true, and also where a guardrail would refuse the request: then " +
    "`blocked` is true, and `error` is what it would be refused with. A failure always carries `service_metadata` once it was decided where " +
    "the request could go.",
  headers: [sessionHeader, tagsParameter],
  body: json(requestShape, requestExamples),
  answer: { description: "The receipt.", content: [json(dryRunReceipt, example(dryRunExample))] },
  statuses: [400, 401, 403, 404, 408, 413, 429, 500, 503],
});

export const responseOperations = { createResponse, dryRunResponse };
