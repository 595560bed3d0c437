/** Which tools a provider runs itself. Left out, one of them would change what was asked; sent anyway, it would be a 400. */
import type { TurnRequest } from "../../turn/request.ts";
import type { Refusal, Target } from "../dialect.ts";
import { objects, text } from "../json.ts";
import { notableIn } from "../notable.ts";

/** The kinds of the format itself; web_search has dated and preview spellings. */
const ownKind =
  /^(web_search(_preview)?(_\d{4}_\d\d_\d\d)?|file_search|computer(_use)?(_preview)?|code_interpreter|mcp|image_generation|local_shell|shell|apply_patch|tool_search)$/;

/** Tools that the client runs, whoever the provider is. */
const clientRun: ReadonlySet<unknown> = new Set(["function", "custom", "namespace"]);

/** Prefixes of the house and their aliases end with a colon; the operator writes the neutral one or that of the client. */
export const neutral = (type: string): string => type.replace(/^[^:]*:/, "service:");

/** @param type of a tool or of its item, in any spelling */
export const runs = ({ nativeTools }: Target, type: string): boolean =>
  nativeTools ? nativeTools.has(type) || nativeTools.has(neutral(type)) : ownKind.test(type);

const refusal = (path: string, type: string): Refusal => ({
  path,
  message: `no provider of this model runs tools of type ${type}`,
});

export function responsesRefusal(request: TurnRequest, target: Target): Refusal | undefined {
  for (const [index, tool] of request.tools.entries()) {
    if (tool.type === "hosted" && !tool.leftOut && !runs(target, tool.kind) && !runs(target, tool.spelling)) {
      return refusal(`tools.${index}`, tool.spelling);
    }
  }
  for (const { path, item } of notableIn(request.input)) {
    if (item?.type !== "additional_tools") continue;
    const tools = objects(item.tools);
    const position = tools.findIndex((tool) => !clientRun.has(tool.type) && !runs(target, text(tool.type)));
    if (position !== -1) return refusal(`${path}.tools.${position}`, text(tools[position]?.type));
  }
  return undefined;
}
