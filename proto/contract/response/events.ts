/** Events of a stream: one shape for each type, and the union of them. */
import {
  type ObjectShape,
  type Shape,
  anyValue,
  array,
  described,
  integer,
  named,
  nullable,
  object,
  openTagged,
  string,
  tagged,
  word,
} from "../../lib/validation/shape.ts";
import { outputItem } from "../items/output.ts";
import { annotation, logprob, openObject, parts } from "../items/parts.ts";
import { response } from "./response.ts";
import { fusionAnalysis } from "../items/service-items.ts";

const index = integer({ min: 0 });
const text = (description: string): Shape => described(string(), description);

const ofItem = {
  item_id: text("The item that the event belongs to."),
  output_index: described(index, "Its position in `output`."),
} as const;
const ofPart = { ...ofItem, content_index: described(index, "Position of the part in `content`.") } as const;
const ofSummary = { ...ofItem, summary_index: described(index, "Position of the part in `summary`.") } as const;

const delta = text("What is appended.");
const logprobs = described(array(logprob), "Probabilities of its tokens; empty unless asked for and given.");
const whole = { response: described(response, "The response as it stands.") } as const;
const item = { output_index: ofItem.output_index, item: outputItem } as const;
const part = tagged("type", {
  output_text: parts.outputText,
  refusal: parts.refusal,
  reasoning_text: parts.reasoningText,
});
const summaryPart = { part: parts.summaryText } as const;
const ofModel = { ...ofItem, model: text("Model of the panel.") } as const;

type Payload = Readonly<Record<string, Shape>>;

interface Described {
  readonly message: string;
  readonly payload: Payload;
  /** Optional fields. */
  readonly optional?: readonly string[];
}

const event = (message: string, payload: Payload, optional?: readonly string[]): Described => ({
  message,
  payload,
  ...(optional && { optional }),
});

/** Progress events of a tool run by the provider. */
const progress = (message: string): Described => event(message, ofItem);

