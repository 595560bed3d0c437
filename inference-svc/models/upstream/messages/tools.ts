/** Converts tools to the form of the Messages API. */
import type { TurnRequest } from "../../../turn/request.ts";
import type { OnDropped } from "../dialect.ts";
import type { JsonObject } from "../json.ts";
import { WeakCache } from "../translate/weak-cache.ts";
import { messagesSchemas } from "../translate/schemas/rules.ts";
import { sendTool } from "../translate/schemas/sent-schema.ts";
import { dropToolFields, describeTool, buildWrapperSchema } from "../translate/tool-description.ts";
import type { SentTool, SentTools } from "../translate/names/tool-names.ts";
import type { TranslationContext } from "../translate/context.ts";
import type { Block } from "../translate/blocks/message-list.ts";
import type { CacheMarks } from "../translate/blocks/cache-marks.ts";
import { takesBetas } from "./betas.ts";
import { findToolSearch, toNativeTools, toolSearchBlock } from "./native-tools.ts";

export function messagesTools(
  request: TurnRequest,
  translation: TranslationContext,
  marks: Pick<CacheMarks, "copyTools">,
): readonly Block[] {
  const { searches, list } = translation.tools;
  const search = findToolSearch(request, translation.target);
  for (const path of searches)
    if (path !== search?.path) translation.onDropped(path, "all tools are sent, so there is nothing to search");
  const takesAnthropic = takesBetas(translation.target, "anthropic_betas");
  const native = toNativeTools(request, takesAnthropic, translation.onDropped);
  // Cache marks are set on these blocks, so each body needs copies of them.
  const declared = search ? deferringTools : writerOf(translation, takesAnthropic);
  const blocks = declared.of(translation.tools, translation.onDropped).map((block) => ({ ...block }));
  marks.copyTools(list, blocks);
  // The search is inserted at its own place, because Anthropic caches tools in their order.
  if (search) blocks.splice(countBefore(list, search.path), 0, toolSearchBlock(search));
  return blocks.concat(native);
}

const isDeferred = ({ tool }: SentTool): boolean => tool.type === "function" && tool.deferLoading === true;

/**
 * Maximum characters of a tool's name in a reference, fewer than a tool may have: "tool_reference.tool_name: String
 * should have at most 64 characters" (anthropics/claude-code, issue 22336).
 */
const maxReferenceLength = 64;

/**
 * Whether a tool the client found is sent to Anthropic by reference. The tool is then outside of the cached beginning,
 * and the model sees it where a result refers to it
 * (https://platform.claude.com/docs/en/agents-and-tools/tool-use/tool-search-tool, "Custom tool search
 * implementation").
 */
const isReferred = (tool: SentTool): boolean => isDeferred(tool) && tool.sentName.length <= maxReferenceLength;

function writerOf({ target, tools }: TranslationContext, takesAnthropic: boolean): typeof plainTools {
  if (target.original && tools.list.some(isReferred)) return referredTools;
  return takesAnthropic ? anthropicTools : plainTools;
}

/** Anthropic's block for a tool the client's search has found. Anthropic answers 400 to a reference to a tool that is not declared. */
export function toToolReference(part: JsonObject, { target, tools }: TranslationContext): Block | undefined {
  if (!target.original || typeof part.tool_reference !== "string") return undefined;
  const found = tools.findByOwnName(part.tool_reference);
  return found && isReferred(found) ? { type: "tool_reference", tool_name: found.sentName } : undefined;
}

const countBefore = (list: readonly SentTool[], path: string): number =>
  list.filter((tool) => placeOf(tool.path) < placeOf(path)).length;

const placeOf = (path: string): number => Number(/^tools\.(\d+)/.exec(path)?.[1] ?? Number.POSITIVE_INFINITY);

const plainTools = new WeakCache(({ list }: SentTools, onDropped) =>
  list.map((tool) => functionTool(tool, onDropped, false)),
);
const anthropicTools = new WeakCache(({ list }: SentTools, onDropped) =>
  list.map((tool) => functionTool(tool, onDropped, true)),
);
/** Writer that marks deferred tools as such. The model sees them only after a search has found them: Anthropic's own, or the client's. */
const deferringTools = new WeakCache(({ list }: SentTools, onDropped) => deferred(list, onDropped, isDeferred));
const referredTools = new WeakCache(({ list }: SentTools, onDropped) => deferred(list, onDropped, isReferred));

const deferred = (list: readonly SentTool[], onDropped: OnDropped, isHeld: (tool: SentTool) => boolean): Block[] =>
  list.map((tool) => {
    if (!isHeld(tool)) return functionTool(tool, onDropped, true);
    const block = functionTool(
      tool,
      (path, reason) => !path.endsWith(".defer_loading") && onDropped(path, reason),
      true,
    );
    return { ...block, defer_loading: true };
  });

/**
 * A function in Anthropic's form. Its `type` is left out, because it is the default.
 * @param takesAnthropic whether the endpoint knows Anthropic's typed tools
 */
function functionTool(offered: SentTool, onDropped: OnDropped, takesAnthropic: boolean): Block {
  const { path, tool, sentName } = offered;
  dropToolFields(offered, onDropped, { takesMarks: true, takesAnthropic });
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
