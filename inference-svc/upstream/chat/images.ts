/** Images that a chat answer holds beside its text. */
import { type JsonObject, isObject, text } from "../json.ts";

const dataUrl = /^data:[^;,]{0,100};base64,/;

/**
 * @param image `{type: "image_url", image_url: {url}}`
 * @returns base64; the URL of an image that is not in a data URL; "" without one
 */
export const drawn = (image: JsonObject): string =>
  text(isObject(image.image_url) ? image.image_url.url : image.image_url).replace(dataUrl, "");
