/** Writes an image generated within an answer as an output item. */
import { newId } from "@sluice/proto/lib/ids/id.js";
import type { Output } from "./output.ts";

/** @param result the image as base64, or a URL when the provider sends no bytes */
export function writeImage(output: Output, result: string): void {
  const writer = output.other({
    type: "image_generation_call",
    id: newId("ig_"),
    status: "in_progress",
    result: null,
  });
  writer.end("completed", { result });
}
