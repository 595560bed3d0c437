/** Content blocks of requests in the Messages format. Some of them are blocks of answers that clients send back. */
import { isObject } from "@sluice/proto/lib/validation/fields.js";
import {
  type Shape,
  anyValue,
  array,
  boolean,
  described,
  named,
  nullable,
  object,
  string,
  stringOr,
  tagged,
  word,
} from "@sluice/proto/lib/validation/shape.js";
import { contentLimits, inputText } from "@sluice/proto/contract/items/content.js";
import { openObject } from "@sluice/proto/contract/items/parts.js";
import { cacheControl } from "@sluice/proto/contract/request/caching.js";

const mark = { cache_control: nullable(cacheControl) };
const id = string({ min: 1 });

const text = named(
  "MessagesTextBlock",
  object(
    { type: word("text"), text: inputText, citations: nullable(array(openObject)), ...mark },
    { required: ["type", "text"], description: "Text." },
  ),
);

const httpAddress = string({ pattern: { form: /^https?:/, message: "must be an http or https URL" } });
const byUrl = object({ type: word("url"), url: httpAddress }, { required: ["type", "url"] });
const byFile = object(
  { type: word("file"), file_id: id },
  { required: ["type", "file_id"], description: "A file that the provider has." },
);

const imageSource = tagged(
  "type",
  {
    base64: object(
      {
        type: word("base64"),
        media_type: word("image/jpeg", "image/png", "image/gif", "image/webp"),
        data: string({ min: 1, max: contentLimits.imageUrl }),
      },
      { required: ["type", "media_type", "data"] },
    ),
    url: byUrl,
    file: byFile,
  },
  { listed: true },
);

const image = named(
  "MessagesImageBlock",
  object(
    { type: word("image"), source: imageSource, ...mark },
    { required: ["type", "source"], description: "An image." },
  ),
);

const documentSource = tagged(
  "type",
  {
    base64: object(
      {
        type: word("base64"),
        media_type: word("application/pdf"),
        data: string({ min: 1, max: contentLimits.fileData }),
      },
      { required: ["type", "media_type", "data"] },
    ),
    text: object(
      { type: word("text"), media_type: word("text/plain"), data: inputText },
      { required: ["type", "data"] },
    ),
    content: object(
      {
        type: word("content"),
        content: stringOr(
          inputText,
          array(tagged("type", { text, image }, { listed: true })),
          "must be a string or an array of blocks",
        ),
      },
      { required: ["type", "content"] },
    ),
    url: byUrl,
    file: byFile,
  },
  { listed: true },
);

const document = named(
  "MessagesDocumentBlock",
  object(
    {
      type: word("document"),
      source: documentSource,
      title: nullable(string()),
      context: nullable(inputText),
      citations: nullable(object({ enabled: nullable(boolean) })),
      ...mark,
    },
    { required: ["type", "source"], description: "A document." },
  ),
);

const searchResult = named(
  "MessagesSearchResultBlock",
  object(
    {
      type: word("search_result"),
      source: string(),
      title: string(),
      content: array(text),
      citations: nullable(object({ enabled: nullable(boolean) })),
      ...mark,
    },
    { required: ["type", "source", "title", "content"], description: "A search result of the client's own." },
  ),
);

const toolReference = object(
  { type: word("tool_reference"), tool_name: id, ...mark },
  { required: ["type", "tool_name"], description: "A tool that a search of the client found." },
);

const resultContent = stringOr(
  inputText,
  array(
    tagged(
      "type",
      { text, image, document, search_result: searchResult, tool_reference: toolReference },
      { listed: true },
    ),
  ),
  "must be a string or an array of blocks",
);

const toolResult = named(
  "MessagesToolResultBlock",
  object(
    {
      type: word("tool_result"),
      tool_use_id: id,
      content: nullable(resultContent),
      is_error: nullable(boolean),
      ...mark,
    },
    { required: ["type", "tool_use_id"], description: "The result of a tool that the client ran." },
  ),
);

const toolUse = named(
  "MessagesToolUseBlock",
  object(
    { type: word("tool_use"), id, name: id, input: openObject, ...mark },
    { required: ["type", "id", "name", "input"], description: "A call of a tool that the client runs." },
  ),
);

const thinking = named(
  "MessagesThinkingBlock",
  object(
    {
      type: word("thinking"),
      thinking: described(inputText, "Reasoning; empty where the model hides it."),
      signature: described(nullable(string()), "Proves to the provider that the block is unchanged."),
    },
    { required: ["type", "thinking"], description: "Reasoning of the model." },
  ),
);

const redactedThinking = named(
  "MessagesRedactedThinkingBlock",
  object(
    { type: word("redacted_thinking"), data: id },
    { required: ["type", "data"], description: "Reasoning that only the provider can read." },
  ),
);

const serverUse = (type: string): Shape =>
  object(
    { type: word(type), id, name: id, server_name: nullable(string()), input: nullable(anyValue), ...mark },
    { required: ["type", "id", "name"], description: "A call of a tool that the client does not run." },
  );

const serverResult = named(
  "MessagesServerToolResultBlock",
  object(
    {
      type: string({ pattern: { form: /_tool_result$/, message: "must end in _tool_result" } }),
      tool_use_id: id,
      content: anyValue,
      is_error: nullable(boolean),
      ...mark,
    },
    {
      required: ["type", "tool_use_id"],
      description: "The result of a call that the client did not run; its type begins with the kind of tool.",
    },
  ),
);

/** Content blocks by type, or results of server tools, which have too many types to list. */
function orServerResult(kinds: Readonly<Record<string, Shape>>): Shape {
  const known = tagged("type", kinds);
  return {
    check: (value, path, problems) => {
      const type = isObject(value) ? value["type"] : undefined;
      const isResult = typeof type === "string" && type.endsWith("_tool_result") && !known.kinds.has(type);
      (isResult ? serverResult : known).check(value, path, problems);
    },
    schema: (components) => ({ anyOf: [known.schema(components), serverResult.schema(components)] }),
  };
}

/** Blocks of an answer, accepted in requests as parts of the conversation. */
const answerBlocks: Readonly<Record<string, Shape>> = {
  text,
  tool_use: toolUse,
  thinking,
  redacted_thinking: redactedThinking,
  server_tool_use: serverUse("server_tool_use"),
  mcp_tool_use: serverUse("mcp_tool_use"),
};

export const answerBlock = named("MessagesAnswerBlock", orServerResult(answerBlocks));

const userBlock = named(
  "MessagesUserBlock",
  tagged("type", { text, image, document, search_result: searchResult, tool_result: toolResult }),
);

const message = "must be a string or an array of blocks";

/** Content of user messages. */
export const userContent = stringOr(inputText, array(userBlock), message);

/** Content of assistant messages. */
export const answerContent = stringOr(inputText, array(answerBlock), message);

/** System prompt: a text, or text blocks. */
export const systemContent = stringOr(
  inputText,
  array(tagged("type", { text }, { listed: true })),
  "must be a string or an array of text blocks",
);
