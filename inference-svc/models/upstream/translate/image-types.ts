/** Types of images that vendors take. A vendor answers 400 to any other, and the words of some name neither the image nor its type. */
import { type InlineData, imageTypeOf, readDataUrl } from "../../../content/files/data-url.ts";
import type { OnDropped } from "../dialect.ts";
import { text } from "../json.ts";
import { unsupportedMessage } from "./unsupported-inputs.ts";

/** https://platform.claude.com/docs/en/build-with-claude/vision, https://platform.openai.com/docs/guides/images-vision */
export const commonImages: ReadonlySet<string> = new Set(["image/png", "image/jpeg", "image/gif", "image/webp"]);

/** https://ai.google.dev/gemini-api/docs/image-understanding#supported-formats; for others: "Unsupported MIME type: image/gif" (microsoft/vscode issue 286628). */
export const googleImages: ReadonlySet<string> = new Set([
  "image/png",
  "image/jpeg",
  "image/webp",
  "image/heic",
  "image/heif",
]);

/** The reason why an image cannot be sent, from the type of its bytes; undefined for an image by URL, whose type is unknown. */
export function refuseImageType(url: unknown, taken: ReadonlySet<string>): string | undefined {
  const inline = readDataUrl(text(url));
  if (inline === undefined) return undefined;
  const type = imageTypeOf(inline);
  return taken.has(type) ? undefined : unsupportedMessage(`images of type ${type.replace(/^image\//, "")}`);
}

/** Names a type that is sent in place of the given one. */
export function noteImageType(inline: InlineData | undefined, path: string, onDropped: OnDropped): void {
  if (inline === undefined) return;
  const type = imageTypeOf(inline);
  if (type !== inline.type) onDropped(`${path}.image_url`, `repaired: sent as ${type}, the type of its bytes`);
}
