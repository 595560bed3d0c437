/**
 * Reasoning in chat: servers with open models say it as `reasoning_content`, others in `reasoning_details` with a format and a seal. It
 * goes back only where the operator says that it is wanted, and sealed reasoning only to the family that sealed it.
 */
import type { InputItem } from "../../turn/request.ts";
import type { Target } from "../dialect.ts";
import { type JsonObject, objects, text } from "../json.ts";
import { supports } from "../words.ts";

/** Those that the contract names. */
const formats =
  /^(unknown|(azure-|bedrock-)?openai-responses-v1|(bedrock-)?xai-responses-v1|meta-responses-v1|anthropic-claude-v1|google-gemini-v1)$/;

/** @returns what the assistant's message is sent with; undefined where the endpoint takes no such reasoning */
export function thoughtFields(item: InputItem, target: Target): JsonObject | undefined {
  const format = text(item.format) || "unknown";
  const sealed = text(item.encrypted_content);
  const thought = objects(item.content)
    .map((part) => text(part.text))
    .join("");
  if (format === "unknown") {
    const open = sealed === "" && thought !== "" && supports(target, "reasoning_content");
    return open ? { reasoning_content: thought } : undefined;
  }
  if (!supports(target, `reasoning_details.${format}`)) return undefined;
  const summary = objects(item.summary)
    .map((part) => text(part.text))
    .join("");
  const signature = text(item.signature);
  const details = [
    ...(thought === ""
      ? []
      : [{ type: "reasoning.text", text: thought, ...(signature !== "" && { signature }), format }]),
    ...(summary === "" ? [] : [{ type: "reasoning.summary", summary, format }]),
    ...(sealed === "" ? [] : [{ type: "reasoning.encrypted", data: sealed, format }]),
  ];
  return details.length === 0 ? undefined : { reasoning_details: details };
}

/** What a chunk says of the thought. */
export interface ThoughtDelta {
  readonly text: string;
  readonly summary: string;
  /** format, signature and encrypted_content, as far as they are known. */
  readonly seal: JsonObject;
}

/**
 * @param details entries of reasoning_details
 * @param plain the same reasoning as a string, for where they hold none
 * @param sealed whether sealed text is wanted
 */
export function thoughtDelta(details: readonly JsonObject[], plain: string, sealed: boolean): ThoughtDelta {
  const joined = (field: string) => details.map((detail) => text(detail[field])).join("");
  const last = (field: string) => text(details.findLast((detail) => text(detail[field]) !== "")?.[field]);
  const [said, summary] = [joined("text"), joined("summary")];
  const [format, signature, encrypted] = [last("format"), last("signature"), sealed ? joined("data") : ""];
  return {
    text: said === "" && summary === "" ? plain : said,
    summary,
    seal: {
      ...(formats.test(format) && { format }),
      ...(signature !== "" && { signature }),
      ...(encrypted !== "" && { encrypted_content: encrypted }),
    },
  };
}

/** What a part of the content thinks: `{type: "thinking", thinking}`, which is text or parts of it. */
export const thoughtPart = ({ thinking }: JsonObject): string =>
  text(thinking) ||
  objects(thinking)
    .map((part) => text(part.text))
    .join("");
