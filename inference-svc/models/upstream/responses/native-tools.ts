/**
 * Decides which tools a provider runs itself, and which images it takes. Leaving one out would change the question, and a provider answers 400
 * to one it does not have.
 */
import { bringsHostedTools, isHostedType } from "../../../turn/item-kinds.ts";
import type { TurnRequest } from "../../../turn/request.ts";
import type { Refusal, Target } from "../dialect.ts";
import { type JsonObject, objects, text } from "../json.ts";
import { commonImages, refuseImageType } from "../translate/image-types.ts";
import { findSpecialInputs } from "../translate/special-inputs.ts";

/** Matches types of tools the format itself has; web_search also has spellings with a date and for previews. */
const ownKind =
  /^(web_search(_preview)?(_\d{4}_\d\d_\d\d)?|file_search|computer(_use)?(_preview)?|code_interpreter|mcp|image_generation|local_shell|shell|apply_patch|tool_search)$/;

/** The type of a tool with the prefix `service:`. Prefixes end with a colon; the configuration may use this one or the client's. */
export const toNeutralType = (type: string): string => type.replace(/^[^:]*:/, "service:");

/** @param type type of a tool or of its item, in any spelling */
export const runsNatively = ({ nativeTools }: Target, type: string): boolean =>
  nativeTools ? nativeTools.has(type) || nativeTools.has(toNeutralType(type)) : ownKind.test(type);

const refusal = (path: string, type: string): Refusal => ({
  path,
  message: `no provider of this model runs tools of type ${type}`,
});

const refuseImage = ({ type, image_url: url }: JsonObject): string | undefined =>
  type === "input_image" ? refuseImageType(url, commonImages) : undefined;

export function refuseResponses(request: TurnRequest, target: Target): Refusal | undefined {
  for (const [index, tool] of request.tools.entries()) {
    if (
      tool.type === "hosted" &&
      !tool.leftOut &&
      !runsNatively(target, tool.kind) &&
      !runsNatively(target, tool.spelling)
    ) {
      return refusal(`tools.${index}`, tool.spelling);
    }
  }
  for (const { path, item, part } of findSpecialInputs(request.input)) {
    const message = part && target.original ? refuseImage(part) : undefined;
    if (message !== undefined) return { path, message };
    if (item === undefined || !bringsHostedTools(item)) continue;
    const tools = objects(item.tools);
    const position = tools.findIndex((tool) => isHostedType(tool.type) && !runsNatively(target, text(tool.type)));
    if (position !== -1) return refusal(`${path}.tools.${position}`, text(tools[position]?.type));
  }
  return undefined;
}
