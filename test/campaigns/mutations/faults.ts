/**
 * Small faults of the dialects, as a careless change could add them: a dropped field, a wrong index, a doubled figure, an overlooked end. A fault
 * replaces a piece of code in a compiled module of `inference-svc/dist/models/upstream`; the piece must occur there exactly once.
 */

export interface PlantedFault {
  /** Effect of the fault on answers or requests. */
  readonly effect: string;
  /** Path of the compiled module, without `.js`. */
  readonly module: string;
  readonly code: string;
  readonly faulty: string;
}

export const plantedFaults: readonly PlantedFault[] = [
  // Faults of code that all formats share.
  {
    effect: "an event cut amid its line loses its beginning",
    module: "transport/sse",
    code: "this.#keep(Buffer.from(bytes.subarray(from)))",
    faulty: "(this.#carry ??= [Buffer.from(bytes.subarray(from))], (this.#carryBytes += bytes.length - from))",
  },
  {
    effect: "an event cut between CR and LF loses its name",
    module: "transport/sse",
    code: "this.#skipsLineFeed = from === bytes.length;",
    faulty: "this.#skipsLineFeed = false;",
  },
  {
    effect: "an item that begins early overtakes an open message",
    module: "events/sequence",
    code: "this.#openAlone === 0 && ",
    faulty: "",
  },
  {
    effect: "a refusal after a text is a delta of the text's part",
    module: "events/output",
    code: 'type: "refusal.delta", index: this.#index, part, delta }',
    faulty: 'type: "refusal.delta", index: this.#index, part: 0, delta }',
  },
  {
    effect: "two calls with one id keep it",
    module: "events/output",
    code: "given === undefined || ids.has(given)",
    faulty: "given === undefined",
  },
  // Faults in answers of the chat completions format.
  {
    effect: "the seal of one thought stays on the next",
    module: "chat/stream",
    code: "this.#reasoning = undefined;\n        this.#seal = undefined;",
    faulty: "this.#reasoning = undefined;",
  },
  {
    effect: "usage inside the choice is lost",
    module: "chat/stream",
    code: "isObject(chunk.usage) ? chunk.usage : choice?.usage",
    faulty: "chunk.usage",
  },
  {
    effect: "pieces of arguments are written twice",
    module: "chat/tool-calls",
    code: 'call.pending);\n        call.pending = "";',
    faulty: "call.pending);",
  },
  {
    effect: "a whole call is cut by a limit",
    module: "events/item-writer",
    code: 'this.#objects?.isWhole === true ? "completed" : status',
    faulty: "status",
  },
  // Faults in answers of the Messages format.
  {
    effect: "tokens written to the cache count twice",
    module: "messages/usage",
    code: "cachedTokens + cacheWriteTokens)",
    faulty: "cachedTokens + cacheWriteTokens + cacheWriteTokens)",
  },
  {
    effect: "a refusal is a complete answer",
    module: "messages/stream",
    code: '["refusal", { reason: "content_filter" }],',
    faulty: "",
  },
  {
    effect: "the signature of a thought is lost",
    module: "messages/output-items",
    code: "signature = text(delta.signature);",
    faulty: ";",
  },
  {
    effect: "a delta for an earlier block joins the open one",
    module: "messages/output-items",
    code: 'if (this.#begun.has(place))\n            throw providerFailed("blocks of an answer overlap");',
    faulty: "if (this.#begun.has(place)) return;",
  },
  // Faults in answers of the Gemini format.
  {
    effect: "every call of a chunk has the arguments of the first",
    module: "gemini/stream",
    code: "args?.get(index)",
    faulty: "args?.values().next().value",
  },
  {
    effect: "thoughts are missing in the output tokens",
    module: "gemini/usage",
    code: "parseCount(figures.candidatesTokenCount) + reasoningTokens",
    faulty: "parseCount(figures.candidatesTokenCount)",
  },
  {
    effect: "a blocked prompt is a lost connection",
    module: "gemini/stream",
    code: "refuse(text(chunk.promptFeedback.blockReason))",
    faulty: "undefined",
  },
  // Faults in answers of the Converse format.
  {
    effect: "bytes after the last whole frame of a read are lost",
    module: "converse/frames",
    code: "this.#carry = [rest];\n        this.#carryBytes = rest.length;",
    faulty: "this.#carry = [];\n        this.#carryBytes = 0;",
  },
  {
    effect: "the answer ends before its usage",
    module: "converse/stream",
    code: "this.#stopReason ??= reason;",
    faulty: "(this.#stopReason ??= reason), this.close();",
  },
  {
    effect: "the end of one block completes another",
    module: "converse/output-items",
    code: "if (this.#open?.index === index)",
    faulty: "if (this.#open?.index !== index)",
  },
  // Faults in answers of the Cohere format.
  {
    effect: "arguments that begin like null lose their first piece",
    module: "cohere/tool-calls",
    code: "this.#write(this.#held);\n        this.#held = undefined;",
    faulty: "this.#write(json);\n        this.#held = undefined;",
  },
  {
    effect: "tokens without a charge are billed",
    module: "cohere/usage",
    code: "parseCount(billed.input_tokens) || read",
    faulty: "read",
  },
  {
    effect: "a citation of a later block has the places of the first",
    module: "cohere/citations",
    code: "this.#starts.get(citation.content_index) ?? 0",
    faulty: "0",
  },
  // Faults in answers of the Responses format.
  {
    effect: "an answer cut by a filter was cut by a limit",
    module: "responses/stream",
    code: 'details.reason === "content_filter" ? "content_filter" : "max_output_tokens"',
    faulty: '"max_output_tokens"',
  },
  {
    effect: "late items are matched by their order",
    module: "responses/output-slots",
    code: "take(byId.get(keyOf(text(item.type), item.id))) ?? take(byType.get(item.type))",
    faulty: "take(byType.get(item.type))",
  },
  {
    effect: "cached tokens of the input are lost",
    module: "responses/usage",
    code: "parseCount(input.cached_tokens)",
    faulty: "0",
  },
  // Faults in answers of AI SDK packages.
  {
    effect: "a whole call repeats its streamed arguments",
    module: "ai-sdk/stream",
    code: 'if (written === "")',
    faulty: "if (true)",
  },
  // Faults in requests.
  {
    effect: "results of calls come after the text beside them",
    module: "translate/blocks/message-list",
    code: "content.splice(at, 0, result);",
    faulty: "content.push(result);",
  },
  {
    effect: "an image of a result goes with the next prompt",
    module: "chat/message-list",
    code: "this.#attach();\n        this.#assistant = message.role",
    faulty: "this.#assistant = message.role",
  },
  {
    effect: "results have the ids of their calls as names",
    module: "gemini/message-list",
    code: "name: call.name, response",
    faulty: "name: callId, response",
  },
  {
    effect: "text beside calls is lost",
    module: "cohere/message-list",
    code: 'tool_plan: plan === "" ? undefined : plan,',
    faulty: "",
  },
];
