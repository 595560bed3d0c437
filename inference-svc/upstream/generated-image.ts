/** An image that a model drew beside what it says, as the item that it is in a response. */
import { newId } from "@sluice/proto/runtime/id.js";
import type { Output } from "./output.ts";

/** @param result in base64; a URL where the provider gives no more */
export function writeImage(output: Output, result: string): void {
  const writer = output.other({
    type: "image_generation_call",
    id: newId("ig_"),
    status: "in_progress",
    result: null,
  });
  writer.end("completed", { result });
}
