/** Converts the result of an MCP tool to text: unchanged for the client, and marked as untrusted data for the model. */
import { type JsonObject, isObject } from "@sluice/proto/lib/validation/fields.js";
import { truncate } from "../../turn/truncate.ts";
import { deriveMark, wrapAsData } from "../../content/wrapped-data.ts";

/** Maximum UTF-16 units of a result that are kept. */
const maxText = 1024 * 1024;

export function textOfResult(result: JsonObject): string {
  const { content, structuredContent } = result;
  const texts = (Array.isArray(content) ? content : []).map(textOfPart);
  const whole =
    texts.length > 0 || structuredContent === undefined ? texts.join("\n") : JSON.stringify(structuredContent);
  if (whole.length <= maxText) return whole;
  return `${truncate(whole, maxText)}\n(cut here: the result has ${whole.length} characters)`;
}

/** The text of one part of a result. Images and audio are only named, because a model would read their bytes as text. */
function textOfPart(part: unknown): string {
  if (!isObject(part)) return "";
  const { type, text, resource, uri, mimeType } = part;
  if (type === "text" && typeof text === "string") return text;
  if (isObject(resource) && typeof resource["text"] === "string") return resource["text"];
  const named = [type, isObject(resource) ? resource["uri"] : uri, mimeType].filter((each) => typeof each === "string");
  return `[not shown: ${named.map((each) => truncate(each, 200)).join(" ")}]`;
}

export const resultForModel = (label: string, name: string, text: string): string =>
  wrapAsData(`The tool ${name} of the MCP server ${label} gave this.`, [text], deriveMark(label, name, text));

/** The output of a failed call, for the model. @param text error text of the server */
export const failureForModel = (label: string, name: string, text: string): string =>
  wrapAsData(`The call of ${name} failed. The MCP server ${label} says this.`, [text], deriveMark(label, name, text));
