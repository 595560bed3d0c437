/** The formats of requests to models. */
import { chatDoor } from "@sluice/gateway/doors/chat/door.js";
import { messagesDoor } from "@sluice/gateway/doors/messages/door.js";
import { responseFaults } from "@sluice/gateway/edge/http/errors.js";
import { parseMessages } from "@sluice/gateway/doors/messages/request.js";
import { compactDoor } from "@sluice/gateway/doors/responses/compact.js";
import { readResponse, responsesDoor } from "@sluice/gateway/doors/responses/door.js";
import { ResponseObject } from "@sluice/proto/lib/responses/object.js";
import { parseRequest } from "@sluice/gateway/doors/responses/request.js";
import { errorFrame } from "@sluice/gateway/doors/responses/socket/frame.js";
import { chat } from "@sluice/inference-svc/models/upstream/chat/dialect.js";
import { chatEmbeddings } from "@sluice/inference-svc/models/upstream/chat/embeddings.js";
import { cohere } from "@sluice/inference-svc/models/upstream/cohere/dialect.js";
import { cohereEmbeddings } from "@sluice/inference-svc/models/upstream/cohere/embeddings.js";
import { converseEmbeddings } from "@sluice/inference-svc/models/upstream/converse/embeddings.js";
import { geminiEmbeddings } from "@sluice/inference-svc/models/upstream/gemini/embeddings.js";
import { messages } from "@sluice/inference-svc/models/upstream/messages/dialect.js";
import { responses } from "@sluice/inference-svc/models/upstream/responses/dialect.js";
import { chatRequestShape } from "@sluice/gateway/contract/chat/request.js";
import { countTokensRequest, messagesRequest } from "@sluice/gateway/contract/messages/request.js";
import { embeddingsRequest } from "@sluice/proto/contract/request/embeddings.js";
import { requestShape } from "@sluice/proto/contract/request/request.js";
import { validateResponse } from "../answers/published.ts";
import { foldChunks, foldCompletion } from "./chat/fold.ts";
import { repairChat } from "./chat/repair.ts";
import { type FuzzedFormat, fuzzDoorContext } from "./format.ts";
import { foldMessage, foldMessageEvents } from "./messages/fold.ts";
import { repairMessages } from "./messages/repair.ts";
import { acceptEmbeddings, acceptFrame, acceptTokenCount } from "./readers.ts";
import { repairBody } from "./repair.ts";
import { doorReader } from "./subject.ts";

const errorOf = (status: number) => `Error${status}`;
const dialects = [chat, cohere, messages, responses];
const fieldsOf = (shape: { readonly fields: object }): ReadonlySet<string> => new Set(Object.keys(shape.fields));

const responsesForm = {
  faults: responseFaults,
  dialects,
  schemas: { request: "ResponseRequest", error: errorOf },
  fields: fieldsOf(requestShape),
  conversation: { field: "input", short: "Hello" },
  rare: new Set(["plugins", "provider", "prompt"]),
  repair: repairBody,
};

const messagesForm = {
  faults: messagesDoor.faults,
  dialects,
  schemas: { request: "MessagesRequest", error: () => "MessagesError" },
  fields: fieldsOf(messagesRequest),
  conversation: { field: "messages", short: [{ role: "user", content: "Hello" }] },
  rare: new Set(["plugins", "provider", "mcp_servers", "thread"]),
  repair: repairMessages,
};

export const formats = {
  responses: {
    ...responsesForm,
    accept: doorReader(responsesDoor),
    problemsOfBeginning: (body, members) => {
      const { identity } = readResponse(body, members, fuzzDoorContext);
      return validateResponse(JSON.parse(new ResponseObject(identity).inProgress()));
    },
  },
  chat: {
    accept: doorReader(chatDoor),
    faults: chatDoor.faults,
    dialects,
    schemas: { request: "ChatCompletionRequest", error: errorOf },
    fields: fieldsOf(chatRequestShape),
    conversation: { field: "messages", short: [{ role: "user", content: "Hello" }] },
    rare: new Set(["plugins", "provider", "audio", "n", "functions", "function_call"]),
    repair: repairChat,
    folds: { whole: foldCompletion, stream: foldChunks },
  },
  messages: {
    ...messagesForm,
    accept: doorReader(messagesDoor),
    folds: { whole: foldMessage, stream: foldMessageEvents },
  },
  compact: { ...responsesForm, accept: doorReader(compactDoor) },
  input_tokens: {
    ...responsesForm,
    accept: (body, members, throughWire) =>
      acceptTokenCount(parseRequest(body, members, { serviceMetadata: false }).request, throughWire),
  },
  count_tokens: {
    ...messagesForm,
    accept: (body, members, throughWire) =>
      acceptTokenCount(parseMessages(body, members, fuzzDoorContext, countTokensRequest).request, throughWire),
    schemas: { ...messagesForm.schemas, request: "MessagesCountTokensRequest" },
    fields: fieldsOf(countTokensRequest),
  },
  frames: {
    ...responsesForm,
    accept: acceptFrame,
    faults: { body: (fault) => Buffer.from(errorFrame(fault, "req_1")) },
    schemas: { request: "ResponseRequest" },
  },
  embeddings: {
    accept: acceptEmbeddings,
    faults: responseFaults,
    dialects: [chatEmbeddings, cohereEmbeddings, converseEmbeddings, geminiEmbeddings],
    schemas: { request: "EmbeddingsRequest", error: errorOf },
    fields: fieldsOf(embeddingsRequest),
    conversation: { field: "input", short: ["Hello", "there"] },
    rare: new Set(["provider"]),
    repair: () => {},
  },
} as const satisfies Record<string, FuzzedFormat>;

export type FormatName = keyof typeof formats;
