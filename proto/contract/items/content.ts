/** Parts of messages and of tool outputs in the input of a request. */
import type { JsonObject } from "../../lib/validation/fields.ts";
import type { Problems } from "../../lib/validation/problems.ts";
import {
  type Shape,
  anyValue,
  array,
  childPath,
  described,
  named,
  nullable,
  object,
  openTagged,
  string,
  stringOr,
  tagged,
  word,
} from "../../lib/validation/shape.ts";
import { cacheMarks } from "../request/caching.ts";
import { toolName } from "../tools/tool-name.ts";
import { annotation, parts as assistantParts } from "./parts.ts";

/** Maximum lengths in characters. */
export const contentLimits = { text: 10_485_760, imageUrl: 20_971_520, fileData: 33_554_432 } as const;

/** Any text in the input. */
export const inputText = string({ max: contentLimits.text });

/** Builds the rule for an object with at least one set field. */
export const oneOfFields =
  (...names: readonly [string, ...string[]]) =>
  (object: JsonObject, path: string, problems: Problems): void => {
    if (names.some((name) => object[name] !== undefined && object[name] !== null)) return;
    const last = names.at(-1);
    problems.add(childPath(path, names[0]), `${names.slice(0, -1).join(", ")} or ${last} is required`);
  };

/**
 * Address of an image or video. A data URL of another media type is refused: it would pass guardrails unscanned, or
 * reach the model as the wrong type.
 */
export const mediaUrl = (kind: "image" | "video", max: number): Shape =>
  string({
    min: 1,
    max,
    pattern: {
      // The slash is in brackets because client generators would take a slash at the end of a pattern for a delimiter.
      form: new RegExp(`^(?!\\s*[Dd][Aa][Tt][Aa]:)|^[Dd][Aa][Tt][Aa]:${kind}[/]`),
      message: `must be an address, or a data URL of type ${kind}/*`,
    },
  });

const fileAddress = string({
  pattern: { form: /^(?!\s*[Dd][Aa][Tt][Aa]:)/, message: "must be an address; the file itself goes into file_data" },
});

const text = named(
  "InputText",
  object(
    { type: word("input_text"), text: inputText, ...cacheMarks },
    { required: ["type", "text"], description: "Text for the model." },
  ),
);

const image = named(
  "InputImage",
  object(
    {
      type: word("input_image"),
      image_url: described(
        nullable(mediaUrl("image", contentLimits.imageUrl)),
        "Address of the image, or its bytes as a data URL.",
      ),
      file_id: described(nullable(string({ min: 1 })), "Identifier of a file that the provider has."),
      detail: described(nullable(word("auto", "high", "low", "original")), "How closely to look; auto when absent."),
      ...cacheMarks,
    },
    {
      required: ["type"],
      also: oneOfFields("image_url", "file_id"),
      description: "An image, by image_url or file_id.",
    },
  ),
);

const file = named(
  "InputFile",
  object(
    {
      type: word("input_file"),
      file_data: described(nullable(string({ max: contentLimits.fileData })), "Base64, or a data URL."),
      file_url: described(nullable(fileAddress), "Address of the file."),
      file_id: described(nullable(string()), "Identifier of a file that the provider has."),
      filename: nullable(string()),
      ...cacheMarks,
    },
    {
      required: ["type"],
      also: oneOfFields("file_data", "file_url", "file_id"),
      description: "A file, by file_data, file_url or file_id.",
    },
  ),
);

const audio = named(
  "InputAudio",
  object(
    {
      type: word("input_audio"),
      input_audio: object(
        {
          data: described(string({ min: 1, max: contentLimits.fileData }), "Base64."),
          format: word("mp3", "wav"),
        },
        { required: ["data", "format"] },
      ),
      ...cacheMarks,
    },
    { required: ["type", "input_audio"], description: "Sound." },
  ),
);

const video = named(
  "InputVideo",
  object(
    {
      type: word("input_video"),
      video_url: described(mediaUrl("video", contentLimits.fileData), "Address of the video, or a data URL."),
      processing: nullable(word("agentic", "static")),
      ...cacheMarks,
    },
    { required: ["type", "video_url"], description: "A video." },
  ),
);

const assistantText = named(
  "SaidText",
  object(
    {
      type: word("output_text"),
      text: inputText,
      annotations: nullable(array(openTagged("type", Object.fromEntries(annotation.kinds)))),
      logprobs: nullable(array(anyValue)),
      ...cacheMarks,
    },
    { required: ["type", "text"], description: "Text of an earlier answer of the model." },
  ),
);

const encryptedPart = object(
  { type: word("encrypted_content"), encrypted_content: string() },
  { required: ["type", "encrypted_content"], description: "What only its provider can read." },
);

const everyKind = [
  "input_text",
  "input_image",
  "input_file",
  "input_audio",
  "input_video",
  "output_text",
  "refusal",
  "encrypted_content",
];

const parts = (kinds: Readonly<Record<string, Shape>>): Shape => array(tagged("type", kinds, { elsewhere: everyKind }));

const stringOrParts = (of: Shape): Shape => stringOr(inputText, of, "must be a string or an array of parts");

/** Content of a user, system or developer message. */
export const messageContent = stringOrParts(
  parts({ input_text: text, input_image: image, input_file: file, input_audio: audio, input_video: video }),
);

/** Content of an assistant message: text and refusals, no media. */
export const assistantContent = stringOrParts(
  parts({ output_text: assistantText, refusal: assistantParts.refusal, input_text: text }),
);

const outputText = named(
  "ToolOutputText",
  object(
    {
      type: word("input_text"),
      text: inputText,
      tool_reference: described(
        nullable(toolName),
        "Name of a deferred tool that a search of the client has found, as the text says: Anthropic gets its own block for it.",
      ),
      ...cacheMarks,
    },
    { required: ["type", "text"], description: "Text of a tool for the model." },
  ),
);

/** Output of a tool call. */
export const outputContent = stringOrParts(parts({ input_text: outputText, input_image: image, input_file: file }));

/** Content of a message between agents. */
export const agentContent = parts({ input_text: text, input_image: image, encrypted_content: encryptedPart });

/** Value of a variable in a stored prompt. */
export const promptVariable = stringOr(
  inputText,
  tagged("type", { input_text: text, input_image: image, input_file: file }, { elsewhere: everyKind }),
  "must be a string or a part",
);