const events: Readonly<Record<string, Described>> = {
  "response.created": event("The response exists. First event, after debug events only.", whole),
  "response.in_progress": event("The turn runs.", whole),
  "response.completed": event("The turn has ended as it should. Last event.", whole),
  "response.incomplete": event("The turn was cut off. Last event.", whole),
  "response.failed": event("The turn failed after the stream had begun. Last event.", whole),

  "response.output_item.added": event("An item begins.", item),
  "response.output_item.done": event("The item is whole.", item),
  "response.content_part.added": event("A part begins.", { ...ofPart, part }),
  "response.content_part.done": event("The part is whole.", { ...ofPart, part }),
  "response.output_text.delta": event("Text goes on.", { ...ofPart, delta, logprobs }),
  "response.output_text.done": event("The text is whole.", { ...ofPart, text: text("All of it."), logprobs }),
  "response.output_text.annotation.added": event("A passage has a source.", {
    ...ofPart,
    annotation_index: described(index, "Position in `annotations`."),
    annotation,
  }),
  "response.refusal.delta": event("A refusal goes on.", { ...ofPart, delta }),
  "response.refusal.done": event("The refusal is whole.", { ...ofPart, refusal: text("All of it.") }),

  "response.function_call_arguments.delta": event("Arguments go on.", { ...ofItem, delta }),
  "response.function_call_arguments.done": event("The arguments are whole.", {
    ...ofItem,
    name: text("Name of the function."),
    arguments: text("Arguments as JSON text."),
  }),
  "response.custom_tool_call_input.delta": event("Input of a custom tool goes on.", { ...ofItem, delta }),
  "response.custom_tool_call_input.done": event("The input is whole.", { ...ofItem, input: text("All of it.") }),
  "response.apply_patch_call_operation_diff.delta": event("A diff goes on.", { ...ofItem, delta }),
  "response.apply_patch_call_operation_diff.done": event("The diff is whole.", { ...ofItem, diff: text("All of it.") }),

  "response.reasoning_text.delta": event("Raw reasoning goes on.", { ...ofPart, delta }),
  "response.reasoning_text.done": event("The reasoning is whole.", { ...ofPart, text: text("All of it.") }),
  "response.reasoning_summary_part.added": event("A summary begins.", { ...ofSummary, ...summaryPart }),
  "response.reasoning_summary_part.done": event("The summary is whole.", { ...ofSummary, ...summaryPart }),
  "response.reasoning_summary_text.delta": event("A summary goes on.", { ...ofSummary, delta }),
  "response.reasoning_summary_text.done": event("The text of a summary is whole.", {
    ...ofSummary,
    text: text("All of it."),
  }),

  "response.web_search_call.in_progress": progress("A search begins."),
  "response.web_search_call.searching": progress("The search runs."),
  "response.web_search_call.completed": progress("The search is over."),
  "response.file_search_call.in_progress": progress("A search in files begins."),
  "response.file_search_call.searching": progress("The search runs."),
  "response.file_search_call.completed": progress("The search is over."),
  "response.image_generation_call.in_progress": progress("An image begins."),
  "response.image_generation_call.generating": progress("The image is being made."),
  "response.image_generation_call.partial_image": event("The image as far as it is.", {
    ...ofItem,
    partial_image_b64: text("The image in base64."),
    partial_image_index: described(index, "Number of the preview, counted from 0."),
  }),
  "response.image_generation_call.completed": progress("The image is made."),
  "response.code_interpreter_call.in_progress": progress("A run of code begins."),
  "response.code_interpreter_call.interpreting": progress("The code runs."),
  "response.code_interpreter_call.completed": progress("The run is over."),
  "response.code_interpreter_call_code.delta": event("Code goes on.", { ...ofItem, delta }),
  "response.code_interpreter_call_code.done": event("The code is whole.", { ...ofItem, code: text("All of it.") }),
  "response.mcp_list_tools.in_progress": progress("Tools of an MCP server are being listed."),
  "response.mcp_list_tools.completed": progress("The tools are listed."),
  "response.mcp_list_tools.failed": progress("The tools could not be listed."),
  "response.mcp_call.in_progress": progress("A call of an MCP tool begins."),
  "response.mcp_call.completed": progress("The call is over."),
  "response.mcp_call.failed": progress("The call failed."),
  "response.mcp_call_arguments.delta": event("Arguments go on.", { ...ofItem, delta }),
  "response.mcp_call_arguments.done": event("The arguments are whole.", {
    ...ofItem,
    arguments: text("Arguments as JSON text."),
  }),

  "response.fusion_call.in_progress": progress("A fusion run begins."),
  "response.fusion_call.panel.added": event("A model joins the panel.", ofModel),
  "response.fusion_call.panel.delta": event("Its answer goes on.", { ...ofModel, delta }),
  "response.fusion_call.panel.reasoning.delta": event("Its reasoning goes on.", { ...ofModel, delta }),
  "response.fusion_call.panel.completed": event("Its answer is whole.", { ...ofModel, content: text("All of it.") }),
  "response.fusion_call.panel.failed": event(
    "It gave no answer; the run goes on without it.",
    { ...ofModel, error: text("Why."), status_code: described(integer(), "HTTP status of the failure.") },
    ["status_code"],
  ),
  "response.fusion_call.analysis.in_progress": event("The answers are being compared.", {
    ...ofItem,
    analyst_model: text("Model that compares."),
    judge_model: text("The same under an older name."),
  }),
  "response.fusion_call.analysis.completed": event("The comparison is made.", { ...ofItem, analysis: fusionAnalysis }),
  "response.fusion_call.completed": progress("The fusion run is over."),

  "response.debug": event("What the provider is sent, without secrets; once for each provider that is asked.", {
    debug: object({
      echo_upstream_body: described(openObject, "Body of the call."),
      timings: described(anyValue, "When what happened."),
    }),
  }),
  error: event("A failure of which no response can be shown.", {
    code: nullable(string()),
    message: string(),
    param: nullable(string()),
  }),
};

/** Name of an event's schema in the document: `response.output_text.delta` is ResponseOutputTextDeltaEvent. */
export const eventName = (type: string): string =>
  `${type.replaceAll(/(?:^|[._])([a-z])/g, (_, letter: string) => letter.toUpperCase())}Event`;

function shapeOf(type: string, { message, payload, optional = [] }: Described): ObjectShape {
  const fields = {
    type: word(type),
    sequence_number: described(index, "Counted from 0 without a gap."),
    ...payload,
  };
  const required = Object.keys(fields).filter((name) => !optional.includes(name));
  return object(fields, { required, description: message });
}

/** Events by type. */
export const streamEvents: Readonly<Record<string, ObjectShape>> = Object.fromEntries(
  Object.entries(events).map(([type, described]) => [type, shapeOf(type, described)]),
);

export const streamEvent = named(
  "StreamEvent",
  described(
    openTagged(
      "type",
      Object.fromEntries(Object.entries(streamEvents).map(([type, shape]) => [type, named(eventName(type), shape)])),
    ),
    "The data of one event. A provider's progress events that are not listed pass as they are; a client skips what it does not know.",
  ),
);
