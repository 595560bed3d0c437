/** Writes and reads the JSON-RPC 2.0 messages of an MCP client. */
import { type JsonObject, isObject } from "@sluice/proto/lib/validation/fields.js";
import { truncate } from "../../turn/truncate.ts";
import { McpFailure } from "./failure.ts";

/** Maximum UTF-16 units of a server's message a failure quotes. */
const maxQuoted = 500;

/** The members of `params` as JSON texts, so arguments reach the server exactly as the model wrote them. */
export type Params = Readonly<Record<string, string>>;

export function writeRequest(id: number, method: string, params: Params): string {
  const members = Object.entries(params).map(([key, json]) => `${JSON.stringify(key)}:${json}`);
  return `{"jsonrpc":"2.0","id":${id},"method":${JSON.stringify(method)},"params":{${members.join(",")}}}`;
}

export const writeNotification = (method: string, params: JsonObject = {}): string =>
  JSON.stringify({ jsonrpc: "2.0", method, params });

/** The reply to a request of the server: pings are answered, and every other method is refused. */
export const writeReply = ({ id, method }: JsonObject): string =>
  JSON.stringify({
    jsonrpc: "2.0",
    id,
    ...(method === "ping" ? { result: {} } : { error: { code: -32_601, message: "not supported" } }),
  });

/** Parses the messages in a text, which may be a batch. @throws McpFailure for invalid JSON */
export function readMessages(text: string): readonly JsonObject[] {
  let value: unknown;
  try {
    value = JSON.parse(text);
  } catch (cause) {
    throw new McpFailure("the answer is not JSON", { cause });
  }
  return (Array.isArray(value) ? value : [value]).filter(isObject);
}

export const isRequest = ({ id, method }: JsonObject): boolean =>
  typeof method === "string" && id !== undefined && id !== null;

export const isAnswerTo = (message: JsonObject, id: number): boolean =>
  message["id"] === id && ("result" in message || "error" in message);

/** The result in a message. @throws McpFailure for an error, and for a result other than an object */
export function readResult(message: JsonObject): JsonObject {
  const { result, error } = message;
  if (error !== undefined) throw toMcpFailure(error);
  if (!isObject(result)) throw new McpFailure("the answer has no result");
  if (result["resultType"] === "input_required")
    throw new McpFailure("the server asks for more input, which Sluice does not give");
  return result;
}

export function toMcpFailure(error: unknown, status?: number): McpFailure {
  const { code, message } = isObject(error) ? error : {};
  const words = typeof message === "string" ? `: ${truncate(message, maxQuoted)}` : "";
  return new McpFailure(`JSON-RPC error ${Number(code)}${words}`, {
    isQuoted: words !== "",
    ...(status !== undefined && { status }),
  });
}
