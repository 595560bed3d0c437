/**
 * The Open Responses format as its clients check it: response objects and stream events as the format demands, beyond Sluice's own contract. Unknown
 * fields are accepted, as by such clients.
 */
import { z } from "zod";

const count = z.int().min(0);
const jsonObject = z.record(z.string(), z.unknown());
const itemStatus = z.enum(["in_progress", "completed", "incomplete"]);

const citation = z.object({
  type: z.literal("url_citation"),
  url: z.string(),
  title: z.string(),
  start_index: count,
  end_index: count,
});
const topLogprob = z.object({ token: z.string(), logprob: z.number(), bytes: z.array(z.int()) });
const logprob = topLogprob.extend({ top_logprobs: z.array(topLogprob) });

const outputText = z.object({
  type: z.literal("output_text"),
  text: z.string(),
  annotations: z.array(citation),
  logprobs: z.array(logprob),
});
const refusal = z.object({ type: z.literal("refusal"), refusal: z.string() });
const reasoningText = z.object({ type: z.literal("reasoning_text"), text: z.string() });
const summaryText = z.object({ type: z.literal("summary_text"), text: z.string() });
const part = z.discriminatedUnion("type", [outputText, refusal, reasoningText, summaryText]);

const message = z.object({
  type: z.literal("message"),
  id: z.string().min(1),
  status: itemStatus,
  role: z.literal("assistant"),
  content: z.array(z.discriminatedUnion("type", [outputText, refusal])),
  phase: z.enum(["commentary", "final_answer"]).nullish(),
});
const functionCall = z.object({
  type: z.literal("function_call"),
  id: z.string().min(1),
  status: itemStatus,
  call_id: z.string().min(1),
  name: z.string().min(1),
  arguments: z.string(),
});
const reasoning = z.object({
  type: z.literal("reasoning"),
  id: z.string().min(1),
  status: itemStatus,
  summary: z.array(summaryText),
  content: z.array(reasoningText).nullish(),
  encrypted_content: z.string().nullish(),
});
const item = z.discriminatedUnion("type", [message, functionCall, reasoning]);

const functionTool = z.object({
  type: z.literal("function"),
  name: z.string(),
  description: z.string().nullable(),
  parameters: jsonObject.nullable(),
  strict: z.boolean().nullable(),
});
const toolChoice = z.union([
  z.enum(["auto", "none", "required"]),
  z.object({ type: z.literal("function"), name: z.string() }),
  z.object({ type: z.literal("allowed_tools"), tools: z.array(jsonObject), mode: z.enum(["auto", "required"]) }),
]);
const textFormat = z.discriminatedUnion("type", [
  z.object({ type: z.literal("text") }),
  z.object({ type: z.literal("json_object") }),
  z.object({
    type: z.literal("json_schema"),
    name: z.string(),
    schema: jsonObject,
    description: z.string().nullish(),
    strict: z.boolean().nullish(),
  }),
]);

const usage = z.object({
  input_tokens: count,
  input_tokens_details: z.object({ cached_tokens: count }),
  output_tokens: count,
  output_tokens_details: z.object({ reasoning_tokens: count }),
  total_tokens: count,
});

export const response = z.object({
  id: z.string().min(1),
  object: z.literal("response"),
  created_at: count,
  completed_at: count.nullable(),
  status: z.enum(["completed", "failed", "in_progress", "incomplete"]),
  error: z.object({ code: z.string(), message: z.string() }).nullable(),
  incomplete_details: z.object({ reason: z.enum(["max_output_tokens", "content_filter"]) }).nullable(),
  instructions: z.string().nullable(),
  model: z.string().min(1),
  output: z.array(item),
  tools: z.array(functionTool),
  tool_choice: toolChoice,
  parallel_tool_calls: z.boolean(),
  max_output_tokens: count.nullable(),
  max_tool_calls: count.nullable(),
  metadata: z.record(z.string(), z.string()).nullable(),
  temperature: z.number(),
  top_p: z.number(),
  frequency_penalty: z.number(),
  presence_penalty: z.number(),
  top_logprobs: count,
  truncation: z.enum(["auto", "disabled"]),
  text: z.object({ format: textFormat, verbosity: z.enum(["low", "medium", "high"]).optional() }),
  reasoning: z.object({ effort: z.string().nullable(), summary: z.string().nullable() }).nullable(),
  service_tier: z.string(),
  store: z.literal(false),
  background: z.literal(false),
  previous_response_id: z.string().nullable(),
  safety_identifier: z.string().nullable(),
  prompt_cache_key: z.string().nullable(),
  usage: usage.nullable(),
});

const event = <Type extends string, Fields extends z.ZodRawShape>(type: Type, fields: Fields) =>
  z.object({ type: z.literal(type), sequence_number: count, ...fields });
const place = { output_index: count, item_id: z.string().min(1) };
const partPlace = { ...place, content_index: count };
const summaryPlace = { ...place, summary_index: count };

/** The kinds of events in the format, except those of queued answers, since Sluice has no queue. */
export const streamEvent = z.discriminatedUnion("type", [
  event("response.created", { response }),
  event("response.in_progress", { response }),
  event("response.completed", { response }),
  event("response.incomplete", { response }),
  event("response.failed", { response }),
  event("response.output_item.added", { output_index: count, item }),
  event("response.output_item.done", { output_index: count, item }),
  event("response.content_part.added", { ...partPlace, part }),
  event("response.content_part.done", { ...partPlace, part }),
  event("response.output_text.delta", { ...partPlace, delta: z.string(), logprobs: z.array(logprob) }),
  event("response.output_text.done", { ...partPlace, text: z.string(), logprobs: z.array(logprob) }),
  event("response.output_text.annotation.added", { ...partPlace, annotation_index: count, annotation: citation }),
  event("response.refusal.delta", { ...partPlace, delta: z.string() }),
  event("response.refusal.done", { ...partPlace, refusal: z.string() }),
  event("response.reasoning_summary_part.added", { ...summaryPlace, part: summaryText }),
  event("response.reasoning_summary_part.done", { ...summaryPlace, part: summaryText }),
  event("response.reasoning_summary_text.delta", { ...summaryPlace, delta: z.string() }),
  event("response.reasoning_summary_text.done", { ...summaryPlace, text: z.string() }),
  event("response.function_call_arguments.delta", { ...place, delta: z.string() }),
  event("response.function_call_arguments.done", { ...place, arguments: z.string() }),
]);

export type OpenResponse = z.infer<typeof response>;
