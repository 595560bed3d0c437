/** The parts of which a message or the output of a tool consists, as a client sends them. */
import type { JsonObject } from "../runtime/validation/fields.ts";
import type { Problems } from "../runtime/validation/problems.ts";
import {
  type Shape,
  anything,
  array,
  child,
  described,
  named,
  nullable,
  object,
  openTagged,
  string,
  stringOr,
  tagged,
  word,
} from "../runtime/validation/shape.ts";
import { cacheMarks } from "./caching.ts";
import { annotation, parts as said } from "./parts.ts";

/** Characters. */
export const contentLimits = { text: 10_485_760, imageUrl: 20_971_520, fileData: 33_554_432 } as const;

/** Text of any place in the input. */
export const inputText = string({ max: contentLimits.text });

/** At least one of the fields is set. @returns a rule of an object */
export const oneOfFields =
  (...names: readonly [string, ...string[]]) =>
  (object: JsonObject, path: string, problems: Problems): void => {
    if (names.some((name) => object[name] !== undefined && object[name] !== null)) return;
    const last = names.at(-1);
    problems.add(child(path, names[0]), `${names.slice(0, -1).join(", ")} or ${last} is required`);
  };

/** Bytes of something else would be told to a model as what they are not, or as what nobody has looked at. */
const addressOf = (kind: "image" | "video", max: number): Shape =>
  string({
    min: 1,
    max,
    pattern: {
      // Generators of clients take a slash at the end of a published pattern for a delimiter; one in brackets they leave alone.
      form: new RegExp(`^(?!\\s*[Dd][Aa][Tt][Aa]:)|^[Dd][Aa][Tt][Aa]:${kind}[/]`),
      says: `must be an address, or a data URL of type ${kind}/*`,
    },
  });

const fileAddress = string({
  pattern: { form: /^(?!\s*[Dd][Aa][Tt][Aa]:)/, says: "must be an address; the file itself goes into file_data" },
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
        nullable(addressOf("image", contentLimits.imageUrl)),
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
      video_url: described(addressOf("video", contentLimits.fileData), "Address of the video, or a data URL."),
      processing: nullable(word("agentic", "static")),
      ...cacheMarks,
    },
    { required: ["type", "video_url"], description: "A video." },
  ),
);

const saidText = named(
  "SaidText",
  object(
    {
      type: word("output_text"),
      text: inputText,
      annotations: nullable(array(openTagged("type", Object.fromEntries(annotation.kinds)))),
      logprobs: nullable(array(anything)),
      ...cacheMarks,
    },
    { required: ["type", "text"], description: "Text that the model said before." },
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

/** What a user, a system or a developer says. */
export const askedContent = stringOrParts(
  parts({ input_text: text, input_image: image, input_file: file, input_audio: audio, input_video: video }),
);

/** What an assistant said: text and refusals, not media. */
export const saidContent = stringOrParts(parts({ output_text: saidText, refusal: said.refusal, input_text: text }));

/** What a tool gave. */
export const outputContent = stringOrParts(parts({ input_text: text, input_image: image, input_file: file }));

/** What agents tell one another. */
export const agentContent = parts({ input_text: text, input_image: image, encrypted_content: encryptedPart });

/** Parts in which a stored prompt is filled in. */
export const promptVariable = stringOr(
  inputText,
  tagged("type", { input_text: text, input_image: image, input_file: file }, { elsewhere: everyKind }),
  "must be a string or a part",
);
