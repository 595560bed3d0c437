/** Images that a chat answer holds beside its text, as the items that they are in a response. */
import type { Output } from "../output.ts";
import { type JsonObject, isObject, text } from "../json.ts";
import { newId } from "@sluice/proto/runtime/id.js";

const dataUrl = /^data:[^;,]{0,100};base64,/;

/** @param image `{type: "image_url", image_url: {url}}`; an image that is not in a data URL is given by its URL */
export function writeImage(output: Output, image: JsonObject): void {
  const url = isObject(image.image_url) ? text(image.image_url.url) : text(image.image_url);
  if (url === "") return;
  const item = { type: "image_generation_call", id: newId("ig_") };
  const writer = output.other({ ...item, status: "in_progress", result: null });
  writer.end("completed", { result: url.replace(dataUrl, "") });
}
