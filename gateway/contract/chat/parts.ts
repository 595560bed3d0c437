/** Parts of messages in the format of chat completions. */
import {
  type Shape,
  array,
  boolean,
  described,
  named,
  nullable,
  object,
  string,
  stringOr,
  tagged,
  word,
} from "@sluice/proto/lib/validation/shape.js";
import { mediaUrl, contentLimits, inputText, oneOfFields } from "@sluice/proto/contract/items/content.js";
import { cacheMarks } from "@sluice/proto/contract/request/caching.js";

const text = named(
  "ChatTextPart",
  object({ type: word("text"), text: inputText, ...cacheMarks }, { required: ["type", "text"], description: "Text." }),
);

const imageAddress = described(
  mediaUrl("image", contentLimits.imageUrl),
  "Address of the image, or its bytes as a data URL.",
);

const image = named(
  "ChatImagePart",
  object(
    {
      type: word("image_url"),
      image_url: stringOr(
        imageAddress,
        object(
          {
            url: imageAddress,
            detail: described(
              nullable(word("auto", "high", "low", "original")),
              "How closely to look; auto when absent.",
            ),
          },
          { required: ["url"] },
        ),
        "must be an object with a url, or the address",
      ),
      ...cacheMarks,
    },
    { required: ["type", "image_url"], description: "An image." },
  ),
);

const audio = named(
  "ChatAudioPart",
  object(
    {
      type: word("input_audio"),
      input_audio: stringOr(
        described(
          string({
            min: 1,
            max: contentLimits.fileData,
            pattern: { form: /^(?!https?:)/i, message: "base64 or a data URL: addresses of sounds are not read" },
          }),
          "Base64 or a data URL, in the form of Mistral's clients.",
        ),
        object(
          { data: described(string({ min: 1, max: contentLimits.fileData }), "Base64."), format: word("mp3", "wav") },
          { required: ["data", "format"] },
        ),
        "must be an object with data and format, or base64",
      ),
      ...cacheMarks,
    },
    { required: ["type", "input_audio"], description: "Sound." },
  ),
);

const file = named(
  "ChatFilePart",
  object(
    {
      type: word("file"),
      file: object(
        {
          file_data: described(
            nullable(string({ max: contentLimits.fileData })),
            "Base64, a data URL, or the address of the file.",
          ),
          file_id: described(nullable(string()), "Identifier of a file that the provider has."),
          filename: nullable(string()),
        },
        { also: oneOfFields("file_data", "file_id") },
      ),
      ...cacheMarks,
    },
    { required: ["type", "file"], description: "A file, by file_data or file_id." },
  ),
);

const video = named(
  "ChatVideoPart",
  object(
    {
      type: word("video_url"),
      video_url: object(
        { url: described(mediaUrl("video", contentLimits.fileData), "Address of the video, or a data URL.") },
        { required: ["url"] },
      ),
      ...cacheMarks,
    },
    { required: ["type", "video_url"], description: "A video." },
  ),
);

const document = named(
  "ChatDocumentPart",
  object(
    {
      type: word("document_url"),
      document_url: described(string({ min: 1, max: contentLimits.fileData }), "Address of the file, or a data URL."),
      document_name: nullable(string()),
      ...cacheMarks,
    },
    { required: ["type", "document_url"], description: "A file, in the form of Mistral's clients." },
  ),
);

const linkedFile = named(
  "ChatFileUrlPart",
  object(
    {
      type: word("file_url"),
      file_url: object(
        {
          url: described(string({ min: 1, max: contentLimits.fileData }), "Address of the file, base64 or a data URL."),
        },
        { required: ["url"] },
      ),
      file_name: nullable(string()),
      ...cacheMarks,
    },
    { required: ["type", "file_url"], description: "A file, in the form of Perplexity's clients." },
  ),
);

const thinking = named(
  "ChatThinkingPart",
  object(
    {
      type: word("thinking"),
      thinking: stringOr(
        inputText,
        array(object({ type: word("text"), text: inputText }, { required: ["type", "text"] })),
        "must be a string or an array of texts",
      ),
      closed: nullable(boolean),
    },
    { required: ["type", "thinking"], description: "Reasoning of an earlier answer, as Mistral's models give it." },
  ),
);

const refusal = named(
  "ChatRefusalPart",
  object(
    { type: word("refusal"), refusal: inputText },
    { required: ["type", "refusal"], description: "The model declined to answer." },
  ),
);

const everyKind = [
  "text",
  "image_url",
  "input_audio",
  "file",
  "video_url",
  "document_url",
  "file_url",
  "thinking",
  "refusal",
];

const content = (kinds: Readonly<Record<string, Shape>>): Shape =>
  stringOr(
    inputText,
    array(tagged("type", kinds, { elsewhere: everyKind, called: "part" })),
    "must be a string or an array of parts",
  );

/** Content of a user, system or developer message. */
export const promptContent = content({
  text,
  image_url: image,
  input_audio: audio,
  file,
  video_url: video,
  document_url: document,
  file_url: linkedFile,
});

/** Content of an assistant message, as a client sends it back. */
export const replayedContent = content({ text, thinking, refusal });

/** Content of a tool's result. */
export const resultContent = content({ text, image_url: image, file, document_url: document, file_url: linkedFile });
