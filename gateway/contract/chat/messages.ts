/** Messages of a request in the format of chat completions. */
import {
  type Shape,
  anyValue,
  array,
  constant,
  described,
  integer,
  named,
  nullable,
  object,
  string,
  tagged,
  word,
} from "@sluice/proto/lib/validation/shape.js";
import { inputText } from "@sluice/proto/contract/items/content.js";
import { cacheControl } from "@sluice/proto/contract/request/caching.js";
import { replayedContent, promptContent, resultContent } from "./parts.ts";

const mark = described(
  nullable(cacheControl),
  "Marks the conversation up to this message for the provider's cache, as a mark on its last part does.",
);
const participant = described(nullable(string()), "Name of the participant, to tell several of one role apart.");
const callId = described(string({ min: 1 }), "What the result of the call names.");
const calledFunction = object(
  { name: string({ min: 1 }), arguments: described(string(), "Arguments as JSON text, as the model wrote them.") },
  { required: ["name", "arguments"] },
);

const position = described(
  nullable(integer({ min: 0 })),
  "Position among the calls, as it stands in streamed answers.",
);
const functionCall = object(
  { id: callId, type: word("function"), index: position, function: calledFunction },
  { required: ["id", "function"], description: "A function that the model called." },
);

const toolCall = named(
  "ChatToolCall",
  tagged(
    "type",
    {
      function: functionCall,
      custom: object(
        {
          id: callId,
          type: word("custom"),
          index: position,
          custom: object({ name: string({ min: 1 }), input: string() }, { required: ["name", "input"] }),
        },
        { required: ["id", "type", "custom"], description: "A custom tool that the model called." },
      ),
    },
    // Clients that support only functions omit the type of a tool call.
    { listed: true, untagged: () => functionCall },
  ),
);

const ofDetail = {
  id: described(nullable(string()), "Identifier of the reasoning; entries of one reasoning share it."),
  format: described(nullable(string()), "The provider's form of the signature or of the data."),
  index: described(nullable(integer({ min: 0 })), "Position among the entries of the answer."),
};

/** An entry of `reasoning_details`, in answers and in messages returning it. */
export const reasoningDetail = named(
  "ReasoningDetail",
  tagged(
    "type",
    {
      "reasoning.text": object(
        {
          type: word("reasoning.text"),
          text: nullable(inputText),
          signature: described(nullable(string()), "By which the provider recognizes its own reasoning."),
          ...ofDetail,
        },
        { required: ["type"], description: "Reasoning as the model wrote it." },
      ),
      "reasoning.summary": object(
        { type: word("reasoning.summary"), summary: nullable(inputText), ...ofDetail },
        { required: ["type"], description: "A summary of reasoning." },
      ),
      "reasoning.encrypted": object(
        { type: word("reasoning.encrypted"), data: nullable(string()), ...ofDetail },
        { required: ["type"], description: "Reasoning that only its provider can read." },
      ),
    },
    { listed: true },
  ),
);

/** An image in an answer. */
export const answerImage = object(
  {
    type: word("image_url"),
    image_url: object({ url: described(string(), "The image as a data URL.") }, { required: ["url"] }),
    index: described(nullable(integer({ min: 0 })), "Position among the images of the answer."),
  },
  { required: ["type", "image_url"], description: "An image that the model made." },
);

const prompt = (role: string, description: string): Shape =>
  object(
    { role: word(role), content: promptContent, name: participant, cache_control: mark },
    { required: ["role", "content"], description },
  );

const assistant = object(
  {
    role: word("assistant"),
    content: described(nullable(replayedContent), "Text of the answer; null beside calls."),
    refusal: described(nullable(inputText), "Why the model declined."),
    name: participant,
    tool_calls: nullable(array(toolCall)),
    function_call: described(nullable(calledFunction), "Deprecated: the one call of a request with `functions`."),
    reasoning: described(nullable(inputText), "Reasoning as text; read when reasoning_details are absent."),
    reasoning_content: described(nullable(inputText), "Another name of `reasoning`."),
    reasoning_details: described(nullable(array(reasoningDetail)), "Reasoning of the answer; send it back unchanged."),
    images: described(nullable(array(answerImage)), "Images of the answer."),
    annotations: described(anyValue, "Citations of the answer; they are not sent to models."),
    audio: constant(null, "sound of the model is not supported"),
    cache_control: mark,
  },
  { required: ["role"], description: "An earlier answer of the model." },
);

const tool = object(
  { role: word("tool"), content: resultContent, tool_call_id: callId, name: participant, cache_control: mark },
  { required: ["role", "content", "tool_call_id"], description: "The result of a tool." },
);

const legacyFunction = object(
  {
    role: word("function"),
    content: described(nullable(inputText), "What the function gave."),
    name: described(string({ min: 1 }), "Name of the function: its last call that has no result."),
  },
  { required: ["role", "content", "name"], description: "Deprecated: the result of a function." },
);

export const chatMessage = named(
  "ChatMessage",
  tagged(
    "role",
    {
      system: prompt("system", "Instructions."),
      developer: prompt("developer", "Instructions of the application."),
      user: prompt("user", "A message of the user."),
      assistant,
      tool,
      function: legacyFunction,
    },
    { listed: true },
  ),
);

export const chatMessages = array(chatMessage, { min: 1, entry: "message" });
