/** The bodies of POST /messages and POST /messages/count_tokens. */
import { type JsonObject, isObject } from "@sluice/proto/lib/validation/fields.js";
import type { Problems } from "@sluice/proto/lib/validation/problems.js";
import {
  type Shape,
  array,
  boolean,
  described,
  integer,
  named,
  nullable,
  object,
  string,
  stringOr,
  tagged,
  word,
} from "@sluice/proto/lib/validation/shape.js";
import { openObject } from "@sluice/proto/contract/items/parts.js";
import { cacheControl } from "@sluice/proto/contract/request/caching.js";
import { contextEdits } from "@sluice/proto/contract/request/extensions.js";
import { messagesParameters } from "@sluice/proto/contract/request/parameters.js";
import { plugins } from "@sluice/proto/contract/request/plugins.js";
import { providerPreferences } from "@sluice/proto/contract/request/provider.js";
import { answerContent, systemContent, userContent } from "./blocks.ts";
import { mcpServer, messagesToolChoice, messagesTools } from "./tools.ts";

const slug = string({ identifier: true, min: 1, max: 256 });

const message = named(
  "MessagesMessageParam",
  tagged(
    "role",
    {
      user: object(
        { role: word("user"), content: userContent },
        { required: ["role", "content"], description: "A message of the user." },
      ),
      assistant: object(
        { role: word("assistant"), content: answerContent },
        { required: ["role", "content"], description: "An earlier answer of the model, or the beginning of the next." },
      ),
      system: object(
        { role: word("system"), content: systemContent },
        {
          required: ["role", "content"],
          description:
            "May stand at any place. Providers that take messages of the system only at the beginning get it as text of the user.",
        },
      ),
    },
    { listed: true },
  ),
);

const display = nullable(word("summarized", "omitted", "updates"));

const thinking = named(
  "MessagesThinking",
  tagged(
    "type",
    {
      enabled: object(
        { type: word("enabled"), budget_tokens: described(integer({ min: 1 }), "Budget of reasoning."), display },
        { required: ["type", "budget_tokens"] },
      ),
      adaptive: object({ type: word("adaptive"), display }, { required: ["type"] }),
      disabled: object({ type: word("disabled") }, { required: ["type"] }),
    },
    { listed: true },
  ),
);

const format = named(
  "MessagesFormat",
  object(
    {
      type: word("json_schema"),
      schema: described(openObject, "JSON Schema; it reaches the provider byte for byte."),
    },
    { required: ["type", "schema"], description: "JSON that follows a schema." },
  ),
);

const outputConfig = object({
  effort: described(
    nullable(word("low", "medium", "high", "xhigh", "max")),
    "How much the model is to think and write.",
  ),
  format: nullable(format),
});

const threadSays = "threads are not supported; send the whole conversation in messages";

/** Refusing this field makes programs with thread support send whole conversations instead. */
const thread: Shape = {
  takesNull: true,
  check: (value, path, problems) => {
    if (value !== null) problems.add(path, threadSays);
  },
  schema: () => ({ type: "null" }),
};

const containerSays = "must be an id or null; skills are not supported";

/** The fields that contain the model's input. */
const prompt = {
  model: described(slug, "Slug of the model."),
  messages: described(array(message, { min: 1, entry: "message" }), "The conversation so far."),
  system: described(nullable(systemContent), "Put before the conversation."),
  tools: described(nullable(messagesTools), "What the model may call."),
  tool_choice: described(nullable(messagesToolChoice), "Which of the tools it may or must call; auto when absent."),
  thinking: described(nullable(thinking), "Whether and how much the model is to think before it answers."),
  output_config: described(nullable(outputConfig), "Effort and form of the answer."),
  output_format: described(nullable(format), "Older place of `output_config.format`."),
  mcp_servers: described(nullable(array(mcpServer, { entry: "server" })), "Servers whose tools the service calls."),
  cache_control: described(nullable(cacheControl), "Marks the last block that can be cached."),
  context_management: described(
    nullable(contextEdits),
    "What the provider takes out of a long conversation; only Anthropic knows it.",
  ),
};

function checkModel({ model, models }: JsonObject, problems: Problems): void {
  const none = models === undefined || models === null || (Array.isArray(models) && models.length === 0);
  if (none && model === undefined) problems.add("model", "required");
}

export const messagesRequest = named(
  "MessagesRequest",
  object(
    {
      ...prompt,
      stream: described(nullable(boolean), "Whether the answer comes as events; false when absent."),
      ...messagesParameters,
      metadata: described(
        nullable(object({ user_id: nullable(string({ identifier: true })) })),
        "`user_id` identifies the end user; providers get a keyed hash of it.",
      ),
      service_tier: described(nullable(word("auto", "standard_only")), "Which endpoints are asked; auto when absent."),
      container: described(
        nullable(stringOr(string({ min: 1 }), object({ id: nullable(string()) }, { strict: true }), containerSays)),
        "Container in which code is run.",
      ),
      thread: described(thread, "Not supported: nothing is stored."),
      models: described(
        nullable(array(slug, { max: 32 })),
        "Further slugs, tried in order when the first cannot serve.",
      ),
      provider: described(nullable(providerPreferences), "Preferences for where the request is served."),
      plugins: described(nullable(plugins), "What the service does beyond asking the model."),
      session_id: described(
        nullable(string({ identifier: true, max: 256 })),
        "Groups requests and keeps them with one provider; counts before the header x-session-id.",
      ),
      service_metadata: described(nullable(boolean), "Asks for the receipt, as the header X-Service-Metadata does."),
    },
    {
      required: ["messages"],
      also: (body, _, problems) => checkModel(body, problems),
      description:
        "A request in Anthropic's Messages format. At least one message has content. A `tool_result` names a `tool_use` before it. Fields that are not listed are ignored.",
    },
  ),
);

export const countTokensRequest = named(
  "MessagesCountTokensRequest",
  object(prompt, {
    required: ["model", "messages"],
    description:
      "A request whose tokens are counted. At least one message has content. A `tool_result` names a `tool_use` before it. Fields that are not listed are ignored.",
  }),
);

/** Whether a body asks for a thread. Sluice refuses such a body, and programs with thread support then send whole conversations. */
export const requestsThread = (body: unknown): boolean =>
  isObject(body) && body["thread"] !== undefined && body["thread"] !== null;
