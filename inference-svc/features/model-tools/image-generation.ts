/** service:image_generation, image_generation: an image model of the catalogue makes an image from the calling model's prompt. */
import type { JsonObject } from "@sluice/proto/lib/validation/fields.js";
import { invalid } from "@sluice/proto/lib/validation/problems.js";
import { described, object, string } from "@sluice/proto/lib/validation/shape.js";
import { isImageBytes } from "../../content/media-bytes.ts";
import { StateKey } from "../../turn/turn-state.ts";
import type { InputItem } from "../../turn/request.ts";
import { TimeSlice } from "../../turn/time-slice.ts";
import { parseUrl } from "../../turn/url.ts";
import type { ItemEvent } from "../../turn/progress-buffer.ts";
import type { CalledModels } from "../../agent-loop/called-models.ts";
import {
  type OpenTool,
  type RestoredCall,
  type ServerTool,
  type ToolCall,
  type ToolResult,
  type ToolSettings,
  errorOutput,
  isForRestoredCalls,
} from "../../agent-loop/tool.ts";
import { callModelForPart, partToolMs, unknownModel } from "./tool-call.ts";

/** Maximum images per response: each costs as much as a long answer. */
const maxCalls = 8;
/** Maximum characters of an image in base64, for 20 MiB. */
const maxImageLength = Math.ceil((20 * 1024 * 1024) / 3) * 4;

export interface ImageToolDeps {
  readonly models: CalledModels;
  /** Slug of the model for entries that name none; undefined when the operator has configured none. */
  readonly model: string | undefined;
}

const callsMade = new StateKey(() => ({ count: 0 }));

const args = object(
  { prompt: described(string({ min: 1, max: 32_000 }), "What the image shall show, in every detail that matters.") },
  { required: ["prompt"], strict: true },
);

const description =
  "Makes an image, which the user is shown beside your answer. Call it when the user wants a picture. It costs money: call it once for each image that is wanted. " +
  "You do not see the image; do not describe what you have not asked for.";

/** The tool under Sluice's own type, with its settings in `parameters`. */
export const imageGeneration = (parts: ImageToolDeps): ServerTool => ({
  kinds: ["service:image_generation"],
  hasEffect: true,
  open: (settings) => opened(settings, `${settings.path}.parameters`, settings.parameters, parts),
});

/** The tool under its type in the Responses format: its settings are in the entry itself, and its calls become items of the Responses format. */
export const hostedImageGeneration = (parts: ImageToolDeps): ServerTool => ({
  kinds: ["image_generation"],
  items: { type: "image_generation_call", idPrefix: "ig_", failedStatus: "failed" },
  hasEffect: true,
  open(settings) {
    const { type: _, ...given } = settings.entry;
    const open = opened(settings, settings.path, given, parts);
    return {
      ...open,
      ending: ({ status }) => (status === "completed" ? [event("completed")] : []),
      run(callArguments, call) {
        for (const step of ["in_progress", "generating"]) call.sendProgress(event(step));
        return open.run(callArguments, call);
      },
    };
  },
});

/** @param path path of the settings in the request */
function opened(settings: ToolSettings, path: string, given: JsonObject, parts: ImageToolDeps): OpenTool {
  const run = isForRestoredCalls(settings) ? undefined : runOf(settings, path, given, parts);
  return {
    description,
    arguments: args,
    blank: { result: null },
    limitMs: partToolMs,
    run: ({ prompt }, call) => (run as Run)(String(prompt), call),
    recall,
  };
}

type Run = (prompt: string, call: ToolCall) => Promise<ToolResult>;

/**
 * Makes the function that runs the tool. @throws Fault INVALID_REQUEST when the model does not exist, PERMISSION_DENIED
 * when the key may not use it
 */
function runOf(
  { request, scope }: ToolSettings,
  within: string,
  given: JsonObject,
  { models, model: standard }: ImageToolDeps,
): Run {
  const { model: named, partial_images: _, ...imageConfig } = given;
  const slug = typeof named === "string" ? named : standard;
  const path = `${within}.model`;
  if (slug === undefined)
    throw invalid(
      path,
      "names no model, and this service has none for images; its operator sets internal_models.image",
    );
  const wrong = unknownModel(slug, models);
  if (wrong !== undefined) throw invalid(path, wrong);
  models.permitted([slug], scope);
  const outputModalities = models.outputs(slug).filter((kind) => kind === "image" || kind === "text");
  if (!outputModalities.includes("image")) throw invalid(path, `${slug} gives no images`);
  const own = {
    models: [slug],
    tools: [],
    outputModalities,
    ...(Object.keys(imageConfig).length > 0 && { imageConfigJson: JSON.stringify(imageConfig) }),
  };
  return async (prompt, call) => {
    const made = call.scope.state.get(callsMade);
    if (made.count >= maxCalls) return failed(prompt, `the limit of ${maxCalls} images is reached`);
    made.count++;
    const input = [{ type: "message", role: "user", content: prompt }];
    const result = await callModelForPart(models, { part: "image", request, own: { ...own, input } }, call);
    if ("error" in result) return failed(prompt, result.error);
    const [image] = result.reply.images;
    const why = image === undefined ? "the model gave no image" : await refusalOf(image, call);
    if (image === undefined || why !== undefined) return failed(prompt, why ?? "");
    const { text } = result.reply;
    return {
      output: JSON.stringify({ made: "The user is shown the image.", ...(text !== "" && { said: text }) }),
      item: { prompt, ...(isAddress(image) && { imageUrl: image }), result: image },
    };
  };
}

const event = (step: string): ItemEvent => ({ name: `response.image_generation_call.${step}`, payload: {} });

const isAddress = (image: string): boolean => image.startsWith("https://") && parseUrl(image) !== undefined;

/** Why the model's output is no image clients can show. @returns undefined when it is one */
async function refusalOf(image: string, { signal }: ToolCall): Promise<string | undefined> {
  if (isAddress(image)) return undefined;
  if (image.length > maxImageLength) return "the image is longer than 20 MiB";
  return (await new TimeSlice(signal).run(isImageBytes(image))) ? undefined : "what the model gave is no image";
}

const failed = (prompt: string, error: string): ToolResult => ({
  output: errorOutput(error),
  item: { prompt, result: null, error } satisfies JsonObject,
  failed: true,
});

function recall({ prompt, result, error }: InputItem): RestoredCall {
  const fields = { prompt: typeof prompt === "string" ? prompt : "" };
  if (typeof error === "string") return { args: fields, output: errorOutput(error) };
  const made = typeof result === "string" ? "The user was shown the image." : "The image is not kept.";
  return { args: fields, output: JSON.stringify({ made }) };
}
