/** Tools in the form of Messages. */
import type { TurnRequest } from "../../turn/request.ts";
import type { OnDropped } from "../dialect.ts";
import type { JsonObject } from "../json.ts";
import { MadeOnce } from "../translate/made-once.ts";
import { messagesSchemas } from "../translate/schemas/rules.ts";
import { sendTool } from "../translate/schemas/sent-schema.ts";
import { dropToolFields, describeTool, buildWrapperSchema } from "../translate/tool-description.ts";
import type { SentTool, SentTools } from "../translate/tool-names.ts";
import type { TranslationContext } from "../translate/context.ts";
import type { Block } from "../translate/blocks/message-list.ts";
import type { CacheMarks } from "../translate/blocks/cache-marks.ts";
import { takesBetas } from "./betas.ts";
import { toNativeTools } from "./native-tools.ts";

export function messagesTools(
  request: TurnRequest,
  translation: TranslationContext,
  marks: Pick<CacheMarks, "copyTools">,
): readonly Block[] {
  const { searches, list } = translation.tools;
  for (const path of searches) translation.onDropped(path, "all tools are sent, so there is nothing to search");
  const takesAnthropic = takesBetas(translation.target, "anthropic_betas");
  const native = toNativeTools(request, takesAnthropic, translation.onDropped);
  // Cache marks are put on blocks, so that each body needs its own.
  const declared = takesAnthropic ? anthropicTools : plainTools;
  const blocks = declared.of(translation.tools, translation.onDropped).map((block) => ({ ...block }));
  marks.copyTools(list, blocks);
  return blocks.concat(native);
}

const plainTools = new MadeOnce(({ list }: SentTools, onDropped) =>
  list.map((tool) => functionTool(tool, onDropped, false)),
);
const anthropicTools = new MadeOnce(({ list }: SentTools, onDropped) =>
  list.map((tool) => functionTool(tool, onDropped, true)),
);

/**
 * No `type` is sent for a function, which is the default.
 * @param takesAnthropic whether the endpoint knows the typed tools of Anthropic
 */
function functionTool(offered: SentTool, onDropped: OnDropped, takesAnthropic: boolean): Block {
  const { path, tool, sentName } = offered;
  dropToolFields(tool, path, onDropped, { takesMarks: true, takesAnthropic });
  if (takesAnthropic && tool.type === "function" && tool.anthropicJson !== undefined)
    return JSON.parse(tool.anthropicJson) as Block;
  const { schema, strict } =
    tool.type === "function"
      ? sendTool(tool, path, messagesSchemas, onDropped)
      : { schema: buildWrapperSchema(tool, path, onDropped), strict: false };
  const fields: JsonObject = {
    name: sentName,
    description: describeTool(offered),
    input_schema: schema,
    ...(strict && { strict }),
  };
  return fields as Block;
}
